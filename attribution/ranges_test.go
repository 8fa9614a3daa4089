package attribution

import (
	"math"
	"math/rand/v2"
	"testing"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/model"
)

const page = 4096

// pages is an address space of few pages: the stack that mapped each page that counts, 0 for none.
type pages [64]uint64

func (p *pages) total() (n event.Bytes) {
	for _, stack := range p {
		if stack != 0 {
			n += page
		}
	}
	return n
}

// mapper adds ranges to a script and moves its pages accordingly.
type mapper struct {
	*script
	pages pages
	value event.Bytes
	high  event.Bytes
}

func (s *mapper) change(first, count int, stack uint64) {
	for i := first; i < first+count; i++ {
		s.pages[i] = stack
	}
	s.value = s.pages.total()
	s.high = max(s.high, s.value)
	s.stream++
	c := &event.Change{
		Stream: s.stream, Segment: s.number + 1, PID: main, Meter: event.Mapped, Block: true,
		Value: s.value, Address: uint64(first) * page, Size: event.Bytes(count) * page, Stack: stack,
	}
	if stack == 0 {
		c.Size = -c.Size
	}
	s.held = append(s.held, c)
}

func (s *mapper) cut(kind event.BoundaryKind, cell uint64) {
	s.boundary(kind, main, func(b *event.Boundary) {
		b.Value[event.Mapped], b.High[event.Mapped] = s.value, s.high
		b.Tree[event.Mapped], b.TreeHigh[event.Mapped] = s.value, s.high
		b.Cell, b.Inputs, b.Outcome = cell, -1, event.OutcomeOK
	})
	s.high = s.value
}

// TestRangesAgainstSinglePages maps, unmaps and replaces ranges at random, many of which partly cover others, and
// compares each cell with the state of single pages.
func TestRangesAgainstSinglePages(t *testing.T) {
	t.Parallel()
	for seed := range attributiontest.Seeds(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		s := &mapper{script: newScript()}
		for stack := range uint64(3) {
			s.events = append(s.events, &event.Stack{Number: stack + 1, PID: main,
				Frames: []event.Frame{{Function: "f", File: "lib.py", Line: int32(stack + 1)}}})
		}
		var before, after, peak [5]pages
		for cell := range 5 {
			s.some(r, 0)
			s.cut(event.CellOpen, uint64(cell+1))
			before[cell] = s.pages
			peak[cell] = s.some(r, 1+r.IntN(20))
			after[cell] = s.pages
			s.cut(event.CellClose, uint64(cell+1))
		}
		rep := s.run(t)
		for cell := range before {
			compareRanges(t, nth(t, rep, "cell", cell), before[cell], after[cell], peak[cell])
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// some moves ranges and returns the pages at their first maximum.
func (s *mapper) some(r *rand.Rand, n int) pages {
	highest := s.pages
	for range n {
		first := r.IntN(len(s.pages))
		count := 1 + r.IntN(min(20, len(s.pages)-first))
		s.change(first, count, uint64(r.IntN(4)))
		if s.pages.total() > highest.total() {
			highest = s.pages
		}
	}
	return highest
}

// of returns the bytes of a stack's pages.
func of(p pages, stack uint64) (n int64) {
	for _, s := range p {
		if s == stack {
			n += page
		}
	}
	return n
}

func compareRanges(t *testing.T, w model.Window, before, after, peak pages) {
	t.Helper()
	c, moved := w.Coverage["cpu.mapped"]
	if !moved && before == after && before == peak { // it unmapped pages that were not there
		return
	}
	if !c.Exact || c.Rest != 0 {
		t.Errorf("coverage %+v", c)
	}
	for stack := range uint64(3) {
		want := [2]int64{of(after, stack+1) - of(before, stack+1), of(peak, stack+1)}
		got := [2]int64{}
		for _, a := range w.Allocations {
			if a.Stack[0].Line == int(stack+1) {
				got = [2]int64{a.Net, a.AtPeak}
			}
		}
		if got != want {
			t.Errorf("line %d: net and at peak %v, want %v", stack+1, got, want)
		}
	}
}

// TestRangesEndWithTheirProgram checks that ranges of a process are gone when it has executed another program, and that
// a later cell has none of them.
func TestRangesEndWithTheirProgram(t *testing.T) {
	s := &mapper{script: newScript()}
	s.events = append(s.events, &event.Stack{Number: 1, PID: main,
		Frames: []event.Frame{{Function: "f", File: "lib.py", Line: 1}}})
	s.change(0, 10, 1)
	s.pages, s.value = pages{}, 0
	s.cut(event.ProcessExec, 0)
	s.cut(event.CellOpen, 1)
	s.change(3, 2, 1)
	s.cut(event.CellClose, 1)
	w := nth(t, s.run(t), "cell", 0)
	if len(w.Allocations) != 1 || w.Allocations[0].AtPeak != 2*page || !w.Coverage["cpu.mapped"].Exact {
		t.Errorf("%+v %+v", w.Allocations, w.Coverage)
	}
}

// TestAbsurdRanges checks that a range that goes beyond all memory, or is all memory, changes nothing else.
func TestAbsurdRanges(t *testing.T) {
	tracker := New()
	move := func(address uint64, size event.Bytes) {
		tracker.allocations.MoveRange(tracker.Processes.Tree(0),
			&event.Change{PID: main, Meter: event.Mapped, Block: true, Address: address, Size: size, Stack: 1})
	}
	move(math.MaxUint64-page, 2*page)
	if n := tracker.allocations.Ranges[main].Tree.Len(); n != 0 {
		t.Errorf("%d ranges", n)
	}
	move(page, page)
	move(0, math.MinInt64)
	if n := tracker.allocations.Holdings.Of(course.Key{PID: main, Meter: event.Mapped}).Total; n != 0 {
		t.Errorf("%d bytes are left", n)
	}
	for i := range uint64(3 * page) { // alternating makers: nothing can be joined
		tracker.allocations.MoveRange(tracker.Processes.Tree(0),
			&event.Change{PID: main, Meter: event.Mapped, Block: true, Address: i * page, Size: page, Stack: i % 2})
	}
	if a := tracker.allocations; a.Pieces != 3*page || a.Ranges[main].Tree.Len() != a.Pieces {
		t.Errorf("%d pieces counted, %d there", a.Pieces, a.Ranges[main].Tree.Len())
	}
}
