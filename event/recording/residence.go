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
	Swapped  event.Bytes              `json:"swapped,omitempty"`
	Huge     event.Bytes              `json:"huge,omitempty"`
}

// residentPartDetail is an event.ResidencePart in a row's detail.
type residentPartDetail struct {
	Kind    string      `json:"kind"`
	Bytes   event.Bytes `json:"bytes"`
	Returns event.Bytes `json:"returns,omitempty"`
	File    string      `json:"file,omitempty"`
}

func residentToJSON(r *event.Residence) ([]byte, error) {
	return json.Marshal(residentDetail{
		Root: r.Root, Total: r.Total, Trim: r.Trim, Complete: r.Complete, Swapped: r.Swapped, Huge: r.Huge,
		Parts: partsToJSON(r.Parts),
	})
}

func residentFromJSON(text []byte, time event.Nanoseconds, pid int32) (*event.Residence, error) {
	var d residentDetail
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	return &event.Residence{
		Time: time, Root: d.Root, PID: pid, Total: d.Total, Trim: d.Trim, Complete: d.Complete, Swapped: d.Swapped,
		Huge:  d.Huge,
		Parts: partsFromJSON(d.Parts),
	}, nil
}

func partsToJSON(all []event.ResidencePart) []residentPartDetail {
	return convert(all, func(x event.ResidencePart) residentPartDetail { return residentPartDetail(x) })
}

func partsFromJSON(all []residentPartDetail) []event.ResidencePart {
	return convert(all, func(x residentPartDetail) event.ResidencePart { return event.ResidencePart(x) })
}
