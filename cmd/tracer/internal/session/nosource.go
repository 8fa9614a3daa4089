package session

import (
	"slices"

	"ipytracer/event"
	"ipytracer/report"
)

// withoutSource returns an event without the notebook's source.
func withoutSource(e event.Event) event.Event {
	switch e := e.(type) {
	case *event.CellSource:
		return &event.CellSource{Cell: e.Cell, PID: e.PID}
	case *event.Holders:
		bare := *e
		bare.Holders = slices.Clone(e.Holders)
		for i := range bare.Holders {
			bare.Holders[i].Path = report.WithoutKeys(bare.Holders[i].Path)
		}
		return &bare
	}
	return e
}
