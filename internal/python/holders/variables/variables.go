// Package variables lists the objects of a Python by name. It finds how much memory goes with each name, how much each
// leads to, and which sets of names hold memory together.
package variables

import (
	"ipytracer/event"
	"ipytracer/internal/python/holders/contents"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/paths"
	"ipytracer/internal/python/holders/views"
	"ipytracer/internal/python/holders/walk"
)

// List returns the objects by name. It calls give once it does not need the notes any more.
func List(w *walk.Walker, give func()) Listing {
	e := newExtents(w)
	w.VisitFor(e)
	w.Reserve(w.Notes.Containers + w.Notes.Shared)
	e.reserve(w.Notes.Containers + w.Notes.Shared)
	defer e.free()
	l := &lister{Walker: w, extents: e, byAddr: map[uint64]int{}, give: give}
	still := stillThere(w, w.Limits.Watch)
	l.walk()
	l.viewed = views.ByRoot(w, paths.NewWriter(w, nil))
	if w.Limits.Contents {
		l.inspector = contents.NewInspector(&l.Sizer, &objects.ResidentMemory{Memory: w.Mem.Source,
			FilePages: w.Mem.Files})
	}
	out := l.listing(w.Limits.Time / 4)
	out.Still = still
	return out
}

// stillThere returns which objects are still there, with the same type and size.
func stillThere(w *walk.Walker, pieces []event.Piece) []bool {
	out := make([]bool, len(pieces))
	for i, p := range pieces {
		if p.Type == 0 { // an object in C++
			out[i] = w.Class(w.Mem.Word(p.Address)) != ""
			continue
		}
		id, ok := w.Notes.Index.Get(p.Address, w.Notes.Addrs)
		if !ok || w.Notes.TypeOf(id) == nil {
			t := w.TypeNow(p.Address) // a leaf that no other object has is not noted
			out[i] = !ok && t != nil && t.Addr == p.Type && t.Shape == objects.ShapeLeaf
			continue
		}
		out[i] = w.Notes.TypeOf(id).Addr == p.Type && w.Notes.Bytes(id) == uint64(p.Own)
	}
	return out
}
