package recording

import (
	"encoding/json"

	"ipytracer/event"
)

// residentDetail is an event.Residence in a row's detail.
type residentDetail struct {
	Root     uint32                   `json:"root"`
	Total    event.Bytes              `json:"total"`
	Trim     event.Bytes              `json:"trim"`
	Complete bool                     `json:"complete"`
	Parts    list[residentPartDetail] `json:"parts"`
}

type residentPartDetail struct {
	Kind  string      `json:"kind"`
	Bytes event.Bytes `json:"bytes"`
}

func residentToJSON(r *event.Residence) ([]byte, error) {
	return json.Marshal(residentDetail{
		Root: r.Root, Total: r.Total, Trim: r.Trim, Complete: r.Complete,
		Parts: convert(r.Parts, func(p event.ResidencePart) residentPartDetail { return residentPartDetail(p) }),
	})
}

func residentFromJSON(text []byte, time event.Nanoseconds, pid int32) (*event.Residence, error) {
	var d residentDetail
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	return &event.Residence{
		Time: time, Root: d.Root, PID: pid, Total: d.Total, Trim: d.Trim, Complete: d.Complete,
		Parts: convert(d.Parts, func(p residentPartDetail) event.ResidencePart { return event.ResidencePart(p) }),
	}, nil
}
