package attribution

import (
	"testing"

	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/model"
)

// TestIdleStacksTakeLittle: a session's stacks that hold nothing take little memory, and their sums are in the report
// all the same.
func TestIdleStacksTakeLittle(t *testing.T) {
	tracker := New()
	made, freed, met := map[uint64]int64{}, int64(0), 0
	attributiontest.Notebook(func(e event.Event) {
		switch e := e.(type) {
		case *event.Stack:
			met++
		case *event.Change:
			if e.Meter == event.NumPy && e.Size > 0 {
				made[e.Stack] += int64(e.Size)
			} else if e.Meter == event.NumPy {
				freed -= int64(e.Size)
			}
		}
		tracker.Add(e)
	}, 400, 10)
	all := tracker.Table.Staying[0].Tallies[event.NumPy]
	if met < 2*stacks.MinBusy || len(all.ByStack) > stacks.MinBusy || all.Idle.Count == 0 || all.Len() < len(made) {
		t.Errorf("%d stacks: %d are hot, %d cold", met, len(all.ByStack), all.Idle.Count)
	}
	r := tracker.Report()
	session := r.Windows[0]
	c := session.Coverage["cpu.numpy"]
	allocated, net := c.UnlistedAllocated, c.UnlistedNet
	for _, a := range session.Allocations {
		if a.Meter == "cpu.numpy" {
			allocated, net = allocated+a.Allocated, net+a.Net
		}
	}
	total, byLine := int64(0), map[string]int64{}
	for _, n := range made {
		total += n
	}
	for _, l := range r.Lines {
		byLine[l.Function] += l.OwnAllocated
	}
	if !c.Exact || session.Kind != model.Session || allocated != total || net != total-freed ||
		byLine["ones"] != total {
		t.Errorf("%d bytes were made and %d freed; the session says %d, net %d, its lines %d, exact %v", total, freed,
			allocated, net, byLine["ones"], c.Exact)
	}
	if c.Unlisted+len(session.Allocations) != met {
		t.Errorf("%d of %d stacks are in the report", c.Unlisted+len(session.Allocations), met)
	}
}
