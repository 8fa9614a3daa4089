package holders

import (
	"context"
	"errors"
	"slices"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
)

// collect puts objects into a list of the garbage collector's.
func (f *fake) collect(all ...uint64) {
	ring := []uint64{f.h.Interpreter + uint64(f.h.InterpGC) + 32}
	for _, obj := range all {
		ring = append(ring, obj-gcHead)
	}
	f.put(f.types["list"]+cpython.TypeFlags, cpython.FlagGC|f.word(f.types["list"]+cpython.TypeFlags))
	for i, at := range ring {
		f.put(at, ring[(i+1)%len(ring)])
		f.put(at+8, ring[(i+len(ring)-1)%len(ring)])
	}
}

// TestElsewhere: a cycle that waits for the collector shares its objects with a name, and one that code in C holds
// keeps them: no node is made for that one, nor for anything that it leads to.
func TestElsewhere(t *testing.T) {
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
		s, err := newSurvey(context.Background(), f.h, f.memory(), Process{Mapped: everything}, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		w := s.walker(context.Background(), nil, Limits{Objects: 1000})
		seeking(w)
		e := heldElsewhere(w, nil)
		for addr, want := range map[uint64]bool{waste: false, ofWaste: false, held: true, behind: true, ofHeld: true} {
			if id, ok := s.notes.index.get(addr, s.notes.addrs); !ok || e.has(id) != want {
				t.Errorf("object %#x: noted %t, held elsewhere %t, want %t", addr, ok, e.has(id), want)
			}
		}
		if got := e.bytes(); got < 2*size || got > 3*size {
			t.Errorf("%d bytes, want those of two texts", got)
		}
		w.free()
		l, err := s.List(context.Background(), Limits{})
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
	w := newWalker(context.Background(), f.h, newMemory(f.memory(), 1<<20), nil, Limits{Objects: 1000})
	defer w.mem.close()
	e := newExtents(w)
	w.visitFor(e)
	set := int32(0)
	for node := range int32(100) {
		set, _ = e.crowd.with(set, node)
	}
	e.crowd.addrs, e.crowd.all = append(e.crowd.addrs, fakeMemory), append(e.crowd.all, leaf{set: set, bytes: 64})
	e.arcs.Count = maxArcs - 10
	e.settle()
	if e.arcs.Count != maxArcs || !errors.Is(w.stopped, errObjects) || len(e.refs) != 1 || e.refs[0] <= e.seen[0] {
		t.Errorf("%d references, stopped by %v, refs %v seen %v", e.arcs.Count, w.stopped, e.refs, e.seen)
	}
}

// TestNamesAreBounded: a listing of more objects with names than there is room for is not complete.
func TestNamesAreBounded(t *testing.T) {
	before := maxGroups
	t.Cleanup(func() { maxGroups = before })
	f := newFake(11)
	f.main("a", f.list(), "b", f.list(), "c", f.list(), "d", f.list())
	for _, room := range []int{3, 100} {
		maxGroups = room
		l, err := list(context.Background(), f.h, f.memory(), everything, Limits{})
		if err != nil || l.Complete != (room == 100) || len(l.Names) > room {
			t.Errorf("room for %d: complete %t, %d names: %v", room, l.Complete, len(l.Names), err)
		}
	}
}

// TestCyclesOfLongWays: for blocks on one long way the way is gone once, however many there are.
func TestCyclesOfLongWays(t *testing.T) {
	const nodes = 200_000
	w := bare(&notes{noted: make([]noted, 1), steps: []step{stepStop}, types: []*typ{nil}})
	w.addrs = make([]uint64, nodes)
	w.shell.out = 1
	for n := range int32(nodes) {
		w.nodes = append(w.nodes, node{parent: n - 1, kind: kindOutput})
	}
	c := newCyclic(w)
	for n := range int32(nodes) {
		if c.holds(n) {
			t.Fatalf("node %d is in a cycle", n)
		}
	}
	if took := maxSearched - c.left; took > 4*nodes {
		t.Errorf("%d steps for %d nodes", took, nodes)
	}
}
