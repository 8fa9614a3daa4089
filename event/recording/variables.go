package recording

import (
	"encoding/json"

	"ipytracer/event"
)

// variableDetail is an event.Variable in a row's detail.
type variableDetail struct {
	Name    string             `json:"name"`
	Also    []string           `json:"also"`
	Kind    event.HolderKind   `json:"kind"`
	Type    string             `json:"type"`
	Shape   []int64            `json:"shape"`
	DType   string             `json:"dtype"`
	Length  int64              `json:"length"`
	Bytes   event.Bytes        `json:"bytes"`
	Reaches event.Bytes        `json:"reaches"`
	Device  event.Bytes        `json:"device"`
	Exact   bool               `json:"exact"`
	Block   uint64             `json:"block"`
	Size    event.Bytes        `json:"size"`
	Array   bool               `json:"array"`
	Viewed  event.Bytes        `json:"viewed,omitempty"`
	Base    event.Bytes        `json:"base,omitempty"`
	Columns list[columnDetail] `json:"columns,omitzero"`
	More    int64              `json:"more_columns,omitempty"`
	Rest    event.Bytes        `json:"rest_columns,omitempty"`
	Codes   list[codeDetail]   `json:"codes,omitzero"`

	Contents *contentsDetail `json:"contents,omitempty"`

	Resident event.Bytes              `json:"resident,omitempty"`
	PIDs     []int32                  `json:"pids,omitzero"`
	EndedBy  event.EndMethod          `json:"ended_by,omitempty"`
	Maps     list[residentPartDetail] `json:"maps,omitzero"`
}

// codeDetail is an event.Code in a row's detail.
type codeDetail struct {
	File  string `json:"file"`
	Input int32  `json:"input,omitempty"`
}

func detailOf(v event.Variable) variableDetail {
	return variableDetail{
		v.Name, v.Also, v.Kind, v.Type, v.Shape, v.DType, v.Length, v.Bytes, v.Reaches, v.Device, v.Exact, v.Block,
		v.Size, v.Array, v.Viewed, v.Base,
		convert(v.Columns, columnToJSON), v.MoreColumns, v.RestColumns,
		convert(v.Codes, func(x event.Code) codeDetail { return codeDetail(x) }),
		contentsToJSON(v.Contents), v.Resident, v.PIDs, v.EndedBy, partsToJSON(v.Maps),
	}
}

func variableOf(d variableDetail) event.Variable {
	return event.Variable{
		Name: d.Name, Also: d.Also, Kind: d.Kind, Type: d.Type, Shape: d.Shape, DType: d.DType, Length: d.Length,
		Bytes: d.Bytes, Reaches: d.Reaches,
		Resident: d.Resident, Device: d.Device, Exact: d.Exact, Block: d.Block, Size: d.Size, Array: d.Array,
		Viewed: d.Viewed, Base: d.Base,
		Columns: convert(d.Columns, columnFromJSON), MoreColumns: d.More, Contents: contentsFromJSON(d.Contents),
		RestColumns: d.Rest, Codes: convert(d.Codes, func(x codeDetail) event.Code { return event.Code(x) }),
		PIDs: d.PIDs, EndedBy: d.EndedBy, Maps: partsFromJSON(d.Maps),
	}
}

type variablesDetail struct {
	Root      uint32               `json:"root"`
	Complete  bool                 `json:"complete"`
	Objects   int64                `json:"objects"`
	Total     event.Bytes          `json:"total"`
	Unlisted  int64                `json:"unlisted"`
	Rest      event.Bytes          `json:"rest"`
	Early     bool                 `json:"early,omitempty"`
	SamePIDs  bool                 `json:"same_pids,omitempty"`
	Resides   bool                 `json:"resides,omitempty"`
	Trim      event.Bytes          `json:"trim,omitempty"`
	Memory    event.Bytes          `json:"memory,omitempty"`
	Variables list[variableDetail] `json:"variables"`
	Owners    list[ownerDetail]    `json:"owners"`
	Shares    list[shareDetail]    `json:"shares"`
	Ranged    bool                 `json:"ranged,omitempty"`
	// Ranges has, for each range: its address, its bytes, the index of its share.
	Ranges list[[3]uint64] `json:"ranges,omitzero"`
}

// ownerDetail is an event.Owner in a row's detail.
type ownerDetail struct {
	Kind     event.HolderKind `json:"kind"`
	Variable int32            `json:"variable"`
	Names    []string         `json:"names"`
	More     bool             `json:"more,omitempty"`
	Output   string           `json:"output,omitempty"`
	Kept     bool             `json:"kept,omitempty"`
	Last     bool             `json:"last,omitempty"`
	Release  event.Release    `json:"release,omitempty"`
	Tool     event.Tool       `json:"tool,omitempty"`
}

// shareDetail is an event.Share in a row's detail.
type shareDetail struct {
	Owners []int32     `json:"owners"`
	Bytes  event.Bytes `json:"bytes"`
	Cyclic event.Bytes `json:"cyclic,omitempty"`
	Small  event.Bytes `json:"small,omitempty"`
	Device event.Bytes `json:"device,omitempty"`
	Exact  bool        `json:"exact"`
	// Pieces has, for each object: its address, its type's, its own bytes and those with everything that only it has.
	Pieces   list[[4]uint64]          `json:"pieces"`
	Resident event.Bytes              `json:"resident,omitempty"`
	Trims    event.Bytes              `json:"trims,omitempty"`
	Frees    event.Bytes              `json:"frees,omitempty"`
	Maps     list[residentPartDetail] `json:"maps,omitzero"`
}

func shareToJSON(x event.Share) shareDetail {
	return shareDetail{
		Owners: x.Owners, Bytes: x.Bytes, Cyclic: x.Cyclic, Small: x.Small, Device: x.Device, Exact: x.Exact,
		Resident: x.Resident, Frees: x.Frees, Trims: x.Trims, Maps: partsToJSON(x.Maps),
		Pieces: convert(x.Pieces, func(p event.Piece) [4]uint64 {
			return [4]uint64{p.Address, p.Type, uint64(p.Own), uint64(p.Size)}
		}),
	}
}

func shareFromJSON(x shareDetail) event.Share {
	return event.Share{
		Owners: x.Owners, Bytes: x.Bytes, Cyclic: x.Cyclic, Small: x.Small, Device: x.Device, Exact: x.Exact,
		Resident: x.Resident, Frees: x.Frees, Trims: x.Trims, Maps: partsFromJSON(x.Maps),
		Pieces: convert(x.Pieces, func(p [4]uint64) event.Piece {
			return event.Piece{Address: p[0], Type: p[1], Own: event.Bytes(p[2]), Size: event.Bytes(p[3])}
		}),
	}
}

func variablesToJSON(v *event.Variables) ([]byte, error) {
	return json.Marshal(variablesDetail{
		Root: v.Root, Complete: v.Complete, Objects: v.Objects, Total: v.Total, Unlisted: v.Unlisted, Rest: v.Rest,
		Early: v.Early, SamePIDs: v.SamePIDs, Resides: v.Resides, Trim: v.Trim, Memory: v.Memory,
		Variables: convert(v.Variables, detailOf),
		Owners:    convert(v.Owners, func(x event.Owner) ownerDetail { return ownerDetail(x) }),
		Shares:    convert(v.Shares, shareToJSON),
		Ranged:    v.Ranged,
		Ranges: convert(v.Ranges, func(r event.HeldRange) [3]uint64 {
			return [3]uint64{r.Address, uint64(r.Size), uint64(r.Share)}
		}),
	})
}

func variablesFromJSON(text []byte, time event.Nanoseconds, pid int32) (*event.Variables, error) {
	var d variablesDetail
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	return &event.Variables{
		Time: time, Root: d.Root, PID: pid, Complete: d.Complete, Objects: d.Objects, Total: d.Total,
		Unlisted: d.Unlisted, Rest: d.Rest, Early: d.Early, SamePIDs: d.SamePIDs,
		Resides: d.Resides, Trim: d.Trim, Memory: d.Memory,
		Variables: convert(d.Variables, variableOf),
		Owners:    convert(d.Owners, func(x ownerDetail) event.Owner { return event.Owner(x) }),
		Shares:    convert(d.Shares, shareFromJSON),
		Ranged:    d.Ranged,
		Ranges: convert(d.Ranges, func(r [3]uint64) event.HeldRange {
			return event.HeldRange{Address: r[0], Size: event.Bytes(r[1]), Share: int32(r[2])}
		}),
	}, nil
}
