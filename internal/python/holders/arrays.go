package holders

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// Owned has the data of the NumPy arrays that own their data. A view of another array, of a file or of another owner's
// memory owns none.
type Owned struct {
	Blocks []objects.Block // the elements of each array, in the order of addresses
	// Complete is false where a limit was hit, or the context ended. Even a complete walk misses arrays that only code
	// in C has: in a local variable of a function that runs, or in a place without a reference from an object of
	// Python's.
	Complete bool
	Objects  int   // that the walk reached
	Bytes    int64 // read from the process
}

// Arrays walks the objects of a Python, and returns the data of all arrays that own at least least bytes. It fails as
// [NewSurvey] does.
func Arrays(ctx context.Context, p *cpython.Interpreter, least uint64, limits objects.Limits) (Owned, error) {
	heap, err := p.Heap()
	if err != nil {
		return Owned{}, fmt.Errorf("arrays: %w", err)
	}
	return arrays(ctx, heap, p.Memory(), least, limits)
}

// arrays does what Arrays does, for a process with a layout of objects and a memory.
func arrays(ctx context.Context, heap cpython.Heap, from io.ReaderAt, least uint64, limits objects.Limits) (Owned,
	error) {
	defer objects.OnThread()()
	limits.Defaults()
	until, deadline := objects.ProcessorTime()+limits.Time, time.Now().Add(objects.Patience*limits.Time)
	s, err := newSurvey(ctx, heap, from, Process{}, limits)
	if err != nil {
		return Owned{}, fmt.Errorf("arrays: %w", err)
	}
	defer s.Close()
	w := s.found.Walker(ctx, nil, limits)
	defer w.Free()
	w.Until, w.Deadline, w.Stopped = until, deadline, s.found.Stopped
	visitor := &ownArrays{Finder: walk.NewFinder(w), least: least, data: map[uint64]uint64{}}
	w.VisitFor(visitor)
	walk.Roots{Walker: w}.FollowAll(w.Modules(), true)
	walk.FindGarbage(w)
	o := Owned{Complete: w.Stopped == nil, Objects: len(w.Nodes), Bytes: w.Mem.Total}
	for at, size := range visitor.data {
		o.Blocks = append(o.Blocks, objects.Block{Address: at, Size: size})
	}
	slices.SortFunc(o.Blocks, func(a, b objects.Block) int { return cmp.Compare(a.Address, b.Address) })
	return o, nil
}

// ownArrays is a visitor that gathers the data of arrays of at least least bytes.
type ownArrays struct {
	*walk.Finder
	least uint64
	data  map[uint64]uint64 // sizes by address
}

var (
	_ walk.Visitor    = (*ownArrays)(nil)
	_ walk.ArrayTaker = (*ownArrays)(nil)
)

func (o *ownArrays) Over() bool { return false }

func (o *ownArrays) ReadsArrays() bool { return true }

// Array notes the data of an array that owns it. The size is the span of the strides, for which the dtype need not be
// known: the data of such an array is exactly this span.
func (o *ownArrays) Array(_ int32, addr, _ uint64) {
	const axesAt, maxAxes = 24, 64
	if !o.OwnsData(addr) {
		return
	}
	axes := o.Mem.Int32(addr + axesAt)
	if axes <= 0 || axes > maxAxes { // an array without axes has one element
		return
	}
	var lengths, steps []uint64
	o.Mem.Words(o.Mem.Word(addr+objects.ArrayLengths), uint64(axes),
		func(_, n uint64) bool { lengths = append(lengths, n); return true })
	o.Mem.Words(o.Mem.Word(addr+objects.ArrayStrides), uint64(axes),
		func(_, n uint64) bool { steps = append(steps, n); return true })
	if len(lengths) != int(axes) || len(steps) != int(axes) {
		return
	}
	size := uint64(0)
	for i, n := range lengths {
		step := steps[i]
		if n == 0 || step >= objects.UserSpace || n >= objects.UserSpace || step > 0 && n > objects.UserSpace/step {
			return // no elements, or no array
		}
		size = max(size, n*step)
	}
	at := o.Mem.Word(addr + objects.ArrayData)
	if size >= o.least && at >= objects.LowestAddress && at < objects.UserSpace-size {
		o.data[at] = max(o.data[at], size)
	}
}
