package attribution

import (
	"fmt"
	"slices"
	"testing"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// refusing makes the next boundary carry the count of refused events so far.
func refusing(kind event.RefusedKind, n uint64) func(*event.Boundary) {
	return func(b *event.Boundary) { b.Refused[kind] = n }
}

func isExact(w model.Window, meter string) bool { return w.Meters[meter].Exact }

// cellWith runs a cell and edits its last boundary.
func (s *script) cellWith(cell uint64, more ...func(*event.Boundary)) {
	s.openCell(cell, true)
	s.to(main, s.value[main]+1)
	s.boundary(event.CellClose, main, append(more,
		func(b *event.Boundary) { b.Cell, b.Outcome = cell, event.OutcomeOK })...)
}

// still repeats the count of a kind in later boundaries: counters never fall.
func (s *script) still(kind event.RefusedKind, n uint64) {
	for _, e := range s.events[1:] {
		if b, ok := e.(*event.Boundary); ok && b.Number > 0 && b.Refused[kind] == 0 && s.said(kind, b.Number) {
			b.Refused[kind] = n
		}
	}
}

func (s *script) said(kind event.RefusedKind, before uint64) bool {
	for _, e := range s.events {
		if b, ok := e.(*event.Boundary); ok && b.Number < before && b.Refused[kind] > 0 {
			return true
		}
	}
	return false
}

// TestRefusedStatements: the statement that was open may have ended before, and its cell lacks some. Other cells are
// not affected.
func TestRefusedStatements(t *testing.T) {
	s := newScript()
	s.cellWith(1)
	s.openCell(2, true)
	s.boundary(event.StatementOpen, main, func(b *event.Boundary) { b.Cell, b.Line = 2, 1 })
	s.boundary(event.StatementOpen, main, func(b *event.Boundary) { b.Cell, b.Line = 2, 2 },
		refusing(event.RefusedStatements, 3))
	s.boundary(event.StatementClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = 2, event.OutcomeOK })
	s.closeCell(2, event.OutcomeOK)
	s.cellWith(3)
	s.still(event.RefusedStatements, 3)
	r := s.run(t)
	for i, want := range []int64{0, 3, 0} {
		w := nth(t, r, model.Cell, i)
		expect(t, fmt.Sprint("cell ", i), []any{w.LostStatements, isExact(w, "cpu.resident"), w.Note != ""},
			[]any{want, true, want > 0})
	}
	first, second := nth(t, r, model.Statement, 0), nth(t, r, model.Statement, 1)
	expect(t, "whose end was refused", []any{isExact(first, "cpu.resident"), first.Status, first.Note},
		[]any{false, model.Incomplete, words.EndRefused.String()})
	expect(t, "seen whole", []any{isExact(second, "cpu.resident"), second.Status}, []any{true, model.OK})
	expect(t, "session", nth(t, r, model.Session, 0).LostStatements, int64(3))
}

// TestRefusedMarkers: an experiment that was open may have ended then; those before and after have not, and an end
// without a begin is no problem of the user's.
func TestRefusedMarkers(t *testing.T) {
	s := newScript()
	s.mark(event.ExperimentBegin, "before")
	s.mark(event.ExperimentEnd, "before")
	s.mark(event.ExperimentBegin, "during")
	s.cellWith(1, refusing(event.RefusedMarkers, 7))
	s.mark(event.ExperimentEnd, "during")
	s.mark(event.ExperimentEnd, "refused")
	s.mark(event.ExperimentBegin, "after")
	s.mark(event.ExperimentEnd, "after")
	s.still(event.RefusedMarkers, 7)
	r := s.run(t)
	for i, want := range []bool{true, false, true} {
		w := nth(t, r, model.Experiment, i)
		expect(t, w.Name, []bool{isExact(w, "cpu.resident"), w.Note == ""}, []bool{want, want})
	}
	cell := nth(t, r, model.Cell, 0)
	expect(t, "cell", []any{isExact(cell, "cpu.resident"), cell.LostMarkers}, []any{true, int64(7)})
	expect(t, "problems", len(r.Certificate.Problems), 0)
}

// TestRefusedBoundaries: if a cell's or a process's boundary found no room, it is not known where the windows around it
// begin and end. The readings of other processes that a boundary lacks are missing in the windows that ended there.
func TestRefusedBoundaries(t *testing.T) {
	for kind, exact := range map[event.RefusedKind][]bool{event.RefusedBoundaries: {true, true, false},
		event.RefusedReadings: {true, false, true}} {
		s := newScript()
		s.cellWith(1)
		s.cellWith(2)
		first := len(s.events)
		s.cellWith(3)
		said := s.events[first].(*event.Boundary) // the cell's begin, right behind the end of the one before
		if kind == event.RefusedBoundaries {
			said = s.events[len(s.events)-1].(*event.Boundary)
		}
		said.Refused[kind] = 1
		s.still(kind, 1)
		r := s.run(t)
		for i, want := range exact {
			expect(t, fmt.Sprintf("refused %d, cell %d", kind, i), isExact(nth(t, r, model.Cell, i), "cpu.resident"),
				want)
		}
		expect(t, "session", isExact(nth(t, r, model.Session, 0), "cpu.resident"), false)
	}
}

// TestRefusedInTheEnd: a loss that no boundary carries is taken from the counters at the end.
func TestRefusedInTheEnd(t *testing.T) {
	s := newScript()
	s.cellWith(1)
	s.openCell(2, true)
	s.events = append(s.events, &event.Finish{Reason: "interrupted",
		Lost: []event.Loss{{Reason: event.LostBoundaries, Count: 1}}})
	tracker := New()
	for _, e := range s.events {
		tracker.Add(e)
	}
	r := tracker.Report()
	expect(t, "exact", []bool{isExact(nth(t, r, model.Cell, 0), "cpu.resident"),
		isExact(nth(t, r, model.Cell, 1), "cpu.resident"), r.Certificate.Complete},
		[]bool{true, false, false})
}

// TestMissingBytes: bytes that found no room in a table, or were guessed, widen the bound of the meters concerned, in
// all windows from then on.
func TestMissingBytes(t *testing.T) {
	for _, test := range []struct {
		kind event.MissingKind
		off  []event.Meter
	}{
		{event.MissingNumPy, []event.Meter{event.NumPy}},
		{event.MissingDevice, []event.Meter{event.OfDevice(0, event.Driver), event.OfDevice(1, event.Driver),
			event.OfDevice(1, event.Reserved)}},
		{event.MissingCUDA, []event.Meter{event.Pinned, event.OfDevice(0, event.Driver),
			event.OfDevice(1, event.Driver), event.OfDevice(1, event.Reserved)}},
	} {
		s := newScript()
		used := []event.Meter{event.Pinned, event.OfDevice(0, event.Driver), event.OfDevice(1, event.Driver),
			event.OfDevice(1, event.Active), event.OfDevice(1, event.Reserved)}
		uses := func(b *event.Boundary) {
			for _, m := range used {
				b.Value[m], b.High[m], b.Tree[m], b.TreeHigh[m] = 5, 5, 5, 5
			}
		}
		s.cellWith(1, uses)
		missing := func(n event.Bytes) func(*event.Boundary) {
			return func(b *event.Boundary) { uses(b); b.Missing[test.kind] = n }
		}
		s.cellWith(2, missing(11))
		for cell := uint64(3); cell <= 4; cell++ {
			from := len(s.events)
			s.cellWith(cell, missing(11))
			for _, e := range s.events[from:] {
				if b, ok := e.(*event.Boundary); ok {
					missing(11)(b)
				}
			}
		}
		s.cellWith(5, missing(event.Unbounded))
		r := s.run(t)
		for i := range 5 {
			w := nth(t, r, model.Cell, i)
			for _, m := range append(used, event.NumPy, event.Resident) {
				want := "exact"
				if slices.Contains(test.off, m) {
					want = []string{"exact", "off by 11", "off by 11", "off by 11", "nobody knows"}[i]
				}
				expect(t, fmt.Sprintf("kind %d, cell %d: %v", test.kind, i+1, m), inWords(w.Meters[m.String()]), want)
			}
		}
	}
}

func inWords(f model.Figure) string {
	switch {
	case f.Exact:
		return "exact"
	case f.Bound == nil:
		return "nobody knows"
	}
	return fmt.Sprintf("off by %d", *f.Bound)
}

// TestUntracedChildMakesTheTreeALowerBound: while a child that was not taken in lives, the tree's figures cover only a
// part of the tree.
func TestUntracedChildMakesTheTreeALowerBound(t *testing.T) {
	s := newScript()
	s.cellWith(1)
	left := func(ever, now uint64) func(*event.Boundary) {
		return func(b *event.Boundary) { b.Untraced, b.UntracedNow = ever, now }
	}
	s.cellWith(2, left(1, 1))
	s.boundary(event.CellOpen, main, func(b *event.Boundary) { s.inputs++; b.Cell, b.Inputs = 3, s.inputs }, left(1, 1))
	s.boundary(event.CellClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = 3, event.OutcomeOK }, left(1, 0))
	s.boundary(event.CellOpen, main, func(b *event.Boundary) { s.inputs++; b.Cell, b.Inputs = 4, s.inputs }, left(1, 0))
	s.boundary(event.CellClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = 4, event.OutcomeOK }, left(1, 0))
	s.boundary(event.CellOpen, main, func(b *event.Boundary) { s.inputs++; b.Cell, b.Inputs = 5, s.inputs }, left(1, 0))
	// it came and went
	s.boundary(event.CellClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = 5, event.OutcomeOK }, left(2, 0))
	r := s.run(t)
	for i, want := range []bool{true, false, false, true, false} {
		w := nth(t, r, model.Cell, i)
		f, _ := w.Together("cpu.resident")
		expect(t, fmt.Sprint("cell ", i+1), []bool{f.Exact, isExact(w, "cpu.resident")}, []bool{want, true})
	}
}

// TestLibraryWithoutProbesMakesLowerBounds: where a library could not be probed, its meters are lower bounds in the
// windows since then, and in no others.
func TestLibraryWithoutProbesMakesLowerBounds(t *testing.T) {
	s := newScript()
	uses := func(b *event.Boundary) { b.Value[event.OfDevice(1, event.Driver)] = 5 }
	s.cellWith(1, uses)
	since := s.time + 1
	s.cellWith(2, uses)
	s.events = append(s.events, &event.Finish{Reason: "interrupted",
		Lost:     []event.Loss{{Reason: event.LostProbes, Count: 1}},
		Unprobed: []event.Unprobed{{PID: main, Meter: event.OfDevice(0, event.Driver), Since: since}}})
	tracker := New()
	for _, e := range s.events {
		tracker.Add(e)
	}
	r := tracker.Report()
	for i, want := range []bool{true, false} {
		w := nth(t, r, model.Cell, i)
		expect(t, fmt.Sprint("cell ", i+1), []bool{isExact(w, "gpu.1.driver"), isExact(w, "cpu.resident")},
			[]bool{want, true})
	}
	expect(t, "complete", r.Certificate.Complete, false)
}

// TestBlindToAChild: bytes that a child's probes miss are missing in the tree while it lived, and at no time in the
// process that started it.
func TestBlindToAChild(t *testing.T) {
	s := newScript()
	var began, ended []event.Nanoseconds
	for i := range 4 {
		began = append(began, s.time+1)
		s.cellWith(uint64(i + 1))
		ended = append(ended, s.time)
	}
	child := func(since, until event.Nanoseconds) event.Unprobed {
		return event.Unprobed{PID: main, Meter: event.NumPy, Since: since, Until: until, OfChild: true}
	}
	s.events = append(s.events, &event.Finish{Reason: "interrupted",
		Lost: []event.Loss{{Reason: event.LostUnseen, Count: 2}},
		Unprobed: []event.Unprobed{child(began[3], ended[3]), child(began[1], ended[1]),
			child(began[1]+1, ended[1]-1)}})
	r := s.run(t)
	for i, want := range []bool{true, false, true, false} {
		w := nth(t, r, model.Cell, i)
		f, _ := w.Together("cpu.numpy")
		expect(t, fmt.Sprint("cell ", i+1), []bool{f.Exact, isExact(w, "cpu.numpy")}, []bool{want, true})
	}
}

// TestTimesThatMeetBecomeOne: times that meet become one, the others stay apart.
func TestTimesThatMeetBecomeOne(t *testing.T) {
	var s course.Spans
	for _, one := range []course.Span{{Since: 10, Until: 20}, {Since: 40, Until: 50}, {Since: 1, Until: 2},
		{Since: 60, Until: course.Forever}, {Since: 15, Until: 30}, {Since: 45, Until: 45}, {Since: 70, Until: 80}} {
		s = s.With(one)
	}
	expect(t, "stretches", s, course.Spans{{Since: 1, Until: 2}, {Since: 10, Until: 30}, {Since: 40, Until: 50},
		{Since: 60, Until: course.Forever}})
	for _, c := range []struct {
		since, until event.Nanoseconds
		want         bool
	}{{0, 0, false}, {0, 1, true}, {2, 3, true}, {3, 9, false}, {0, 100, true}, {31, 39, false}, {50, 50, true}, {1000,
		1000, true}} {
		expect(t, fmt.Sprint(c), s.Overlap(c.since, c.until), c.want)
	}
}

// TestShedTrees: a meter that was paused is no more exact in the tree than in the process.
func TestShedTrees(t *testing.T) {
	s := newScript()
	s.boundary(event.MeterShed, main)
	s.cellWith(1)
	w := nth(t, s.run(t), model.Cell, 0)
	f, _ := w.Together("cpu.numpy")
	expect(t, "exact", []bool{isExact(w, "cpu.numpy"), f.Exact}, []bool{false, false})
}

// TestExperimentsLeaveCellsRoom: a flood of experiments is left out of the report before cells are.
func TestExperimentsLeaveCellsRoom(t *testing.T) {
	s := newScript()
	for range 10 {
		s.mark(event.ExperimentBegin, "x")
		s.mark(event.ExperimentEnd, "x")
	}
	s.cellWith(1)
	tracker := New()
	tracker.Table.Experiments = windows.MaxExperiments - 3
	for _, e := range s.events {
		tracker.Add(e)
	}
	r := tracker.Stream()
	cells, experiments := 0, 0
	for w := range r.All() {
		switch w.Kind {
		case model.Cell:
			cells++
		case model.Experiment:
			experiments++
		}
	}
	expect(t, "windows", []any{cells, experiments, r.Certificate.Complete}, []any{1, 3, false})
}
