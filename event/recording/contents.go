package recording

import "ipytracer/event"

// contentsDetail is an event.Contents in a row's detail.
type contentsDetail struct {
	Elements  int64       `json:"elements"`
	Item      event.Bytes `json:"item"`
	Seen      int64       `json:"seen"`
	Layout    string      `json:"layout,omitempty"`
	Min       string      `json:"min,omitempty"`
	Max       string      `json:"max,omitempty"`
	Zeros     int64       `json:"zeros,omitempty"`
	Missing   int64       `json:"missing,omitempty"`
	Infinite  int64       `json:"infinite,omitempty"`
	Whole     bool        `json:"whole,omitempty"`
	Real      bool        `json:"real,omitempty"`
	Fits      string      `json:"fits,omitempty"`
	Distinct  int64       `json:"distinct,omitempty"`
	Ascending bool        `json:"ascending,omitempty"`
	Longest   int64       `json:"longest,omitempty"`
	ASCII     bool        `json:"ascii,omitempty"`
	SameAs    []string    `json:"same_as,omitzero"`
}

func columnToJSON(x event.Column) columnDetail {
	return columnDetail{x.Name, x.DType, x.Bytes, x.Exact, (*contentsDetail)(x.Contents)}
}

func columnFromJSON(x columnDetail) event.Column {
	return event.Column{Name: x.Name, DType: x.DType, Bytes: x.Bytes, Exact: x.Exact,
		Contents: (*event.Contents)(x.Contents)}
}
