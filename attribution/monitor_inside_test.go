package attribution

import (
	"slices"
	"testing"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/model"
)

// TestMonitorHandsOutTheTrackersCells: after any events, a Monitor hands out the same cells as a Tracker, byte for byte
// but for their ids and, unless it keeps them, their sources, and describes the process as the report does.
func TestMonitorHandsOutTheTrackersCells(t *testing.T) {
	t.Parallel()
	cells, children, sources := 0, 0, 0
	for seed := range attributiontest.Seeds(40) {
		tracker, monitor, withSources := New(), NewMonitor(), seed%2 == 0
		if withSources {
			monitor.KeepSources(windows.MaxSource, windows.MaxText)
		}
		monitor.core.Processes.Crowd = 1 // ended processes are dropped at once
		steps := 0
		compare := func() {
			want, got := tracker.Finished(), monitor.Finished()
			for i := range want {
				if !withSources {
					want[i].Source, want[i].SourceTruncated = "", false
				} else if want[i].Source != "" {
					sources++
				}
				children += len(want[i].Children)
			}
			// A Monitor has no experiments, which are numbered with cells.
			for _, all := range [][]model.Window{want, got} {
				for i := range all {
					all[i].ID, all[i].Parent = 0, 0
				}
			}
			cells += len(want)
			expectSame(t, seed, "cells", want, got)
		}
		attributiontest.Anything(func(e event.Event) {
			tracker.Add(e)
			monitor.Add(e)
			if steps++; steps%7 == 0 {
				compare()
			}
		}, seed, 800)
		compare()
		r := tracker.Report()
		i := slices.IndexFunc(r.Processes, func(p model.Process) bool { return p.PID == int(attributiontest.Kernel) })
		p, ok := monitor.Process(int(attributiontest.Kernel))
		if !ok || i < 0 {
			t.Fatalf("seed %d: the process is not known", seed)
		}
		for id, f := range r.Processes[i].Meters {
			if got := p.Meters[id]; got.Peak != f.Peak || got.End != f.End || got.Start != f.Start {
				t.Errorf("seed %d: %s: %+v, report %+v", seed, id, got, f)
			}
		}
	}
	if many := attributiontest.Many; cells < many(125, 500) || children < many(25, 100) || sources < many(25, 100) {
		t.Errorf("%d cells with %d children and %d sources: this test shows nothing", cells, children, sources)
	}
}
