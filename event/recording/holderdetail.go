package recording

import "ipytracer/event"

type holderDetail struct {
	Address    uint64           `json:"address"`
	Size       event.Bytes      `json:"size,omitempty"`
	Kind       event.HolderKind `json:"kind"`
	Path       string           `json:"path"`
	Root       string           `json:"root,omitempty"`
	Type       string           `json:"type"`
	References int64            `json:"references"`
	Output     int              `json:"output"`
	Function   string           `json:"function"`
	File       string           `json:"file"`
	Line       int32            `json:"line"`
	Probable   bool             `json:"probable,omitempty"`
	Asked      event.Bytes      `json:"asked,omitempty"`
	Running    bool             `json:"running,omitempty"` // only of holders that are not recorded
	Garbage    event.Garbage    `json:"garbage,omitempty"`
	Cyclic     bool             `json:"cyclic,omitempty"`
	Class      bool             `json:"class,omitempty"`
	Lost       *lostDetail      `json:"lost,omitempty"`
}

type lostDetail struct {
	Address uint64          `json:"address"`
	Type    string          `json:"type"`
	Name    string          `json:"name,omitempty"`
	Cuts    list[cutDetail] `json:"cuts"`
	More    bool            `json:"more,omitempty"`
}

type cutDetail struct {
	Path string `json:"path"`
	Type string `json:"type"`
	Fill bool   `json:"fill,omitempty"`
}

func holderToDetail(x event.Holder) holderDetail {
	d := holderDetail{
		Address: x.Address, Size: x.Size, Kind: x.Kind, Path: x.Path, Root: x.Root, Type: x.Type,
		References: x.References, Output: x.Output, Function: x.Function, File: x.File, Line: x.Line,
		Probable: x.Probable, Asked: x.Asked, Running: x.Running, Garbage: x.Garbage, Cyclic: x.Cyclic, Class: x.Class,
	}
	if l := x.Lost; l != nil {
		d.Lost = &lostDetail{l.Address, l.Type, l.Name,
			convert(l.Cuts, func(c event.Cut) cutDetail { return cutDetail(c) }), l.More}
	}
	return d
}

func holderFromDetail(d holderDetail) event.Holder {
	x := event.Holder{
		Address: d.Address, Size: d.Size, Kind: d.Kind, Path: d.Path, Root: d.Root, Type: d.Type,
		References: d.References, Output: d.Output, Function: d.Function, File: d.File, Line: d.Line,
		Probable: d.Probable, Asked: d.Asked, Running: d.Running, Garbage: d.Garbage, Cyclic: d.Cyclic, Class: d.Class,
	}
	if l := d.Lost; l != nil {
		x.Lost = &event.Lost{Address: l.Address, Type: l.Type, Name: l.Name,
			Cuts: convert(l.Cuts, func(c cutDetail) event.Cut { return event.Cut(c) }), More: l.More}
	}
	return x
}
