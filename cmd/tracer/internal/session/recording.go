package session

import (
	"slices"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/event"
	"ipytracer/internal/host/invoker"
	"ipytracer/report"
)

// recordFile is the file that gets a session's events. The zero value is no recording.
type recordFile struct {
	console  console.Console
	noSource bool
	file     *invoker.Recording // nil without one, and once it is closed
	failure  error              // tracing goes on after it
}

// write writes one event. It reports a failure once: the report is not lost.
func (r *recordFile) write(e event.Event) {
	if r.file == nil || r.failure != nil {
		return
	}
	if r.noSource {
		e = withoutSource(e)
	}
	r.note(r.file.Write(e))
}

func (r *recordFile) flush() {
	if r.file != nil && r.failure == nil {
		r.note(r.file.Flush())
	}
}

// note reports the first failure.
func (r *recordFile) note(err error) {
	if err == nil || r.failure != nil {
		return
	}
	r.failure = err
	_, message := status.Explain(err)
	r.console.Say("the recording stops here: %s; tracing goes on", message)
}

func (r *recordFile) close() {
	if r.file != nil {
		r.note(r.file.Close())
		r.file = nil
	}
}

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
