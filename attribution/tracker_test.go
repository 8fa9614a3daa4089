package attribution

import (
	"fmt"
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

// TestCellWithoutNumber checks that a cell has no number if its shell's In is not known, and does not count as silent
// for that.
func TestCellWithoutNumber(t *testing.T) {
	for _, inputs := range []int64{-1, event.InputsElsewhere} {
		s := newScript()
		s.boundary(event.CellOpen, main, func(b *event.Boundary) { b.Cell, b.Inputs = 1, inputs })
		s.closeCell(1, event.OutcomeOK)
		s.boundary(event.Detached, main)
		r := s.run(t)
		cell := nth(t, r, model.Cell, 0)
		if cell.ExecutionCount != nil || cell.Silent || !r.Certificate.Complete {
			t.Errorf("len(In) %d: %+v, %q", inputs, cell, r.Certificate.Problems)
		}
		expect(t, "label", r.Between[0].Label, "before a cell (run 1)")
	}
}

func TestCellsAndWhatLiesBetween(t *testing.T) {
	s := newScript()
	s.to(main, 60) // before the first cell
	s.openCell(1, true)
	s.to(main, 200)
	s.to(main, 90)
	s.closeCell(1, event.OutcomeOK)
	s.to(main, 500) // a hook: belongs to no cell
	s.to(main, 95)
	s.openCell(2, false)
	s.closeCell(2, event.OutcomeError)
	s.boundary(event.Detached, main)
	r := s.run(t)

	first, second := nth(t, r, model.Cell, 0), nth(t, r, model.Cell, 1)
	expect(t, "first cell", resident(first), [3]int64{60, 200, 90})
	expect(t, "its number", *first.ExecutionCount, 1)
	expect(t, "a cell that does nothing", resident(second), [3]int64{95, 95, 95})
	if second.ExecutionCount != nil || second.Status != model.Error || second.Execution != 2 {
		t.Errorf("silent failing cell: %+v", second)
	}
	expect(t, "session", resident(nth(t, r, model.Session, 0)), [3]int64{50, 500, 95})
	var labels []string
	for _, b := range r.Between {
		labels = append(labels, b.Label)
	}
	expect(t, "labels", labels, []string{"before In[1]", "between In[1] and a silent cell (run 2)",
		"after a silent cell (run 2)"})
	expect(t, "the hook's peak", r.Between[1].Meters["cpu.resident"].Peak, int64(500))
	for _, p := range r.Certificate.Meters {
		if p.Compared != p.Agreed || p.Skipped != 0 || p.Compared == 0 {
			t.Errorf("%s: %+v", p.ID, p)
		}
	}
}

func TestNestedAndOverlappingWindows(t *testing.T) {
	s := newScript()
	s.mark(event.ExperimentBegin, "a")
	s.openCell(1, true)
	s.boundary(event.StatementOpen, main, func(b *event.Boundary) { b.Cell, b.Line = 1, 1 })
	s.to(main, 300)
	s.to(main, 100)
	s.boundary(event.StatementClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = 1, event.OutcomeOK })
	s.mark(event.ExperimentBegin, "b")
	s.boundary(event.StatementOpen, main, func(b *event.Boundary) { b.Cell, b.Line = 1, 2 })
	s.boundary(event.CellOpen, main, func(b *event.Boundary) { b.Cell, b.Outer, b.Inputs = 2, 1, s.inputs })
	s.to(main, 700)
	s.to(main, 120)
	s.closeCell(2, event.OutcomeOK)
	s.mark(event.ExperimentEnd, "a")
	s.to(main, 400)
	s.to(main, 130)
	s.boundary(event.StatementClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = 1, event.OutcomeOK })
	s.closeCell(1, event.OutcomeOK)
	s.mark(event.ExperimentEnd, "nobody")
	s.boundary(event.Detached, main)
	r := s.run(t)

	expect(t, "experiment a", resident(nth(t, r, model.Experiment, 0)), [3]int64{50, 700, 120})
	b := nth(t, r, model.Experiment, 1)
	expect(t, "experiment b", resident(b), [3]int64{100, 700, 130})
	if b.Status != model.Incomplete || b.Note == "" {
		t.Errorf("an experiment without an end: %q %q", b.Status, b.Note)
	}
	expect(t, "outer cell", resident(nth(t, r, model.Cell, 0)), [3]int64{50, 700, 130})
	inner := nth(t, r, model.Cell, 1)
	expect(t, "inner cell", resident(inner), [3]int64{100, 700, 120})
	expect(t, "inner cell's parent", inner.Parent, nth(t, r, model.Cell, 0).ID)
	if inner.ExecutionCount != nil {
		t.Error("a nested cell that is not stored has a number")
	}
	expect(t, "statement 1", resident(nth(t, r, model.Statement, 0)), [3]int64{50, 300, 100})
	expect(t, "statement 2", resident(nth(t, r, model.Statement, 1)), [3]int64{100, 700, 130})
	if len(r.Certificate.Problems) != 1 {
		t.Errorf("an end without a begin: %q", r.Certificate.Problems)
	}
}

func TestChildrenAndTheTree(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.born(200, 50) // fork: the child starts with its parent's memory
	s.boundary(event.ProcessStart, 200, func(b *event.Boundary) { b.Parent = main })
	s.to(200, 400)
	s.to(main, 80)
	s.to(200, 10)
	s.boundary(event.ProcessExit, 200)
	s.order = []int32{main}
	s.tree = s.total()
	s.closeCell(1, event.OutcomeOK)
	s.boundary(event.Detached, main)
	r := s.run(t)
	cell := nth(t, r, model.Cell, 0)
	expect(t, "the cell's own", resident(cell), [3]int64{50, 80, 80})
	tree := cell.Tree["cpu.resident"]
	expect(t, "its tree's peak", tree.Peak, int64(480))
	if tree.Exact || *tree.Bound != 50 {
		t.Errorf("a forked child shares 50 with its parent, but the tree's figure is %+v", tree)
	}
	if len(cell.Children) != 1 {
		t.Fatalf("children: %+v", cell.Children)
	}
	child := cell.Children[0].Meters["cpu.resident"]
	expect(t, "the child", [3]int64{child.Start, child.Peak, child.End}, [3]int64{0, 400, 0})
	expect(t, "processes", len(r.Processes), 2)
	expect(t, "child ended", r.Processes[1].Ended, true)
}

// TestTreeBelowTheTop checks that the tree of a child's window is its own memory and its children's, without its parent
// and the parent's other children.
func TestTreeBelowTheTop(t *testing.T) {
	s := newScript()
	born := func(pid, parent int32) {
		s.born(pid, 5)
		s.boundary(event.ProcessStart, pid, func(b *event.Boundary) { b.Parent = parent })
		s.boundary(event.ProcessExec, pid, func(b *event.Boundary) { b.Parent, b.Command = parent, "python3" })
	}
	experiment := func(kind event.BoundaryKind, name string) {
		s.boundary(kind, 200, func(b *event.Boundary) { b.Experiment = name })
	}
	born(200, main)
	born(300, main)
	experiment(event.ExperimentBegin, "alone")
	s.to(200, 40)
	s.to(300, 900)
	s.to(200, 20)
	experiment(event.ExperimentEnd, "alone")
	experiment(event.ExperimentBegin, "with a child")
	born(400, 200)
	s.to(400, 100)
	s.to(200, 30)
	s.to(300, 7)
	experiment(event.ExperimentEnd, "with a child")
	s.boundary(event.Detached, main)
	r := s.run(t)
	alone, with := nth(t, r, model.Experiment, 0), nth(t, r, model.Experiment, 1)
	expect(t, "its own", resident(alone), [3]int64{5, 40, 20})
	if len(alone.Tree) != 0 || len(alone.Children) != 0 {
		t.Errorf("a window without children has a tree: %+v, %+v", alone.Tree, alone.Children)
	}
	tree := with.Tree["cpu.resident"]
	expect(t, "with its child", [3]int64{tree.Start, tree.Peak, tree.End}, [3]int64{20, 130, 130})
	if !tree.Exact {
		t.Errorf("both were highest at the end, so their sum is known, but it is %+v", tree)
	}
}

// TestPIDThatIsHandedOn checks that a pid that two children have had, one after the other, is two processes, each with
// its command and its memory.
func TestPIDThatIsHandedOn(t *testing.T) {
	s := newScript()
	for i := range 2 {
		s.openCell(uint64(i+1), true)
		s.born(200, 50)
		s.boundary(event.ProcessStart, 200, func(b *event.Boundary) { b.Parent = main })
		s.boundary(event.ProcessExec, 200, func(b *event.Boundary) { b.Command = fmt.Sprint("program ", i) })
		s.to(200, event.Bytes(800-400*i))
		s.boundary(event.ProcessExit, 200)
		s.order = []int32{main}
		s.tree = s.total()
		s.closeCell(uint64(i+1), event.OutcomeOK)
	}
	s.boundary(event.Detached, main)
	r := s.run(t)
	if len(r.Processes) != 3 {
		t.Fatalf("processes: %+v", r.Processes)
	}
	for i := range 2 {
		command, peak := fmt.Sprint("program ", i), int64(800-400*i)
		p, cell := r.Processes[1+i], nth(t, r, model.Cell, i)
		expect(t, "process", []any{p.PID, p.Command, p.Ended, p.Meters["cpu.resident"].Peak},
			[]any{200, command, true, peak})
		if len(cell.Children) != 1 {
			t.Fatalf("children of cell %d: %+v", i+1, cell.Children)
		}
		c := cell.Children[0]
		expect(t, "child", []any{c.PID, c.Command, c.Meters["cpu.resident"].Peak}, []any{200, command, peak})
	}
}

// TestExecForgetsWhatWasForked checks that the memory of a child before it executed a program counts as its parent's.
func TestExecForgetsWhatWasForked(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.born(200, 50)
	s.boundary(event.ProcessStart, 200, func(b *event.Boundary) { b.Parent = main })
	s.value[200], s.high[200] = 5, 5
	s.boundary(event.ProcessExec, 200, func(b *event.Boundary) { b.Parent, b.Command = main, "true" })
	s.to(200, 30)
	s.to(200, 8)
	s.boundary(event.ProcessExit, 200)
	s.order = []int32{main}
	s.closeCell(1, event.OutcomeOK)
	s.boundary(event.Detached, main)
	r := s.run(t)
	cell := nth(t, r, model.Cell, 0)
	expect(t, "the child's peak", cell.Children[0].Meters["cpu.resident"].Peak, int64(30))
	expect(t, "its life", r.Processes[1].Meters["cpu.resident"].Peak, int64(30))
	expect(t, "its command", cell.Children[0].Command, "true")
	if !cell.Tree["cpu.resident"].Exact {
		t.Errorf("tree: %+v", cell.Tree["cpu.resident"])
	}
}

func TestTargetKilledInACell(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.boundary(event.StatementOpen, main, func(b *event.Boundary) { b.Cell, b.Line = 1, 1 })
	s.to(main, 900)
	s.boundary(event.ProcessExit, main)
	r := s.run(t)
	cell := nth(t, r, model.Cell, 0)
	expect(t, "peak", cell.Meters["cpu.resident"].Peak, int64(900))
	expect(t, "status", cell.Status, model.Incomplete)
	expect(t, "statement", nth(t, r, model.Statement, 0).Status, model.Incomplete)
}

func TestStreamThatStopsInTheMiddle(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.to(main, 900)
	s.boundary(event.StatementOpen, main, func(b *event.Boundary) { b.Cell, b.Line = 1, 1 })
	r := s.run(t) // no CellClose, no Detached: a recording that was cut
	cell := nth(t, r, model.Cell, 0)
	expect(t, "peak", cell.Meters["cpu.resident"].Peak, int64(900))
	expect(t, "status", cell.Status, model.Incomplete)
}

func TestLossMarksTheProofNotThePeak(t *testing.T) {
	s := newScript()
	s.lose = func(stream uint64) bool { return stream == 1 }
	s.openCell(1, true)
	s.to(main, 900)
	s.to(main, 60)
	s.closeCell(1, event.OutcomeOK)
	s.openCell(2, true)
	s.to(main, 300)
	s.to(main, 60)
	s.closeCell(2, event.OutcomeOK)
	s.boundary(event.Detached, main)
	r := s.run(t)
	expect(t, "peak", nth(t, r, model.Cell, 0).Meters["cpu.resident"].Peak, int64(900))
	if r.Certificate.Complete || r.Certificate.Made != 4 || r.Certificate.Delivered != 3 {
		t.Errorf("certificate: %+v", r.Certificate)
	}
	var p model.Proof
	for _, p = range r.Certificate.Meters {
		if p.ID == "cpu.resident" {
			break
		}
	}
	// The session and the first cell; not the second cell and the times around it.
	if p.Skipped != 2 || p.Agreed != p.Compared || p.Compared != 4 {
		t.Errorf("proof: %+v", p)
	}
}

// TestBoundariesThatPassEachOther checks that these are not missing, and that one that does not come is.
func TestBoundariesThatPassEachOther(t *testing.T) {
	for _, c := range []struct {
		numbers []uint64
		lost    uint64
	}{{[]uint64{2, 3, 4}, 0}, {[]uint64{3, 2, 4}, 0}, {[]uint64{2, 4}, 1}} {
		tracker := New()
		for _, e := range newScript().events {
			tracker.Add(e)
		}
		for _, n := range c.numbers {
			tracker.Add(&event.Boundary{Number: n, Segment: n, Time: 5000, Kind: event.ExperimentBegin, PID: main,
				Experiment: "x"})
		}
		if got := tracker.Report().Certificate.BoundariesLost; got != c.lost {
			t.Errorf("%v: %d lost, want %d", c.numbers, got, c.lost)
		}
	}
}

// TestLedgerThatMissesAPeak checks that a change stream with a higher peak than the ledger's is reported.
func TestLedgerThatMissesAPeak(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.to(main, 900)
	s.high[main] = 800
	s.to(main, 60)
	s.closeCell(1, event.OutcomeOK)
	s.boundary(event.Detached, main)
	r := s.run(t)
	f := nth(t, r, model.Cell, 0).Meters["cpu.resident"]
	if f.Exact || f.Peak != 900 || *f.Bound != 100 {
		t.Errorf("figure: %+v", f)
	}
}
