package recording

import (
	"encoding/json"

	"ipytracer/event"
)

// limitDetail is an event.Limit in a row's detail.
type limitDetail struct {
	Kind    event.LimitKind `json:"kind"`
	Path    string          `json:"path"`
	Bytes   event.Bytes     `json:"bytes"`
	Used    event.Bytes     `json:"used"`
	Highest event.Bytes     `json:"highest"`
}

type limitsDetail struct {
	Root   uint32            `json:"root"`
	Limits list[limitDetail] `json:"limits"`
}

type endingDetail struct {
	Root        uint32      `json:"root"`
	Status      int32       `json:"status"`
	OutOfMemory bool        `json:"out_of_memory"`
	Limit       limitDetail `json:"limit"`
	Likely      bool        `json:"likely"`
}

func limitsToJSON(l *event.Limits) ([]byte, error) {
	return json.Marshal(limitsDetail{
		Root: l.Root, Limits: convert(l.Limits, func(x event.Limit) limitDetail { return limitDetail(x) }),
	})
}

func limitsFromJSON(text []byte, time event.Nanoseconds, pid int32) (*event.Limits, error) {
	var d limitsDetail
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	return &event.Limits{
		Time: time, Root: d.Root, PID: pid,
		Limits: convert(d.Limits, func(x limitDetail) event.Limit { return event.Limit(x) }),
	}, nil
}

func endingToJSON(e *event.Ending) ([]byte, error) {
	return json.Marshal(endingDetail{e.Root, e.Status, e.OutOfMemory, limitDetail(e.Limit), e.Likely})
}

func endingFromJSON(text []byte, time event.Nanoseconds, pid int32) (*event.Ending, error) {
	var d endingDetail
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	return &event.Ending{
		Time: time, Root: d.Root, PID: pid, Status: d.Status, OutOfMemory: d.OutOfMemory, Limit: event.Limit(d.Limit),
		Likely: d.Likely,
	}, nil
}
