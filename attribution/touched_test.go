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

// toucher touches pages and gives them back. Each sample stands for its page alone.
type toucher struct {
	mapper
	arrays event.Bytes // the highest value of cpu.numpy in the segment
}

func (s *toucher) add(c event.Change) {
	s.stream++
	c.Stream, c.Segment, c.PID = s.stream, s.number+1, main
	s.held = append(s.held, &c)
}

func (s *toucher) touch(at int, stack uint64) {
	s.pages[at] = stack
	s.value = s.pages.total()
	s.add(event.Change{Meter: event.Resident, Block: true, Sample: true, Value: s.value, Address: uint64(at) * page,
		Size: page, StandsFor: page, Stack: stack})
}

// gives back a range. Before, Linux counts the fall.
func (s *toucher) give(first, count int) {
	s.add(event.Change{Meter: event.Resident, Value: s.value})
	clear(s.pages[first : first+count])
	s.value = s.pages.total()
	s.add(event.Change{Meter: event.Resident, Block: true, Value: s.value, Address: uint64(first) * page,
		Size: -event.Bytes(count) * page})
}

// reuse makes an array where pages may be resident, and frees it: the pages are its line's from then on.
func (s *toucher) reuse(first, count int, stack uint64) {
	size := event.Bytes(count) * page
	s.add(event.Change{Meter: event.NumPy, Block: true, Value: size, Address: uint64(first) * page, Size: size,
		Stack: stack})
	for at := first; at < first+count; at++ {
		if s.pages[at] != 0 {
			s.pages[at] = stack
		}
	}
	s.add(event.Change{Meter: event.NumPy, Block: true, Address: uint64(first) * page, Size: -size})
	s.arrays = max(s.arrays, size)
}

// moves a range to a place where there is nothing, as mremap does.
func (s *toucher) move(from, count, to, size int) {
	var moved pages
	s.add(event.Change{Meter: event.Resident, Value: s.value})
	copy(moved[:], s.pages[from:from+count])
	s.add(event.Change{Meter: event.Mapped, Block: true, Caller: event.Remapped, TID: 7, Address: uint64(from) * page,
		Size: -event.Bytes(count) * page})
	clear(s.pages[from : from+count])
	copy(s.pages[to:to+size], moved[:size])
	s.value = s.pages.total()
	s.add(event.Change{Meter: event.Mapped, Block: true, Caller: event.Remapped, TID: 7, Address: uint64(to) * page,
		Size: event.Bytes(size) * page})
}

func (s *toucher) cut(kind event.BoundaryKind, cell uint64) {
	s.boundary(kind, main, func(b *event.Boundary) {
		b.Value[event.Resident], b.High[event.Resident] = s.value, s.high
		b.Tree[event.Resident], b.TreeHigh[event.Resident] = s.value, s.high
		b.High[event.NumPy], b.TreeHigh[event.NumPy] = s.arrays, s.arrays
		b.Cell, b.Inputs, b.Outcome = cell, -1, event.OutcomeOK
	})
	s.high, s.arrays = s.value, 0
}

// some does anything, and returns the pages at the first maximum.
func (s *toucher) some(r *rand.Rand, n int) pages {
	highest := s.pages
	for range n {
		switch at := r.IntN(32); r.IntN(6) {
		case 0:
			s.give(at, 1+r.IntN(32-at))
		case 1:
			count := 1 + r.IntN(8)
			s.give(32+at%16, 16)
			s.move(at%24, count, 32+at%16, 1+r.IntN(count))
		case 2:
			s.reuse(at, 1+r.IntN(32-at), uint64(1+r.IntN(3)))
		default:
			if s.pages[at] == 0 {
				s.touch(at, uint64(1+r.IntN(3)))
			}
		}
		s.high = max(s.high, s.value)
		if s.pages.total() > highest.total() {
			highest = s.pages
		}
	}
	return highest
}

// TestTouchedAgainstSinglePages touches pages at random, gives ranges of them back, moves some, and makes arrays where
// some are, and compares the lines of each cell with the state of single pages.
func TestTouchedAgainstSinglePages(t *testing.T) {
	t.Parallel()
	for seed := range attributiontest.Seeds(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := &toucher{mapper: mapper{script: newScript()}}
		for stack := range uint64(3) {
			s.events = append(s.events, &event.Stack{Number: stack + 1, PID: main,
				Frames: []event.Frame{{Function: "f", File: "lib.py", Line: int32(stack + 1)}}})
		}
		var before, after, peak [5]pages
		for cell := range 5 {
			s.cut(event.CellOpen, uint64(cell+1))
			before[cell] = s.pages
			peak[cell] = s.some(r, 1+r.IntN(20))
			after[cell] = s.pages
			s.cut(event.CellClose, uint64(cell+1))
		}
		rep := s.run(t)
		for cell := range before {
			if before[cell] == after[cell] && before[cell] == peak[cell] {
				continue // where no page moves, none is listed
			}
			w := nth(t, rep, "cell", cell)
			for _, stack := range []uint64{1, 2, 3} {
				want := [2]int64{of(after[cell], stack) - of(before[cell], stack), of(peak[cell], stack)}
				if got := touchedIn(w, stack); got != want {
					t.Errorf("cell %d, line %d: net and at peak %v, want %v", cell, stack, got, want)
				}
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// touchedIn returns a line's net memory in a window and its memory at the peak.
func touchedIn(w model.Window, line uint64) (found [2]int64) {
	for _, a := range w.Allocations {
		if a.Meter == "cpu.resident" && len(a.Stack) > 0 && a.Stack[0].Line == int(line) {
			found = [2]int64{a.Net, a.AtPeak}
		}
	}
	return found
}

// TestTouchedByThreadOfALibrary: a thread without Python touches an array. The pages are in the line that made it.
func TestTouchedByThreadOfALibrary(t *testing.T) {
	s := &toucher{mapper: mapper{script: newScript()}}
	for stack := range uint64(2) {
		s.events = append(s.events, &event.Stack{Number: stack + 1, PID: main,
			Frames: []event.Frame{{Function: "f", File: "lib.py", Line: int32(stack + 1)}}})
	}
	s.touch(0, 1)
	s.cut(event.CellOpen, 1)
	s.add(event.Change{Meter: event.NumPy, Block: true, Value: 20 * page, Address: 8 * page, Size: 20 * page, Stack: 2})
	for _, at := range []int{9, 27, 28} { // 28 is behind it
		s.touch(at, 3)
		s.held[len(s.held)-1].Stack = 0
	}
	s.add(event.Change{Meter: event.NumPy, Block: true, Address: 8 * page, Size: -20 * page})
	s.touch(10, 3)
	s.held[len(s.held)-1].Stack = 0
	s.high, s.arrays = s.value, 20*page
	s.cut(event.CellClose, 1)
	expect(t, "net and at peak", touchedIn(nth(t, s.run(t), "cell", 0), 2), [2]int64{2 * page, 2 * page})
}

// TestTouchedEndsWithItsProgram: what a program has touched is gone once the process executes another one.
func TestTouchedEndsWithItsProgram(t *testing.T) {
	s := &toucher{mapper: mapper{script: newScript()}}
	s.events = append(s.events, &event.Stack{Number: 1, PID: main,
		Frames: []event.Frame{{Function: "f", File: "lib.py", Line: 1}}})
	s.touch(0, 1)
	s.touch(1, 1)
	s.pages, s.value = pages{}, 0
	s.cut(event.ProcessExec, 0)
	s.cut(event.CellOpen, 1)
	s.touch(5, 1)
	s.high = s.value
	s.cut(event.CellClose, 1)
	expect(t, "net and at peak", touchedIn(nth(t, s.run(t), "cell", 0), 1), [2]int64{page, page})
}

// TestAbsurdTouches: whatever addresses a target names, the number of samples is bounded and counted.
func TestAbsurdTouches(t *testing.T) {
	tracker := New()
	tree := tracker.Processes.Tree(0)
	move := func(c event.Change) {
		c.PID, c.Meter, c.Block = main, event.Resident, true
		tracker.allocations.Move(tree, &c)
	}
	for i := range uint64(100) {
		move(event.Change{Sample: true, Address: i << 57, Size: page, StandsFor: math.MaxInt64, Stack: i})
	}
	for _, size := range []event.Bytes{math.MinInt64, -1, math.MaxInt64} {
		move(event.Change{Address: math.MaxUint64 - 1, Size: size})
	}
	for i := range int32(2 * 1024) {
		tracker.allocations.Move(tree, &event.Change{PID: main, TID: i, Meter: event.Mapped, Block: true,
			Caller: event.Remapped, Address: uint64(i%100) << 57, Size: -page})
	}
	move(event.Change{Size: math.MinInt64})
	tracker.allocations.Ended(main)
	if n := tracker.allocations.Holdings.Of(course.Key{PID: main, Meter: event.Resident}).Total; n != 0 {
		t.Errorf("%d bytes are left", n)
	}
}
