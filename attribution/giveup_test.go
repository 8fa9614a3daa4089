package attribution

import (
	"encoding/json"
	"slices"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/model"
)

// withoutAllocators returns a report with figures only, as JSON.
func withoutAllocators(t *testing.T, r *model.Report) string {
	t.Helper()
	var windows []model.Window
	for w := range r.All() {
		one := *w
		one.Allocations, one.Coverage, one.Source, one.SourceTruncated = nil, nil, "", false
		one.Refused = nil // refusals have stacks
		windows = append(windows, one)
	}
	c := r.Certificate
	c.Attribution = model.Attribution{}
	data, err := json.Marshal([]any{windows, r.Processes, c})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestGiveUp: whenever attribution is given up, each figure, window and proof is as without that, and the report has no
// attribution.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	sessions := map[string]func(emit func(event.Event)){
		"notebook": func(emit func(event.Event)) { attributiontest.Notebook(emit, 60, 4) },
		"anything": func(emit func(event.Event)) { attributiontest.Anything(emit, 7, 3000) },
		"crowd":    func(emit func(event.Event)) { attributiontest.Crowd(emit, 30, 3) },
	}
	for name, session := range sessions {
		var events []event.Event
		session(func(e event.Event) { events = append(events, e) })
		run := func(at int) (*Tracker, *model.Report) {
			tracker := New()
			for i, e := range events {
				if i == at {
					GiveUp(tracker, "too little memory")
				}
				switch e := e.(type) { // an event is the tracker's own
				case *event.Boundary:
					one := *e
					tracker.Add(&one)
				case *event.Change:
					one := *e
					tracker.Add(&one)
				default:
					tracker.Add(e)
				}
				if i%97 == 0 {
					tracker.Glance()
				}
			}
			tracker.Flush()
			return tracker, tracker.Stream()
		}
		_, whole := run(-1)
		want := withoutAllocators(t, whole)
		for _, at := range []int{0, 1, len(events) / 3, len(events) / 2, len(events) - 2} {
			tracker, r := run(at)
			if got := withoutAllocators(t, r); got != want {
				t.Fatalf("%s, given up at event %d of %d: figures differ", name, at, len(events))
			}
			for w := range r.All() {
				if len(w.Allocations) > 0 || len(w.Coverage) > 0 {
					t.Fatalf("%s, given up at %d: window %d has allocations", name, at, w.ID)
				}
			}
			if len(r.Lines) > 0 || len(r.Tensors) > 0 || len(tracker.allocations.Live) > 0 ||
				len(tracker.Stacks.Stacks) > 0 {
				t.Errorf("%s, given up at %d: %d lines, %d blocks, %d stacks are kept", name, at, len(r.Lines),
					len(tracker.allocations.Live), len(tracker.Stacks.Stacks))
			}
			if l := tracker.glancer.Lacks(); !slices.Contains(l.Reasons, "too little memory") {
				t.Errorf("%s: whoever looks on reads %q", name, l.Reasons)
			}
		}
	}
}
