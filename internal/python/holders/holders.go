// Package holders finds the holders of blocks of memory in a live Python: the variable, output, traceback, frame or
// module, and the path from there by which each block is reached; and the Python's objects by name. Others (tracer,
// attribution) decide which blocks are asked for, and what follows for an audit.
//
// It reads the process's objects from outside, through its memory, while the process runs. A [Survey] does that once,
// and its notes answer all questions. From the roots (see [event.HolderKind]), in their order, it goes breadth first
// along the references that objects hold, each object once. So an earlier kind wins, and a path is a shortest one. The
// references of a built-in object are read as that version of CPython keeps it; other types made in C have those that
// they declare, and those that reference counts demand: see evidence.go. Weak references are not followed.
//
// Everything read is hostile: sizes, counts and depths are bounded, a limit that is hit shows in [Result.Complete]. An
// object that changes while it is read can cost a path or give a stale one, nothing else.
package holders

import (
	"cmp"
	"context"
	"slices"
	"time"

	"ipytracer/event"
)

// Block is a piece of memory, by its address and size in bytes. It need not be memory of the CPU's.
type Block struct{ Address, Size uint64 }

// Limits bound a walk. A field that is 0 has its default.
type Limits struct {
	Objects int           // containers looked into, 4 million
	Bytes   int64         // read from the process, 2 GiB
	Time    time.Duration // of the processor, of the thread that walks; 5 s
	// Elements is the time of the processor for what is in arrays, and for the columns of frames; 1 s each.
	Elements time.Duration
	Unseen   bool          // look for arrays that are none of the blocks, too
	Names    bool          // of [List]: objects that only modules have are not looked for
	Watch    []event.Piece // of [List]: objects that may be there still
	// Contents: [List] reads the elements of large arrays as well.
	Contents bool
	// Running are the PyThreadStates of threads that run cells: the result marks objects that their frames hold as
	// [event.Holder.Running].
	Running []uint64
}

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

func (l *Limits) defaults() {
	if l.Objects <= 0 {
		l.Objects = 4_000_000
	}
	if l.Bytes <= 0 {
		l.Bytes = 2 << 30
	}
	if l.Time <= 0 {
		l.Time = 5 * time.Second
	}
	if l.Elements <= 0 {
		l.Elements = time.Second
	}
}

// Find returns the holder of each block, as it was when the survey looked, or a little later. Blocks must not overlap.
// Errors in the memory cost paths.
//
// It walks once. For the blocks without a holder it looks at everything anew and walks again, unless the process has
// hardly run: it may have been moving them.
func (s *Survey) Find(ctx context.Context, blocks []Block, limits Limits) (Result, error) {
	defer onThread()()
	limits.defaults()
	began := ProcessorTime()
	r, err := s.findOnce(ctx, blocks, limits)
	if err != nil || !r.Complete {
		return r, err
	}
	var missing []Block
	for _, b := range blocks {
		if i, ok := slices.BinarySearchFunc(r.Holders, b.Address, compareHolder); ok &&
			r.Holders[i].Kind == event.HeldByNone {
			missing = append(missing, b)
		}
	}
	limits.Time -= ProcessorTime() - began
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
func (s *Survey) findOnce(ctx context.Context, blocks []Block, limits Limits) (Result, error) {
	w := s.walker(ctx, blocks, limits)
	defer w.free()
	f := newFinder(w)
	f.seeking = limits.Unseen
	w.visitFor(f)
	w.reserve(s.notes.containers)
	if w.stopped = s.stopped; w.stopped == nil { // without the evidence nothing is followed that needs it
		roots{w}.walk()
	}
	r := f.result()
	if limits.Unseen && r.Complete {
		for _, one := range viewsOf(w) {
			r.Views = append(r.Views, one.View)
		}
	}
	return r, nil
}
