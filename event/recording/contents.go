package recording

import "ipytracer/event"

// contentsDetail is an event.Contents in a row's detail.
type contentsDetail struct {
	Elements      int64            `json:"elements"`
	Item          event.Bytes      `json:"item"`
	Seen          int64            `json:"seen"`
	Layout        string           `json:"layout,omitempty"`
	Min           string           `json:"min,omitempty"`
	Max           string           `json:"max,omitempty"`
	Zeros         int64            `json:"zeros,omitempty"`
	Missing       int64            `json:"missing,omitempty"`
	Infinite      int64            `json:"infinite,omitempty"`
	Whole         bool             `json:"whole,omitempty"`
	Real          bool             `json:"real,omitempty"`
	Fits          string           `json:"fits,omitempty"`
	Distinct      int64            `json:"distinct,omitempty"`
	Ascending     bool             `json:"ascending,omitempty"`
	Longest       int64            `json:"longest,omitempty"`
	ASCII         bool             `json:"ascii,omitempty"`
	Kinds         list[kindDetail] `json:"kinds,omitzero"`
	Objects       int64            `json:"objects,omitempty"`
	ObjectBytes   event.Bytes      `json:"object_bytes,omitempty"`
	DistinctBytes event.Bytes      `json:"distinct_bytes,omitempty"`
	Characters    int64            `json:"characters,omitempty"`
	SameAs        []string         `json:"same_as,omitzero"`
}

// kindDetail is an event.ContentsKind in a row's detail.
type kindDetail struct {
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
}

// columnDetail is an event.Column in a row's detail.
type columnDetail struct {
	Name  string      `json:"name"`
	DType string      `json:"dtype,omitempty"`
	Bytes event.Bytes `json:"bytes"`
	Exact bool        `json:"exact"`

	Contents *contentsDetail `json:"contents,omitempty"`
}

func contentsToJSON(c *event.Contents) *contentsDetail {
	if c == nil {
		return nil
	}
	return &contentsDetail{
		c.Elements, c.Item, c.Seen, c.Layout, c.Min, c.Max, c.Zeros, c.Missing, c.Infinite, c.Whole, c.Real, c.Fits,
		c.Distinct, c.Ascending, c.Longest, c.ASCII,
		convert(c.Kinds, func(x event.ContentsKind) kindDetail { return kindDetail(x) }), c.Objects, c.ObjectBytes,
		c.DistinctBytes, c.Characters, c.SameAs,
	}
}

func contentsFromJSON(c *contentsDetail) *event.Contents {
	if c == nil {
		return nil
	}
	return &event.Contents{
		Elements: c.Elements, Item: c.Item, Seen: c.Seen, Layout: c.Layout, Min: c.Min, Max: c.Max, Zeros: c.Zeros,
		Missing: c.Missing, Infinite: c.Infinite, Whole: c.Whole, Real: c.Real, Fits: c.Fits, Distinct: c.Distinct,
		Ascending: c.Ascending, Longest: c.Longest, ASCII: c.ASCII,
		Kinds:   convert(c.Kinds, func(x kindDetail) event.ContentsKind { return event.ContentsKind(x) }),
		Objects: c.Objects, ObjectBytes: c.ObjectBytes, DistinctBytes: c.DistinctBytes, Characters: c.Characters,
		SameAs: c.SameAs,
	}
}

func columnToJSON(x event.Column) columnDetail {
	return columnDetail{x.Name, x.DType, x.Bytes, x.Exact, contentsToJSON(x.Contents)}
}

func columnFromJSON(x columnDetail) event.Column {
	return event.Column{Name: x.Name, DType: x.DType, Bytes: x.Bytes, Exact: x.Exact,
		Contents: contentsFromJSON(x.Contents)}
}
