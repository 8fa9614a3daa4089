// Package holders finds the holders of blocks of memory in a live Python, and its objects by name. A holder is the
// variable, output, traceback, frame or module, with the path from there by which a block is reached. Others (tracer,
// attribution) decide which blocks are asked for, and what follows for an audit.
//
// It reads the process's objects from outside, through its memory, while the process runs. A [Survey] does that once,
// and its notes answer all questions. From the roots (see [event.HolderKind]), in their order, it goes breadth first
// along the references that objects hold, each object once. So an earlier kind wins, and a path is a shortest one. The
// references of a built-in object are read as that version of CPython keeps it; other types made in C have those that
// they declare, and those that reference counts demand: see package walk. Weak references are not followed.
//
// Everything read is hostile: sizes, counts and depths are bounded, a limit that is hit shows in [Result.Complete]. An
// object that changes while it is read can cost a path or give a stale one, nothing else.
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
// Memory that cannot be read costs paths.
//
// Find walks once. If blocks have no holder, and the process has run meanwhile, it may have been moving their
// references: Find looks at all objects anew, and walks again for these blocks.
func (s *Survey) Find(ctx context.Context, blocks []objects.Block, limits objects.Limits) (Result, error) {
	defer objects.OnThread()()
	limits.Defaults()
	began := objects.ProcessorTime()
	r, err := s.findOnce(ctx, blocks, limits)
	if err != nil || !r.Complete {
		return r, err
	}
	missing := withoutHolder(blocks, r.Holders)
	limits.Time -= objects.ProcessorTime() - began
	limits.Unseen = false
	if len(missing) == 0 || limits.Time <= 0 || s.wasIdle() {
		return r, nil
	}
	if err := s.look(ctx, limits); err != nil {
		return r, nil
	}
	again, err := s.findOnce(ctx, missing, limits)
	if err != nil || !again.Complete {
		return r, nil
	}
	replaceFound(r.Holders, again.Holders)
	r.Bytes = again.Bytes
	return r, nil
}

// withoutHolder returns the blocks that have a holder of kind none. The holders are in the order of addresses.
func withoutHolder(blocks []objects.Block, holders []event.Holder) (missing []objects.Block) {
	for _, b := range blocks {
		i, ok := slices.BinarySearchFunc(holders, b.Address, compareHolder)
		if ok && holders[i].Kind == event.HeldByNone {
			missing = append(missing, b)
		}
	}
	return missing
}

// replaceFound replaces the holders of the blocks for which a second walk found one.
func replaceFound(holders, again []event.Holder) {
	for _, h := range again {
		i, ok := slices.BinarySearchFunc(holders, h.Address, compareHolder)
		if ok && h.Kind != event.HeldByNone {
			holders[i] = h
		}
	}
}

func compareHolder(h event.Holder, address uint64) int { return cmp.Compare(h.Address, address) }

// findOnce walks from the roots once, with the notes of the survey.
func (s *Survey) findOnce(ctx context.Context, blocks []objects.Block, limits objects.Limits) (Result, error) {
	w := s.found.Walker(ctx, blocks, limits)
	defer w.Free()
	f := walk.NewFinder(w)
	f.SeeksArrays = limits.Unseen
	w.VisitFor(f)
	w.Reserve(s.found.Notes.Containers)
	p := paths.NewWriter(w, nil)
	if w.Stopped = s.found.Stopped; w.Stopped == nil { // a survey that was stopped lacks the evidence to follow words
		walk.Roots{Walker: w}.FollowAll(w.Modules(), true)
		p.Lost = paths.FindGarbage(w)
	}
	r := resultOf(f, p)
	if limits.Unseen && r.Complete {
		for _, found := range views.All(w, p) {
			r.Views = append(r.Views, found.View)
		}
	}
	return r, nil
}

// resultOf describes the findings of a walk. Paths need further reads, also after a walk that hit a limit.
func resultOf(f *walk.Finder, p *paths.Writer) Result {
	r := Result{Objects: len(f.Nodes), Bytes: f.Mem.Total, Complete: f.Stopped == nil}
	f.Mem.Limit += objects.PathBytes
	f.Stopped = nil
	r.Holders, r.Unseen = p.Holders(f), p.Unseen(f)
	return r
}
