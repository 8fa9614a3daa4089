package attribution

import (
	"fmt"
	"testing"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/model"
)

// TestProfilersStacksAddUp: after any events, cells of a profiler are those of a Tracker, and what was allocated in
// between adds up to that of all of its stacks.
func TestProfilersStacksAddUp(t *testing.T) {
	t.Parallel()
	cells := 0
	for seed := range attributiontest.Seeds(40) {
		tracker, monitor := New(), NewProfiler()
		monitor.core.Processes.Crowd = 1
		steps := 0
		compare := func() {
			want, got := tracker.Finished(), monitor.Finished()
			for _, all := range [][]model.Window{want, got} {
				for i := range all {
					all[i].ID, all[i].Parent, all[i].Source, all[i].SourceTruncated = 0, 0, "", false
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
			if steps%50 == 0 {
				tracker.Flush()
				checkFlows(t, seed, tracker, monitor)
			}
		}, seed, 800)
		compare()
		if n := monitor.profiler.blocks.Entries; n > 0 {
			t.Errorf("seed %d: %d tallies are kept", seed, n)
		}
	}
	if cells < attributiontest.Many(125, 500) {
		t.Errorf("%d cells: this test shows nothing", cells)
	}
}

// checkFlows checks that the parts of flows add up, and compares what the kernel holds with a Tracker's ledger.
func checkFlows(t *testing.T, seed uint64, tracker *Tracker, monitor *Monitor) {
	t.Helper()
	monitor.Add(&event.Lull{})
	for _, f := range monitor.Flows(int(attributiontest.Kernel)) {
		m, _ := event.ParseMeter(f.Meter)
		var held, allocated, all int64
		for _, s := range f.Stacks {
			held += s.Held
			allocated += s.Allocated
		}
		for key, h := range monitor.profiler.blocks.Held {
			if key.Meter == m {
				all += int64(h.Total)
			}
		}
		key := course.Key{PID: attributiontest.Kernel, Meter: m}
		got, want := monitor.profiler.blocks.Of(key).Total, tracker.allocations.Of(key).Total
		if held != f.Known || allocated != f.Allocated || f.Known != all || got != want {
			t.Errorf("seed %d: %s: %d of %d held, %d in the kernel, %d there in the tracker, %d of %d allocated",
				seed, f.Meter, held, f.Known, got, want, allocated, f.Allocated)
		}
	}
}

// busyKernel runs cells with code of their own, each with arrays that stay and arrays that go.
func busyKernel(s *attributiontest.Session, from, to uint64, finished func()) {
	for cell := from; cell < to; cell++ {
		file := fmt.Sprintf("/tmp/ipykernel_1/%d.py", cell)
		s.OpenCell(cell, 0, file, "x = f(1)")
		for line := range int32(2) {
			number := s.Stack(attributiontest.Kernel, event.Frame{Function: "f", File: "lib.py", Line: line + 1},
				event.Frame{Function: "<module>", File: file, Line: line + 1})
			s.Make(attributiontest.Kernel, event.NumPy, 1<<20, number)
			if line > 0 || cell%2000 > 0 {
				s.Free(attributiontest.Kernel, true)
			}
		}
		s.CloseCell(cell, event.OutcomeOK)
		s.Emit(&event.Lull{})
		finished()
	}
}

// TestProfilerForgets: thirty thousand cells, each with stacks of its own, leave a profiler as large as it was, and
// nothing lacks its stack: where it is half full, the kernel half sends again what is next met.
func TestProfilerForgets(t *testing.T) {
	t.Parallel()
	monitor := NewProfiler()
	s := attributiontest.New(monitor.Add, 1)
	missing, cells, minutes, crowds := 0, 0, 0, 0
	var allocated, made int64
	finished := func() {
		cells += len(monitor.Finished())
		if minutes++; minutes%100 > 0 {
			return
		}
		made += 200 << 20
		for _, f := range monitor.Flows(int(attributiontest.Kernel)) {
			allocated += f.Allocated
			for _, s := range f.Stacks {
				if s.Missing {
					missing++
				}
			}
		}
		if monitor.IsCrowded() {
			crowds++
			monitor.Forgotten()
		}
	}
	busyKernel(s, 1, 10_000, finished)
	before := size(monitor)
	busyKernel(s, 10_000, 32_000, finished)
	if after := size(monitor); after > before+before/2 {
		t.Errorf("it grew from %d to %d", before, after)
	}
	if missing > 0 || cells < 31_990 || crowds < 10 || allocated != made {
		t.Errorf("%d cells, %d without stacks; %d times crowded; %d bytes allocated, made %d", cells, missing, crowds,
			allocated, made)
	}
}

// size returns the number of records that a profiler keeps.
func size(m *Monitor) int {
	t, l := m.core.Stacks, m.profiler.blocks
	return len(t.Stacks) + len(t.Repeated) + len(t.Calls) + len(t.Frames) + len(t.Names) + len(l.Live) + l.Entries +
		len(m.core.Files.ByName)
}

// TestProfilerHasRoom: a kernel with more live blocks than there is room for keeps exact totals, and the rest has a
// name.
func TestProfilerHasRoom(t *testing.T) {
	monitor := NewProfiler()
	s := attributiontest.New(monitor.Add, 1)
	s.OpenCell(1, 0, "/tmp/ipykernel_1/1.py", "x = f(1)")
	const blocks, each = 100_000, 4096
	for i := range int32(blocks) {
		s.Make(attributiontest.Kernel, event.NumPy, each, s.Stack(attributiontest.Kernel,
			event.Frame{Function: "f", File: "lib.py", Line: i}))
	}
	s.CloseCell(1, event.OutcomeOK)
	s.Emit(&event.Lull{})
	done := monitor.Finished()
	var f Flow
	for _, one := range monitor.Flows(int(attributiontest.Kernel)) {
		if one.Meter == "cpu.numpy" {
			f = one
		}
	}
	n := size(monitor)
	most := stacks.RoomOfProfiler
	if n > most.Blocks+most.Tallies+most.Stacks+most.Frames || len(done) != 1 {
		t.Errorf("%d records, %d cells", n, len(done))
	}
	if f.Allocated != blocks*each || f.Held != blocks*each || f.Known > f.Held || f.Dropped == 0 {
		t.Errorf("%d allocated, %d of %d held, %d dropped", f.Allocated, f.Known, f.Held, f.Dropped)
	}
	if !f.Stacks[0].Missing {
		t.Errorf("%+v", f.Stacks[0])
	}
	if peak := done[0].Meters["cpu.numpy"].Peak; peak != blocks*each {
		t.Errorf("peak %d", peak)
	}
}
