package walk

import (
	"testing"

	"ipytracer/internal/python/holders/holderstest"
	"ipytracer/internal/python/holders/objects"
)

// TestHeldElsewhere: an object that code in C holds keeps everything that it leads to; one that waits for the collector
// keeps nothing.
func TestHeldElsewhere(t *testing.T) {
	holderstest.EachVersion(t, func(t *testing.T, f *holderstest.Python) {
		defer objects.OnThread()()
		ofWaste, ofHeld, behind := f.Refs(f.List(), 2), f.Refs(f.List(), 2), f.List()
		waste, held := f.List(0, ofWaste), f.Refs(f.List(0, ofHeld, behind), 2)
		for _, cycle := range []uint64{waste, held} {
			f.Put(f.Word(cycle+uint64(f.Heap.ListItems)), cycle)
		}
		f.Collect(waste, held, behind)
		f.Main("a", ofWaste, "b", ofHeld)
		var limits objects.Limits
		limits.Defaults()
		found := Findings{Heap: f.Heap, Mem: objects.NewMemory(f.Memory(), limits.Bytes), Sizes: &objects.Sizes{
			Lineages: map[*objects.Type]objects.Lineage{},
			Mapped:   []objects.Block{{Address: holderstest.Base, Size: uint64(len(f.Mem))}}}}
		defer found.Mem.Close()
		if err := found.Count(t.Context(), limits, func() bool { return true }); err != nil {
			t.Fatal(err)
		}
		defer found.Release()
		w := found.Walker(t.Context(), nil, limits)
		defer w.Free()
		finder := NewFinder(w)
		finder.SeeksArrays = true // it looks for something
		w.VisitFor(finder)
		all, bytes := HeldElsewhere(w, nil), uint64(0)
		for addr, want := range map[uint64]bool{waste: false, ofWaste: false, held: true, behind: true, ofHeld: true} {
			id, ok := found.Notes.Index.Get(addr, found.Notes.Addrs)
			if !ok || all.Has(id) != want {
				t.Errorf("object %#x: noted %t, held elsewhere %t, want %t", addr, ok, all.Has(id), want)
			}
			if want {
				bytes += found.Notes.Bytes(id)
			}
		}
		if got := all.Bytes(); got != bytes {
			t.Errorf("%d bytes, want %d", got, bytes)
		}
	})
}
