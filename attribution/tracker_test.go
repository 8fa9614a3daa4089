package attribution

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"ipytracer/report"
	"ipytracer/report/reporttest"
	"ipytracer/tracer/event"
)

// script builds events as the kernel would: values of one meter over time, cut by boundaries.
type script struct {
	events []event.Event
	number uint64
	stream uint64
	time   event.Nanoseconds
	inputs int64
	value  map[int32]event.Bytes
	high   map[int32]event.Bytes
	tree   event.Bytes // maximum since the last boundary
	order  []int32
	lose   func(stream uint64) bool
	held   []*event.Change // changes of the segment, sent before the boundary that ends it
}

const main = int32(100)

func newScript() *script {
	s := &script{value: map[int32]event.Bytes{}, high: map[int32]event.Bytes{}, inputs: 1}
	s.events = append(s.events, &event.Start{
		Host:      event.Host{Name: "test", Kernel: "6.18", CPUs: 2, Memory: 1 << 30, Tracer: "test", WallNow: 1e18, MonoNow: 1},
		Processes: []event.ProcessInfo{{PID: main, Command: "python3", Python: "3.11.2", IPython: "8.5.0", Frontend: "ipykernel", Late: true, Inputs: 1}},
		Meters: []event.MeterSource{
			{Meter: event.Mapped, Source: "m", Exact: true}, {Meter: event.Resident, Source: "r", Exact: true},
			{Meter: event.ResidentAnon, Source: "r", Exact: true}, {Meter: event.ResidentFile, Source: "r", Exact: true},
			{Meter: event.ResidentShmem, Source: "r", Exact: true}, {Meter: event.NumPy, Source: "n", Exact: true},
		},
	})
	s.born(main, 50)
	s.boundary(event.Attached, main)
	return s
}

func (s *script) born(pid int32, value event.Bytes) {
	s.order = append(s.order, pid)
	s.value[pid], s.high[pid] = value, value
	s.tree = max(s.tree, s.total())
}

func (s *script) total() (sum event.Bytes) {
	for _, pid := range s.order {
		sum += s.value[pid]
	}
	return sum
}

// to lets a process's memory take a value.
func (s *script) to(pid int32, value event.Bytes) {
	s.value[pid] = value
	s.high[pid] = max(s.high[pid], value)
	s.tree = max(s.tree, s.total())
	s.stream++
	s.held = append(s.held, &event.Change{Stream: s.stream, Segment: s.number + 1, PID: pid, Meter: event.Resident, Value: value})
}

func (s *script) boundary(kind event.BoundaryKind, pid int32, change ...func(*event.Boundary)) {
	s.number++
	s.time += 100_000
	for _, c := range s.held {
		if s.lose == nil || !s.lose(c.Stream) {
			s.events = append(s.events, c)
		}
	}
	s.held = nil
	b := &event.Boundary{
		Number: s.number, Segment: s.number, Time: s.time, Kind: kind, PID: pid, TID: pid, Stream: s.stream,
		Inputs: -1, CPUTime: s.time,
	}
	b.Value[event.Resident], b.High[event.Resident] = s.value[pid], s.high[pid]
	b.Tree[event.Resident], b.TreeHigh[event.Resident] = s.total(), s.tree
	for _, c := range change {
		c(b)
	}
	s.events = append(s.events, b)
	for _, other := range s.order {
		if other == pid {
			continue
		}
		r := &event.Reading{Number: s.number, PID: other}
		r.Value[event.Resident], r.High[event.Resident] = s.value[other], s.high[other]
		s.events = append(s.events, r)
	}
	for _, p := range s.order {
		s.high[p] = s.value[p]
	}
	s.tree = s.total()
}

func (s *script) openCell(cell uint64, stored bool) {
	if stored {
		s.inputs++
	}
	s.boundary(event.CellOpen, main, func(b *event.Boundary) { b.Cell, b.Inputs = cell, s.inputs })
}

func (s *script) closeCell(cell uint64, o event.Outcome) {
	s.boundary(event.CellClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = cell, o })
}

func (s *script) mark(kind event.BoundaryKind, name string) {
	s.boundary(kind, main, func(b *event.Boundary) { b.Text = name })
}

func (s *script) run(t *testing.T) *report.Report {
	t.Helper()
	s.events = append(s.events, &event.Finish{Reason: "interrupted"})
	tracker := New()
	for _, e := range s.events {
		tracker.Add(e)
	}
	r := tracker.Report()
	reporttest.Report(t, r)
	return r
}

func nth(t *testing.T, r *report.Report, kind string, n int) report.Window {
	t.Helper()
	for _, w := range r.Windows {
		if w.Kind == kind {
			if n == 0 {
				return w
			}
			n--
		}
	}
	t.Fatalf("no %s number %d", kind, n)
	return report.Window{}
}

func resident(w report.Window) [3]int64 {
	f := w.Meters["cpu.resident"]
	return [3]int64{f.Start, f.Peak, f.End}
}

func expect(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// TestCellWithoutNumber: a cell whose shell's In is not known has no number, and is not called silent for that.
func TestCellWithoutNumber(t *testing.T) {
	for _, inputs := range []int64{-1, event.InputsElsewhere} {
		s := newScript()
		s.boundary(event.CellOpen, main, func(b *event.Boundary) { b.Cell, b.Inputs = 1, inputs })
		s.closeCell(1, event.OutcomeOK)
		s.boundary(event.Detached, main)
		r := s.run(t)
		cell := nth(t, r, report.Cell, 0)
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

	first, second := nth(t, r, report.Cell, 0), nth(t, r, report.Cell, 1)
	expect(t, "first cell", resident(first), [3]int64{60, 200, 90})
	expect(t, "its number", *first.ExecutionCount, 1)
	expect(t, "a cell that does nothing", resident(second), [3]int64{95, 95, 95})
	if second.ExecutionCount != nil || second.Status != report.Error || second.Execution != 2 {
		t.Errorf("silent failing cell: %+v", second)
	}
	expect(t, "session", resident(nth(t, r, report.Session, 0)), [3]int64{50, 500, 95})
	var labels []string
	for _, b := range r.Between {
		labels = append(labels, b.Label)
	}
	expect(t, "labels", labels, []string{"before In[1]", "between In[1] and a silent cell (run 2)", "after a silent cell (run 2)"})
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

	expect(t, "experiment a", resident(nth(t, r, report.Experiment, 0)), [3]int64{50, 700, 120})
	b := nth(t, r, report.Experiment, 1)
	expect(t, "experiment b", resident(b), [3]int64{100, 700, 130})
	if b.Status != report.Incomplete || b.Note == "" {
		t.Errorf("an experiment without an end: %q %q", b.Status, b.Note)
	}
	expect(t, "outer cell", resident(nth(t, r, report.Cell, 0)), [3]int64{50, 700, 130})
	inner := nth(t, r, report.Cell, 1)
	expect(t, "inner cell", resident(inner), [3]int64{100, 700, 120})
	expect(t, "inner cell's parent", inner.Parent, nth(t, r, report.Cell, 0).ID)
	if inner.ExecutionCount != nil {
		t.Error("a nested cell that is not stored has a number")
	}
	expect(t, "statement 1", resident(nth(t, r, report.Statement, 0)), [3]int64{50, 300, 100})
	expect(t, "statement 2", resident(nth(t, r, report.Statement, 1)), [3]int64{100, 700, 130})
	if len(r.Certificate.Problems) != 1 {
		t.Errorf("an end without a begin: %q", r.Certificate.Problems)
	}
}

func TestChildrenAndTheTree(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.born(200, 50) // fork: the child has what its parent has
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
	cell := nth(t, r, report.Cell, 0)
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

// TestExecForgetsWhatWasForked: what a child was before it executed a program was its parent's.
func TestExecForgetsWhatWasForked(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.born(200, 50)
	s.boundary(event.ProcessStart, 200, func(b *event.Boundary) { b.Parent = main })
	s.value[200], s.high[200] = 5, 5
	s.boundary(event.ProcessExec, 200, func(b *event.Boundary) { b.Parent, b.Text = main, "true" })
	s.to(200, 30)
	s.to(200, 8)
	s.boundary(event.ProcessExit, 200)
	s.order = []int32{main}
	s.closeCell(1, event.OutcomeOK)
	s.boundary(event.Detached, main)
	r := s.run(t)
	cell := nth(t, r, report.Cell, 0)
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
	cell := nth(t, r, report.Cell, 0)
	expect(t, "peak", cell.Meters["cpu.resident"].Peak, int64(900))
	expect(t, "status", cell.Status, report.Incomplete)
	expect(t, "statement", nth(t, r, report.Statement, 0).Status, report.Incomplete)
}

func TestStreamThatStopsInTheMiddle(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.to(main, 900)
	s.boundary(event.StatementOpen, main, func(b *event.Boundary) { b.Cell, b.Line = 1, 1 })
	r := s.run(t) // no CellClose, no Detached: a recording that was cut
	cell := nth(t, r, report.Cell, 0)
	expect(t, "peak", cell.Meters["cpu.resident"].Peak, int64(900))
	expect(t, "status", cell.Status, report.Incomplete)
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
	expect(t, "peak", nth(t, r, report.Cell, 0).Meters["cpu.resident"].Peak, int64(900))
	if r.Certificate.Complete || r.Certificate.Made != 4 || r.Certificate.Delivered != 3 {
		t.Errorf("certificate: %+v", r.Certificate)
	}
	var p report.Proof
	for _, p = range r.Certificate.Meters {
		if p.ID == "cpu.resident" {
			break
		}
	}
	// The session, the first cell; not the second cell nor what lies around it.
	if p.Skipped != 2 || p.Agreed != p.Compared || p.Compared != 4 {
		t.Errorf("proof: %+v", p)
	}
}

// TestBoundariesThatPassEachOther are not missing; one that does not come is.
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
			tracker.Add(&event.Boundary{Number: n, Segment: n, Time: 5000, Kind: event.ExperimentBegin, PID: main, Text: "x"})
		}
		if got := tracker.Report().Certificate.BoundariesLost; got != c.lost {
			t.Errorf("%v: %d lost, want %d", c.numbers, got, c.lost)
		}
	}
}

// TestLedgerThatMissesAPeak: a stream that saw more than the ledger must not go unnoticed.
func TestLedgerThatMissesAPeak(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.to(main, 900)
	s.high[main] = 800
	s.to(main, 60)
	s.closeCell(1, event.OutcomeOK)
	s.boundary(event.Detached, main)
	r := s.run(t)
	f := nth(t, r, report.Cell, 0).Meters["cpu.resident"]
	if f.Exact || f.Peak != 900 || *f.Bound != 100 {
		t.Errorf("figure: %+v", f)
	}
}

func TestShedMeterIsNotExact(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.boundary(event.MeterShed, main)
	s.closeCell(1, event.OutcomeOK)
	s.boundary(event.MeterBack, main)
	s.openCell(2, true)
	s.closeCell(2, event.OutcomeOK)
	s.boundary(event.Detached, main)
	r := s.run(t)
	first, second := nth(t, r, report.Cell, 0).Meters["cpu.numpy"], nth(t, r, report.Cell, 1).Meters["cpu.numpy"]
	if first.Exact || first.Bound != nil {
		t.Errorf("shed: %+v", first)
	}
	if !second.Exact {
		t.Errorf("after it was put back: %+v", second)
	}
	if f := nth(t, r, report.Cell, 0).Meters["cpu.resident"]; !f.Exact {
		t.Errorf("resident is never shed: %+v", f)
	}
}

// TestShedForTwoReasons: what is put back for one reason may still be out for another.
func TestShedForTwoReasons(t *testing.T) {
	foreign := func(b *event.Boundary) { b.Text = event.ForeignArrays }
	s := newScript()
	s.boundary(event.MeterShed, main)
	s.boundary(event.MeterShed, main, foreign)
	s.boundary(event.MeterBack, main, foreign)
	s.openCell(1, true)
	s.closeCell(1, event.OutcomeOK)
	s.boundary(event.MeterBack, main)
	s.openCell(2, true)
	s.closeCell(2, event.OutcomeOK)
	s.boundary(event.Detached, main)
	r := s.run(t)
	for i, exact := range []bool{false, true} {
		if f := nth(t, r, report.Cell, i).Meters["cpu.numpy"]; f.Exact != exact {
			t.Errorf("cell %d: %+v, want exact: %t", i+1, f, exact)
		}
	}
}

// TestPauseOfNumPy: while the meter is paused a window knows only a least; then it is off by at most what is in doubt, and by less once that was
// looked into. Windows before the pause are exact.
func TestPauseOfNumPy(t *testing.T) {
	s := newScript()
	unsure := func(by event.Bytes) func(*event.Boundary) { return func(b *event.Boundary) { b.Unsure = by } }
	closed := func(cell uint64, by event.Bytes) {
		s.boundary(event.CellClose, main, func(b *event.Boundary) { b.Cell, b.Outcome, b.Unsure = cell, event.OutcomeOK, by })
	}
	s.openCell(1, true)
	closed(1, 0)
	s.openCell(2, true)
	s.boundary(event.MeterShed, main)
	closed(2, 0)
	s.boundary(event.MeterBack, main, unsure(9000))
	s.boundary(event.CellOpen, main, func(b *event.Boundary) { b.Cell, b.Inputs, b.Unsure = 3, 4, 9000 })
	s.boundary(event.MeterSettled, main, unsure(70))
	closed(3, 70)
	s.boundary(event.CellOpen, main, func(b *event.Boundary) { b.Cell, b.Inputs, b.Unsure = 4, 5, 70 })
	closed(4, 70)
	s.boundary(event.Detached, main, unsure(70))
	r := s.run(t)
	bound := func(n int64) *int64 { return &n }
	for i, want := range []*int64{bound(0), nil, bound(9000), bound(70)} {
		f := nth(t, r, report.Cell, i).Meters["cpu.numpy"]
		if f.Exact != (i == 0) || (f.Bound == nil) != (want == nil) || want != nil && *f.Bound != *want {
			t.Errorf("cell %d: %+v", i+1, f)
		}
	}
}

// TestShedInOneTree: what is stepped down in one tree is none of another's business.
func TestShedInOneTree(t *testing.T) {
	tr := New()
	tr.root(0).sheds(0, "", true, event.NumPy)
	a := tr.openWindow(tr.process(1, 0), &event.Boundary{Root: 0, PID: 1}, kindCell, nil)
	b := tr.openWindow(tr.process(2, 1), &event.Boundary{Root: 1, PID: 2}, kindCell, nil)
	if shed, other := tr.whole(a).shed, tr.whole(b).shed; len(shed) != 1 || len(other) != 0 {
		t.Errorf("shed: %v and %v", shed, other)
	}
}

func TestUnknownFreesBoundNumPy(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.boundary(event.CellClose, main, func(b *event.Boundary) { b.Cell, b.Unknown, b.Slack = 1, 1, 4096 })
	s.boundary(event.Detached, main, func(b *event.Boundary) { b.Unknown, b.Slack = 1, 4096 })
	r := s.run(t)
	f := nth(t, r, report.Cell, 0).Meters["cpu.numpy"]
	if f.Exact || f.Bound == nil || *f.Bound != 4096 {
		t.Errorf("figure: %+v", f)
	}
	expect(t, "unknown frees", r.Certificate.UnknownFrees, uint64(1))
}

// TestRandomWindows compares every window's peak with the maximum over all values taken inside it.
func TestRandomWindows(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		s := newScript()
		type span struct {
			name string
			peak event.Bytes
			open bool
		}
		var spans []*span
		see := func(v event.Bytes) {
			for _, sp := range spans {
				if sp.open {
					sp.peak = max(sp.peak, v)
				}
			}
		}
		for i := range 60 {
			switch rnd.IntN(4) {
			case 0:
				sp := &span{name: string(rune('A' + i)), peak: s.value[main], open: true}
				spans = append(spans, sp)
				s.mark(event.ExperimentBegin, sp.name)
			case 1:
				if i := slices.IndexFunc(spans, func(sp *span) bool { return sp.open }); i >= 0 && rnd.IntN(2) == 0 {
					spans[i].open = false
					s.mark(event.ExperimentEnd, spans[i].name)
				}
			default:
				v := event.Bytes(rnd.IntN(1000))
				s.to(main, v)
				see(v)
			}
		}
		s.boundary(event.Detached, main)
		r := s.run(t)
		for i, sp := range spans {
			w := nth(t, r, report.Experiment, i)
			if w.Name != sp.name || w.Meters["cpu.resident"].Peak != int64(sp.peak) {
				t.Fatalf("seed %d, window %s: peak %d, want %d", seed, sp.name, w.Meters["cpu.resident"].Peak, sp.peak)
			}
		}
		for _, p := range r.Certificate.Meters {
			if p.Agreed != p.Compared || p.Compared == 0 {
				t.Fatalf("seed %d: %+v", seed, p)
			}
		}
	}
}

func TestStreamGaps(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		const n = 200
		var s stream
		came := make([]bool, n+1)
		order := rnd.Perm(n)
		for i := range order { // mostly in order, some pass each other
			order[i] = i + 1
		}
		for range 20 {
			i := rnd.IntN(n - 1)
			order[i], order[i+1] = order[i+1], order[i]
		}
		for _, k := range order {
			if rnd.IntN(12) > 0 {
				s.received(uint64(k))
				came[k] = true
			}
		}
		for range 50 {
			a := rnd.IntN(n)
			b := a + rnd.IntN(n-a+1)
			want := !slices.Contains(came[a+1:b+1], false)
			if got := s.complete(uint64(a), uint64(b)); got != want {
				t.Fatalf("seed %d (%d, %d]: complete %v, want %v", seed, a, b, got, want)
			}
		}
	}
}

// TestTooManyStatements: a cell that never stops making statements does not fill the memory, and is told of.
func TestTooManyStatements(t *testing.T) {
	tracker := New()
	for _, e := range newScript().events {
		tracker.Add(e)
	}
	tracker.Add(&event.Boundary{Number: 2, Segment: 2, Time: 5000, Kind: event.CellOpen, PID: main, Cell: 1, Inputs: 2})
	n := uint64(2)
	for range maxStatements + 10 {
		for _, kind := range []event.BoundaryKind{event.StatementOpen, event.StatementClose} {
			n++
			tracker.Add(&event.Boundary{Number: n, Segment: n, Time: 5000, Kind: kind, PID: main, Cell: 1})
		}
	}
	r := tracker.Report()
	if len(r.Windows) != maxStatements+2 || len(r.Certificate.Problems) != 1 {
		t.Errorf("%d windows, problems %q", len(r.Windows), r.Certificate.Problems)
	}
}

// Between a boundary and its readings there may be as many changes as the ring holds: the figures do not depend on it.
func TestChangesBeforeReadings(t *testing.T) {
	const child = int32(200)
	s := newScript()
	s.born(child, 0)
	s.boundary(event.ProcessStart, child, func(b *event.Boundary) { b.Parent = main })
	s.openCell(1, true)
	s.to(main, 9_000)
	s.to(main, 60)
	s.boundary(event.ProcessExit, child) // what the main process did is in its reading
	reading := s.events[len(s.events)-1]
	if _, ok := reading.(*event.Reading); !ok {
		t.Fatalf("no reading but %T", reading)
	}
	s.events = s.events[:len(s.events)-1]
	for range 100_000 {
		s.to(main, 60)
	}
	for _, c := range s.held {
		s.events = append(s.events, c)
	}
	s.held = nil
	s.events = append(s.events, reading)
	s.order = s.order[:1]
	s.closeCell(1, event.OutcomeOK)
	if f := nth(t, s.run(t), report.Cell, 0).Meters["cpu.resident"]; f.Peak != 9_000 || !f.Exact {
		t.Errorf("the cell is %+v, want a peak of 9000: its reading was lost", f)
	}
}

// TestToldBeforeReadings: what is said of a process may come between a boundary and the readings of others that belong to it.
func TestToldBeforeReadings(t *testing.T) {
	const child = int32(200)
	s := newScript()
	s.openCell(1, true)
	s.born(child, 10)
	s.boundary(event.ProcessStart, child, func(b *event.Boundary) { b.Parent = main })
	s.to(main, 70)
	s.to(main, 50)
	s.value[child] = 0
	s.boundary(event.ProcessExit, child)
	exit := slices.IndexFunc(s.events, func(e event.Event) bool { b, ok := e.(*event.Boundary); return ok && b.Kind == event.ProcessExit })
	s.events = slices.Insert(s.events, exit+1, []event.Event{
		&event.Ending{PID: child, Status: 3 << 8},
		&event.Limits{PID: main}, &event.CellSource{Cell: 1, Text: "work()"},
	}...)
	s.closeCell(1, event.OutcomeOK)
	r := s.run(t)
	cell := nth(t, r, report.Cell, 0)
	if f := cell.Meters["cpu.resident"]; f.Peak != 70 || !f.Exact || cell.Source != "work()" {
		t.Errorf("%q: %+v", cell.Source, f)
	}
	if e := r.Processes[1].Ending; e == nil || e.ExitStatus == nil || *e.ExitStatus != 3 {
		t.Errorf("%+v", e)
	}
}
