package recording

import (
	"encoding/json"

	"ipytracer/tracer/event"
)

// variableDetail is an event.Variable in a row's detail.
type variableDetail struct {
	Name    string           `json:"name"`
	Also    []string         `json:"also"`
	Kind    event.HolderKind `json:"kind"`
	Type    string           `json:"type"`
	Shape   []int64          `json:"shape"`
	DType   string           `json:"dtype"`
	Length  int64            `json:"length"`
	Bytes   event.Bytes      `json:"bytes"`
	Reaches event.Bytes      `json:"reaches"`
	Device  event.Bytes      `json:"device"`
	Exact   bool             `json:"exact"`
	Block   uint64           `json:"block"`
	Size    event.Bytes      `json:"size"`
	Array   bool             `json:"array"`
}

type variablesDetail struct {
	Root      uint32           `json:"root"`
	Complete  bool             `json:"complete"`
	Objects   int64            `json:"objects"`
	Total     event.Bytes      `json:"total"`
	Unlisted  int64            `json:"unlisted"`
	Rest      event.Bytes      `json:"rest"`
	Variables []variableDetail `json:"variables"`
}

func variablesToJSON(v *event.Variables) ([]byte, error) {
	return json.Marshal(variablesDetail{
		Root: v.Root, Complete: v.Complete, Objects: v.Objects, Total: v.Total, Unlisted: v.Unlisted, Rest: v.Rest,
		Variables: convert(v.Variables, func(x event.Variable) variableDetail { return variableDetail(x) }),
	})
}

func variablesFromJSON(text []byte, time event.Nanoseconds, pid int32) (*event.Variables, error) {
	var d variablesDetail
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	return &event.Variables{
		Time: time, Root: d.Root, PID: pid, Complete: d.Complete, Objects: d.Objects, Total: d.Total, Unlisted: d.Unlisted, Rest: d.Rest,
		Variables: convert(d.Variables, func(x variableDetail) event.Variable { return event.Variable(x) }),
	}, nil
}
