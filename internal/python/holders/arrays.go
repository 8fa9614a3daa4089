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
	"ipytracer/internal/python/holders/paths"
	"ipytracer/internal/python/holders/walk"
)

// Owned is the data that NumPy's arrays have of their own: arrays that are views of others, of a file or of memory of
// another owner have none.
type Owned struct {
	Blocks []objects.Block // by address; the bytes of an array's elements
	// Complete is false where a limit was hit, or the context ended. Even a complete walk misses arrays that only code
	// in C has: in a local variable of a function that runs, or in a place without a reference from an object of
	// Python's.
	Complete bool
	Objects  int
	Bytes    int64 // read
}

// Arrays walks the objects of a Python for the data of all arrays of at least so many bytes. It fails as [NewSurvey]
// does.
func Arrays(ctx context.Context, p *cpython.Interpreter, least uint64, limits objects.Limits) (Owned, error) {
	heap, err := p.Heap()
	if err != nil {
		return Owned{}, fmt.Errorf("arrays: %w", err)
	}
	return arrays(ctx, heap, p.Memory(), least, limits)
}

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
	all := &ownArrays{Finder: walk.NewFinder(w), least: least, data: map[uint64]uint64{}}
	w.VisitFor(all)
	walk.Roots{Walker: w}.Follows(w.Modules(), true)
	paths.FindGarbage(w)
	o := Owned{Complete: w.Stopped == nil, Objects: len(w.Nodes), Bytes: w.Mem.Total}
	for at, size := range all.data {
		o.Blocks = append(o.Blocks, objects.Block{Address: at, Size: size})
	}
	slices.SortFunc(o.Blocks, func(a, b objects.Block) int { return cmp.Compare(a.Address, b.Address) })
	return o, nil
}

// ownArrays gathers the data of arrays.
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

// Array takes an array in. Its bytes are the span of its strides, which needs no knowledge of its dtype: an array that
// has its data for itself has all of its span, and nothing else.
func (o *ownArrays) Array(_ int32, addr, _ uint64) {
	const axesAt, most = 24, 64
	if !o.OwnsData(addr) {
		return
	}
	axes := o.Mem.Int32(addr + axesAt)
	if axes <= 0 || axes > most { // of one element
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
			return // none, or not an array
		}
		size = max(size, n*step)
	}
	if at := o.Mem.Word(addr + objects.ArrayData); size >= o.least && at >= objects.LowestAddress &&
		at < objects.UserSpace-size {
		o.data[at] = max(o.data[at], size)
	}
}
