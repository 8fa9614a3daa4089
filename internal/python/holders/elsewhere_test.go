package holders

import (
	"context"
	"errors"
	"slices"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/paths"
	"ipytracer/internal/python/holders/variables"
	"ipytracer/internal/python/holders/walk"
)

// collect puts objects into a list of the garbage collector's.
func (f *fake) collect(all ...uint64) {
	ring := []uint64{f.h.Interpreter + uint64(f.h.InterpGC) + 32}
	for _, obj := range all {
		ring = append(ring, obj-objects.GcHead)
	}
	f.put(f.types["list"]+cpython.TypeFlags, cpython.FlagGC|f.word(f.types["list"]+cpython.TypeFlags))
	for i, at := range ring {
		f.put(at, ring[(i+1)%len(ring)])
		f.put(at+8, ring[(i+len(ring)-1)%len(ring)])
	}
}

// TestCyclesThatWaitForTheCollector: a cycle that waits for the collector shares its objects with a name, and one that
// code in C holds keeps them: no node is made for that one, nor for anything that it leads to.
func TestCyclesThatWaitForTheCollector(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		const size = 100_000
		ofWaste, ofHeld := f.refs(f.list(f.bigText(size)), 2), f.refs(f.list(f.bigText(size)), 2)
		behind := f.list(f.bigText(size))
		waste, held := f.list(0, ofWaste), f.refs(f.list(0, ofHeld, behind), 2)
		for _, cycle := range []uint64{waste, held} {
			f.put(f.word(cycle+uint64(f.h.ListItems)), cycle)
		}
		f.collect(waste, held, behind)
		f.main("a", ofWaste, "b", ofHeld)
		s, err := newSurvey(context.Background(), f.h, f.memory(), Process{Mapped: everything}, objects.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		w := s.walker(context.Background(), nil, objects.Limits{Objects: 1000})
		seeking(w)
		e := walk.HeldElsewhere(w, nil)
		for addr, want := range map[uint64]bool{waste: false, ofWaste: false, held: true, behind: true, ofHeld: true} {
			if id, ok := s.notes.Index.Get(addr, s.notes.Addrs); !ok || e.Has(id) != want {
				t.Errorf("object %#x: noted %t, held elsewhere %t, want %t", addr, ok, e.Has(id), want)
			}
		}
		if got := e.Bytes(); got < 2*size || got > 3*size {
			t.Errorf("%d bytes, want those of two texts", got)
		}
		w.Free()
		l, err := s.List(context.Background(), objects.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		together := slices.ContainsFunc(l.Shares,
			func(s event.Share) bool { return len(s.Owners) == 2 && s.Bytes >= size && s.Bytes < 2*size })
		if !together || len(l.Shares) != 1 || l.Total < 3*size {
			t.Errorf("%d bytes, shares %+v of %+v", l.Total, l.Shares, l.Owners)
		}
	})
}

// TestCrowdOfManySets: sets of leaves make no more references than there is room for, and leaves without room count as
// held by something else.
func TestCrowdOfManySets(t *testing.T) {
	f := newFake(11)
	w := walk.NewWalker(context.Background(), f.h, objects.NewMemory(f.memory(), 1<<20), nil,
		objects.Limits{Objects: 1000})
	defer w.Mem.Close()
	e := variables.NewExtents(w)
	w.VisitFor(e)
	set := int32(0)
	for node := range int32(100) {
		set, _ = e.Crowd.With(set, node)
	}
	e.Crowd.Addrs, e.Crowd.All = append(e.Crowd.Addrs, fakeMemory), append(e.Crowd.All, variables.Leaf{Set: set,
		Bytes: 64})
	e.Arcs.Count = paths.MaxArcs - 10
	e.Settle()
	if e.Arcs.Count != paths.MaxArcs || !errors.Is(w.Stopped, objects.ErrObjects) || len(e.Refs) != 1 ||
		e.Refs[0] <= e.Seen[0] {
		t.Errorf("%d references, stopped by %v, refs %v seen %v", e.Arcs.Count, w.Stopped, e.Refs, e.Seen)
	}
}

// TestNamesAreBounded: a listing of more objects with names than there is room for is not complete.
func TestNamesAreBounded(t *testing.T) {
	before := variables.MaxGroups
	t.Cleanup(func() { variables.MaxGroups = before })
	f := newFake(11)
	f.main("a", f.list(), "b", f.list(), "c", f.list(), "d", f.list())
	for _, room := range []int{3, 100} {
		variables.MaxGroups = room
		l, err := list(context.Background(), f.h, f.memory(), everything, objects.Limits{})
		if err != nil || l.Complete != (room == 100) || len(l.Names) > room {
			t.Errorf("room for %d: complete %t, %d names: %v", room, l.Complete, len(l.Names), err)
		}
	}
}

// TestCyclesOfLongWays: for blocks on one long way the way is gone once, however many there are.
func TestCyclesOfLongWays(t *testing.T) {
	const nodes = 200_000
	w := bare(&objects.Notes{Noted: make([]objects.Note, 1), Steps: []objects.Step{objects.StepStop},
		Types: []*objects.Type{nil}})
	w.Addrs = make([]uint64, nodes)
	w.Shell.Out = 1
	for n := range int32(nodes) {
		w.Nodes = append(w.Nodes, walk.Node{Parent: n - 1, Kind: walk.KindOutput})
	}
	c := paths.NewOutputCycles(w)
	for n := range int32(nodes) {
		if c.Holds(n) {
			t.Fatalf("node %d is in a cycle", n)
		}
	}
	if took := paths.MaxSearched - c.Left; took > 4*nodes {
		t.Errorf("%d steps for %d nodes", took, nodes)
	}
}
