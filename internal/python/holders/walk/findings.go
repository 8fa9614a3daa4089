package walk

import (
	"context"
	"maps"

	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// Findings are the results of a census of a process's objects, for later walks.
type Findings struct {
	Heap    cpython.Heap
	Mem     *objects.Memory
	Sizes   *objects.Sizes // nil where nobody asks for sizes
	Notes   *objects.Notes
	Stopped error // why the census ended early

	types    map[uint64]*objects.Type
	metatype uint64
	believed map[wordKey]certainty // words that are references
}

// Count takes the census, and forgets an earlier one. stood reports whether the process has hardly run since.
func (f *Findings) Count(ctx context.Context, limits objects.Limits, stood func() bool) error {
	w := NewWalker(ctx, f.Heap, f.Mem, nil, limits)
	w.Sizes = f.Sizes
	f.Mem.Allow(limits.Bytes)
	if err := w.LearnTypes(); err != nil {
		return err
	}
	c := newCensus(w, stood)
	f.believed = c.takeCensus()
	f.Stopped, f.types, f.metatype, f.Notes = w.Stopped, w.ByAddr, w.Metatype, c.notes
	f.Notes.Index, f.Notes.Addrs = w.Index, w.Addrs
	for _, note := range f.Notes.Noted {
		if !note.Is(objects.NoteLeaf) {
			f.Notes.Containers++
		} else if note.References > 1 {
			f.Notes.Shared++
		}
	}
	return nil
}

// Walker returns a walker that knows the findings.
func (f *Findings) Walker(ctx context.Context, blocks []objects.Block, limits objects.Limits) *Walker {
	w := NewWalker(ctx, f.Heap, f.Mem, blocks, limits)
	f.Mem.Allow(limits.Bytes)
	w.Beliefs.believed, w.ByAddr, w.Metatype, w.Sizes, w.Notes = f.believed, f.types, f.metatype, f.Sizes, f.Notes
	w.reserveNoted(len(f.Notes.Noted))
	return w
}

// Share returns the same findings for another goroutine. Both use the same notes, and both must release them.
func (f *Findings) Share() Findings {
	other := *f
	other.Mem = f.Mem.Beside()
	other.types = maps.Clone(f.types)
	if f.Sizes != nil {
		other.Sizes = &objects.Sizes{Mapped: f.Sizes.Mapped, NumPy: f.Sizes.NumPy, Heap: f.Sizes.Heap,
			Lineages: maps.Clone(f.Sizes.Lineages), Foreign: objects.LibraryMemory{Pieces: f.Sizes.Foreign.Pieces}}
	}
	f.Notes.Share()
	return other
}

// Release gives back the notes.
func (f *Findings) Release() {
	f.Notes.Release()
	f.Notes, f.believed = nil, nil
}
