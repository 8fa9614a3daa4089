// Package holders finds the holders of blocks of memory in a live Python: the variable, output, traceback, frame or
// module, and the path from there by which each block is reached; and the Python's objects by name. Others (tracer,
// attribution) decide which blocks are asked for, and what follows for an audit.
//
// It reads the process's objects from outside, through its memory, while the process runs. A [Survey] does that once,
// and its notes answer all questions. From the roots (see [event.HolderKind]), in their order, it goes breadth first
// along the references that objects hold, each object once. So an earlier kind wins, and a path is a shortest one. The
// references of a built-in object are read as that version of CPython keeps it; other types made in C have those that
// they declare, and those that reference counts demand: see package walk. Weak references are not followed.
//
// Everything read is hostile: sizes, counts and depths are bounded, a limit that is hit shows in [Result.Complete]. An
// Object that changes while it is read can cost a path or give a stale one, nothing else.
package holders

import (
	"cmp"
	"context"
	"slices"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/paths"
	"ipytracer/internal/python/holders/views"
	"ipytracer/internal/python/holders/walk"
)

// Result is the result of a walk: a Holder for each block, in the order of their addresses. All texts are hostile, and
// may be no UTF-8.
type Result struct {
	Holders []event.Holder
	// Unseen are arrays of at least 64 KiB that own their data and are none of the blocks; 65,536 at most.
	Unseen  []event.Holder
	Objects int // that were looked into
	Bytes   int64
	// Complete is false where a limit was hit or the context ended. [event.HeldByNone] and [event.HeldByCycle] then
	// mean only that no path was found.
	Complete bool
	Views    []event.View // memory that only views hold, if Unseen was asked for
}

// Find returns the holder of each block, as it was when the survey looked, or a little later. Blocks must not overlap.
// Errors in the memory cost paths.
//
// It walks once. For the blocks without a holder it looks at everything anew and walks again, unless the process has
// hardly run: it may have been moving them.
func (s *Survey) Find(ctx context.Context, blocks []objects.Block, limits objects.Limits) (Result, error) {
	defer objects.OnThread()()
	limits.Defaults()
	began := objects.ProcessorTime()
	r, err := s.findOnce(ctx, blocks, limits)
	if err != nil || !r.Complete {
		return r, err
	}
	var missing []objects.Block
	for _, b := range blocks {
		if i, ok := slices.BinarySearchFunc(r.Holders, b.Address, compareHolder); ok &&
			r.Holders[i].Kind == event.HeldByNone {
			missing = append(missing, b)
		}
	}
	limits.Time -= objects.ProcessorTime() - began
	limits.Unseen = false
	if len(missing) == 0 || limits.Time <= 0 || s.stood() {
		return r, nil
	}
	if err := s.look(ctx, limits); err != nil {
		return r, nil
	}
	again, err := s.findOnce(ctx, missing, limits)
	if err != nil || !again.Complete {
		return r, nil
	}
	for _, h := range again.Holders {
		if i, ok := slices.BinarySearchFunc(r.Holders, h.Address, compareHolder); ok && h.Kind != event.HeldByNone {
			r.Holders[i] = h
		}
	}
	r.Bytes = again.Bytes
	return r, nil
}

func compareHolder(h event.Holder, address uint64) int { return cmp.Compare(h.Address, address) }

// findOnce walks from the roots.
func (s *Survey) findOnce(ctx context.Context, blocks []objects.Block, limits objects.Limits) (Result, error) {
	w := s.found.Walker(ctx, blocks, limits)
	defer w.Free()
	f := walk.NewFinder(w)
	f.SeeksArrays = limits.Unseen
	w.VisitFor(f)
	w.Reserve(s.found.Notes.Containers)
	p := paths.NewWriter(w, nil)
	if w.Stopped = s.found.Stopped; w.Stopped == nil { // without the evidence nothing is followed that needs it
		walk.Roots{Walker: w}.Follows(w.Modules(), true)
		p.Lost = paths.FindGarbage(w)
	}
	r := resultOf(f, p)
	if limits.Unseen && r.Complete {
		for _, one := range views.All(w, p) {
			r.Views = append(r.Views, one.View)
		}
	}
	return r, nil
}

// resultOf describes the findings of a walk.
func resultOf(f *walk.Finder, p *paths.Writer) Result {
	r := Result{Objects: len(f.Nodes), Bytes: f.Mem.Total, Complete: f.Stopped == nil}
	f.Mem.Limit += objects.PathBytes
	f.Stopped = nil
	r.Holders, r.Unseen = p.Holders(f), p.Unseen(f)
	return r
}
