package attribution

import (
	"testing"

	"ipytracer/event"
)

// heaper adds malloc's blocks to a script.
type heaper struct {
	*script
	value, high event.Bytes
}

func (s *heaper) change(address, stack uint64, size event.Bytes, told bool) {
	if s.value += size; !told {
		s.high = max(s.high, s.value)
		return
	}
	s.high = max(s.high, s.value)
	s.stream++
	s.held = append(s.held, &event.Change{
		Stream: s.stream, Segment: s.number + 1, PID: main, Meter: event.Heap, Block: true, Value: s.value, Size: size,
		Address: address, Stack: stack,
	})
}

func (s *heaper) cut(kind event.BoundaryKind, cell uint64, change ...func(*event.Boundary)) {
	s.boundary(kind, main, append(change, func(b *event.Boundary) {
		b.Value[event.Heap], b.High[event.Heap] = s.value, s.high
		b.Tree[event.Heap], b.TreeHigh[event.Heap] = s.value, s.high
		b.Cell, b.Inputs, b.Outcome = cell, -1, event.OutcomeOK
	})...)
	s.high = s.value
}

func newHeaper() *heaper {
	s := &heaper{script: newScript()}
	for n := range uint64(2) {
		s.events = append(s.events, &event.Stack{Number: n + 1, PID: main,
			Frames: []event.Frame{{Function: "f", File: "lib.py", Line: int32(n + 1)}}})
	}
	return s
}

// TestHeapLinesInAPause: while the lines of malloc's blocks are paused, no change of theirs is streamed. The
// blockModel from before are forgotten; later windows have their own lines again; the figures are right all along, and
// other meters' lines stay.
func TestHeapLinesInAPause(t *testing.T) {
	s := newHeaper()
	s.change(0x1000, 1, 100, true)
	s.cut(event.CellOpen, 1)
	s.change(0x2000, 1, 50, true)
	shed := func(b *event.Boundary) { b.Group = event.HeapStacks }
	s.cut(event.MeterShed, 0, shed)
	s.change(0x3000, 2, 1000, false)
	s.change(0x1000, 0, -100, false)
	s.cut(event.CellClose, 1)
	s.cut(event.MeterBack, 0, shed)
	s.cut(event.CellOpen, 2)
	s.change(0x4000, 2, 7, true)
	s.cut(event.CellClose, 2)
	report := s.run(t)
	first, second := nth(t, report, "cell", 0), nth(t, report, "cell", 1)
	if c := first.Coverage["cpu.heap"]; c.Exact || c.AtPeak != 150 || c.Rest != 1150-150 {
		t.Errorf("coverage of the first cell: %+v", c)
	}
	if f := first.Meters["cpu.heap"]; f.Start != 100 || f.Peak != 1150 || f.End != 1050 || !f.Exact {
		t.Errorf("the first cell's heap: %+v", f)
	}
	if c := second.Coverage["cpu.heap"]; !c.Exact || c.AtPeak != 7 || c.Rest != 1050 {
		t.Errorf("coverage of the second cell: %+v", c)
	}
	if len(second.Allocations) != 1 || second.Allocations[0].Allocated != 7 ||
		second.Allocations[0].Stack[0].Line != 2 {
		t.Errorf("lines of the second cell: %+v", second.Allocations)
	}
}

// TestHeapOfUnknownSize: where the size of a freed block is not recorded, the figure is not exact and has no bound.
// Recordings have such frees of blocks with an unreadable header; today's kernel half records how much was mapped then.
func TestHeapOfUnknownSize(t *testing.T) {
	s := newHeaper()
	s.cut(event.CellOpen, 1)
	s.change(0x1000, 1, 100, true)
	after := func(b *event.Boundary) { b.Unknown[event.UnknownHeap] = 1 }
	s.cut(event.CellClose, 1, after)
	s.cut(event.Detached, 0, after)
	if f := nth(t, s.run(t), "cell", 0).Meters["cpu.heap"]; f.Exact || f.Bound != nil {
		t.Errorf("%+v", f)
	}
}

// TestHeapFromBeforeTheAttach: frees of blocks from before the attach make a window's heap a bound, and only that.
func TestHeapFromBeforeTheAttach(t *testing.T) {
	s := newHeaper()
	s.cut(event.CellOpen, 1)
	s.change(0x1000, 1, 100, true)
	s.cut(event.CellClose, 1, func(b *event.Boundary) {
		b.Unknown[event.UnknownHeap], b.Slack[event.UnknownHeap] = 3,
			4096
	})
	after := func(b *event.Boundary) { b.Unknown[event.UnknownHeap], b.Slack[event.UnknownHeap] = 3, 4096 }
	s.cut(event.CellOpen, 2, after)
	s.cut(event.CellClose, 2, after)
	s.cut(event.Detached, 0, after)
	report := s.run(t)
	if f := nth(t, report, "cell", 0).Meters["cpu.heap"]; f.Exact || f.Bound == nil || *f.Bound != 4096 {
		t.Errorf("a window with unknown frees: %+v", f)
	}
	if f := nth(t, report, "cell", 1).Meters["cpu.heap"]; !f.Exact {
		t.Errorf("a window without: %+v", f)
	}
	if f := nth(t, report, "cell", 0).Meters["cpu.mapped"]; !f.Exact {
		t.Errorf("mapped of the first: %+v", f)
	}
	if n := report.Certificate.UnknownHeapFrees; n != 3 {
		t.Errorf("%d unknown frees", n)
	}
}
