package attribution

import (
	"testing"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// kernelUnder returns a program that starts a kernel, as nbconvert does: pid 200 runs cells, and the program that was
// traced runs none.
func kernelUnder() *script {
	s := newScript()
	s.born(200, 50)
	s.boundary(event.ProcessStart, 200, func(b *event.Boundary) { b.Parent = main })
	s.value[200], s.high[200] = 10, 10
	s.boundary(event.ProcessExec, 200, func(b *event.Boundary) { b.Parent, b.Command = main, "python3 -m ipykernel" })
	s.events = append(s.events, &event.Process{ProcessInfo: event.ProcessInfo{PID: 200, Command: "python3 -m ipykernel",
		Python: "3.11.2", IPython: "8.5.0", Inputs: 1}})
	return s
}

func (s *script) numpy(pid int32, address, stack uint64, value, size event.Bytes) {
	s.stream++
	s.held = append(s.held, &event.Change{Stream: s.stream, Segment: s.number + 1, PID: pid, Meter: event.NumPy,
		Value: value, Size: size, Address: address, Stack: stack})
}

// TestLinesOfAKernelThatWasStarted checks that its lines are in the report, with the blocks left after its last cell;
// its parent is no child.
func TestLinesOfAKernelThatWasStarted(t *testing.T) {
	s := kernelUnder()
	s.events = append(s.events, &event.Stack{Number: 7, PID: 200,
		Frames: []event.Frame{{Function: "<module>", File: "cell.py", Line: 3}}})
	cell := func(kind event.BoundaryKind) {
		s.boundary(kind, 200, func(b *event.Boundary) {
			b.Cell, b.Inputs, b.File, b.Outcome = 1, 2, "cell.py",
				event.OutcomeOK
		})
	}
	cell(event.CellOpen)
	s.numpy(200, 0x1000, 7, 4096, 4096)
	s.numpy(200, 0x2000, 7, 12288, 8192)
	s.numpy(200, 0x1000, 7, 8192, -4096)
	cell(event.CellClose)
	s.boundary(event.MeterBack, main, func(b *event.Boundary) { b.Group, b.Probes = event.OtherProbes, "x" })
	s.numpy(200, 0x2000, 7, 0, -8192) // as the interpreter ends
	s.boundary(event.ProcessExit, 200)
	s.order = []int32{main}
	s.boundary(event.Detached, main)
	r := s.run(t)
	if len(r.Lines) != 1 {
		t.Fatalf("lines: %+v", r.Lines)
	}
	l := r.Lines[0]
	expect(t, "whose", [2]int{l.PID, l.Execution}, [2]int{200, 1})
	expect(t, "allocated, net, at the peak, left", [4]int64{l.Allocated, l.Net, l.AtPeak, l.Left},
		[4]int64{12288, 0, 12288, 8192})
	if c := nth(t, r, model.Cell, 0); c.PID != 200 || len(c.Children) != 0 {
		t.Errorf("the kernel's cell has children: %+v", c.Children)
	}
	if session := nth(t, r, model.Session, 0); len(session.Children) != 1 || session.Children[0].PID != 200 {
		t.Errorf("the program's session: %+v", session.Children)
	}
}

// TestLateChangeOfSettledWindow checks that a change after a window's tallies are summed up is not in them, but marks
// the window.
func TestLateChangeOfSettledWindow(t *testing.T) {
	s := newBlocks()
	s.cut(event.CellOpen, 1)
	s.take(1, 1000)
	s.take(1, 500)
	late := s.held[len(s.held)-1]
	s.held = s.held[:len(s.held)-1]
	s.cut(event.CellClose, 1)
	for cell := uint64(2); cell < 2*windows.Lingering; cell++ {
		s.cut(event.CellOpen, cell)
		s.take(2, 10)
		s.cut(event.CellClose, cell)
	}
	for range 2 * course.Patience { // so many that it is given up
		s.take(3, 8)
	}
	s.cut(event.CellOpen, 1000)
	s.cut(event.CellClose, 1000)
	for cell := uint64(1001); cell < 1001+2*windows.Lingering; cell++ {
		s.cut(event.CellOpen, cell)
		s.cut(event.CellClose, cell)
	}
	s.events = append(s.events, late)
	s.cut(event.Detached, 0)
	w := nth(t, s.run(t), model.Cell, 0)
	if len(w.Allocations) != 1 || w.Allocations[0].Allocated != 1000 {
		t.Errorf("allocations: %+v", w.Allocations)
	}
	if w.Coverage["cpu.numpy"].Exact {
		t.Error("what is missing is not said")
	}
}

// TestUnlistedIsAddedUp checks that a window's list and its sums of unlisted stacks are all that was allocated in it.
func TestUnlistedIsAddedUp(t *testing.T) {
	for _, kind := range []string{model.Cell, model.Statement} {
		s := newBlocks()
		for i := range uint64(900) {
			s.stack(i+1, event.Frame{Function: "f", File: "lib.py", Line: int32(i + 1)})
		}
		s.cut(event.CellOpen, 1)
		s.boundary(event.StatementOpen, main, func(b *event.Boundary) { b.Cell, b.Line = 1, 1 })
		var all, kept int64
		for i := range uint64(900) {
			size := event.Bytes(1000 + 10*i)
			all += int64(size)
			if at := s.take(i+1, size); i%2 == 0 {
				s.give(at)
			} else {
				kept += int64(size)
			}
		}
		s.boundary(event.StatementClose, main, func(b *event.Boundary) {
			b.Cell, b.Outcome = 1, event.OutcomeOK
			b.Value[event.NumPy], b.High[event.NumPy] = s.value, s.high
		})
		s.cut(event.CellClose, 1)
		s.cut(event.Detached, 0)
		w := nth(t, s.run(t), kind, 0)
		c := w.Coverage["cpu.numpy"]
		sum := [3]int64{c.UnlistedAllocated, c.UnlistedNet, c.UnlistedAtPeak}
		for _, a := range w.Allocations {
			sum[0], sum[1], sum[2] = sum[0]+a.Allocated, sum[1]+a.Net, sum[2]+a.AtPeak
		}
		expect(t, kind+": allocated, net", [2]int64{sum[0], sum[1]}, [2]int64{all, kept})
		expect(t, kind+": at the peak", sum[2], c.AtPeak)
		expect(t, kind+": how many", len(w.Allocations)+c.Unlisted, 900)
		if n := len(w.Allocations); n == 0 || n > 80 {
			t.Errorf("%s lists %d", kind, n)
		}
	}
}

// TestTreeOfTheFirstChild checks that the tree has the peak that the attached process had before its first child began,
// in the same segment. The kernel half keeps no maxima of a tree of one.
func TestTreeOfTheFirstChild(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.to(main, 900)
	s.to(main, 100)
	s.born(200, 30)
	s.tree = s.total()
	s.boundary(event.ProcessStart, 200, func(b *event.Boundary) { b.Parent = main })
	s.boundary(event.ProcessExit, 200)
	s.order = []int32{main}
	s.closeCell(1, event.OutcomeOK)
	r := s.run(t)
	cell := nth(t, r, model.Cell, 0)
	if f := cell.Tree["cpu.resident"]; f.Peak != 900 {
		t.Errorf("the tree's peak is %d, its process's %d", f.Peak, cell.Meters["cpu.resident"].Peak)
	}
	reporttest.Timeline(t, r)
}

// TestTreeOfOne checks that while the attached process is alone its tree has its values, though another of its threads
// touches a page, or frees some, between the kernel half's reads of the process and of the tree. Beside a child the
// tree's own values count.
func TestTreeOfOne(t *testing.T) {
	const page = 4096
	for _, between := range []event.Bytes{page, -3 * page} {
		s := newScript()
		moved := func(b *event.Boundary) {
			b.Tree[event.Resident] += between
			b.TreeHigh[event.Resident] += between
		}
		cell := func(number uint64) {
			s.inputs++
			s.boundary(event.CellOpen, main, func(b *event.Boundary) { b.Cell, b.Inputs = number, s.inputs }, moved)
			s.to(main, 110*page)
			s.to(main, 105*page)
			s.boundary(event.CellClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = number, event.OutcomeOK },
				moved)
		}
		s.to(main, 100*page)
		cell(1)
		s.born(200, 30*page)
		s.boundary(event.ProcessStart, 200, func(b *event.Boundary) { b.Parent = main })
		cell(2)
		s.boundary(event.ProcessExit, 200)
		s.order = []int32{main}
		s.boundary(event.Detached, main)
		r := s.run(t)
		alone, beside := nth(t, r, model.Cell, 0), nth(t, r, model.Cell, 1)
		expect(t, "its own", resident(alone), [3]int64{100 * page, 110 * page, 105 * page})
		if len(alone.Tree) != 0 {
			t.Errorf("a tree of one has figures of its own: %+v", alone.Tree)
		}
		with := beside.Tree["cpu.resident"]
		expect(t, "beside a child", [2]int64{with.Start, with.End},
			[2]int64{135*page + int64(between), 135*page + int64(between)})
		reporttest.Timeline(t, r)
	}
}
