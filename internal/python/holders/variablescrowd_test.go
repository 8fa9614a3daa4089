package holders

import (
	"context"
	"errors"
	"testing"

	"ipytracer/internal/python/holders/holderstest"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// listPython takes a census of a made-up process, and lists its objects.
func listPython(t *testing.T, f *holderstest.Python, mapped []objects.Block) Listing {
	t.Helper()
	defer objects.OnThread()()
	var limits objects.Limits
	limits.Defaults()
	found := walk.Findings{Heap: f.Heap, Mem: objects.NewMemory(f.Memory(), limits.Bytes), Sizes: &objects.Sizes{
		Mapped: mapped, Lineages: map[*objects.Type]objects.Lineage{}}}
	defer found.Mem.Close()
	if err := found.Count(t.Context(), limits, func() bool { return true }); err != nil {
		t.Fatal(err)
	}
	w := found.Walker(t.Context(), nil, limits)
	defer w.Free()
	w.Stopped = found.Stopped
	return listVariables(w, found.Release)
}

// TestCrowdOfManySets: sets of leaves make no more references than there is room for, and leaves without room count as
// held by something else.
func TestCrowdOfManySets(t *testing.T) {
	f := holderstest.New(11)
	w := walk.NewWalker(context.Background(), f.Heap, objects.NewMemory(f.Memory(), 1<<20), nil,
		objects.Limits{Objects: 1000})
	defer w.Mem.Close()
	e := newExtents(w)
	w.VisitFor(e)
	set := int32(0)
	for node := range int32(100) {
		set, _ = e.crowd.with(set, node)
	}
	e.crowd.addrs, e.crowd.all = append(e.crowd.addrs, holderstest.Base), append(e.crowd.all, leaf{set: set,
		Bytes: 64})
	e.arcs.Count = walk.MaxArcs - 10
	e.addCrowd()
	if e.arcs.Count != walk.MaxArcs || !errors.Is(w.Stopped, objects.ErrObjects) || len(e.refs) != 1 ||
		e.refs[0] <= e.seen[0] {
		t.Errorf("%d references, stopped by %v, refs %v seen %v", e.arcs.Count, w.Stopped, e.refs, e.seen)
	}
}

// TestNamesAreBounded: a listing of more objects with names than there is room for is not complete.
func TestNamesAreBounded(t *testing.T) {
	before := maxGroups
	t.Cleanup(func() { maxGroups = before })
	f := holderstest.New(11)
	f.Main("a", f.List(), "b", f.List(), "c", f.List(), "d", f.List())
	for _, room := range []int{3, 100} {
		maxGroups = room
		l := listPython(t, f, everything)
		if l.Complete != (room == 100) || len(l.Names) > room {
			t.Errorf("room for %d: complete %t, %d names", room, l.Complete, len(l.Names))
		}
	}
}
