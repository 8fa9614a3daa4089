package holders

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"ipytracer/internal/python/cpython"
)

// Owned is the data that NumPy's arrays have of their own: arrays that are views of others, of a file or of memory of
// another owner have none.
type Owned struct {
	Blocks []Block // by address; the bytes of an array's elements
	// Complete is false where a limit was hit, or the context ended. Even a complete walk misses arrays that only code
	// in C has: in a local variable of a function that runs, or in a place without a reference from an object of
	// Python's.
	Complete bool
	Objects  int
	Bytes    int64 // read
}

// Arrays walks the objects of a Python for the data of all arrays of at least so many bytes. It fails as [NewSurvey]
// does.
func Arrays(ctx context.Context, p *cpython.Interpreter, least uint64, limits Limits) (Owned, error) {
	heap, err := p.Heap()
	if err != nil {
		return Owned{}, fmt.Errorf("arrays: %w", err)
	}
	return arrays(ctx, heap, p.Memory(), least, limits)
}

func arrays(ctx context.Context, heap cpython.Heap, from io.ReaderAt, least uint64, limits Limits) (Owned, error) {
	defer onThread()()
	limits.defaults()
	until, deadline := ProcessorTime()+limits.Time, time.Now().Add(patience*limits.Time)
	s, err := newSurvey(ctx, heap, from, Process{}, limits)
	if err != nil {
		return Owned{}, fmt.Errorf("arrays: %w", err)
	}
	defer s.Close()
	w := s.walker(ctx, nil, limits)
	defer w.free()
	w.until, w.deadline, w.stopped = until, deadline, s.stopped
	all := &owned{finder: newFinder(w), least: least, data: map[uint64]uint64{}}
	w.visitFor(all)
	roots{w}.follows(w.modules(), true)
	garbage(w)
	o := Owned{Complete: w.stopped == nil, Objects: len(w.nodes), Bytes: w.mem.total}
	for at, size := range all.data {
		o.Blocks = append(o.Blocks, Block{at, size})
	}
	slices.SortFunc(o.Blocks, func(a, b Block) int { return cmp.Compare(a.Address, b.Address) })
	return o, nil
}

// owned gathers the data of arrays.
type owned struct {
	*finder
	least uint64
	data  map[uint64]uint64 // sizes by address
}

var (
	_ visitor    = (*owned)(nil)
	_ arrayTaker = (*owned)(nil)
)

func (o *owned) over() bool { return false }

func (o *owned) readsArrays() bool { return true }

// array takes an array in. Its bytes are the span of its strides, which needs no knowledge of its dtype: an array that
// has its data for itself has all of its span, and nothing else.
func (o *owned) array(_ int32, addr, _ uint64) {
	const data, nd, dimensions, strides, flags, owns, most = 16, 24, 32, 40, 64, 4, 64
	if o.mem.int32(addr+flags)&owns == 0 {
		return
	}
	axes := o.mem.int32(addr + nd)
	if axes <= 0 || axes > most { // of one element
		return
	}
	var lengths, steps []uint64
	o.mem.words(o.mem.word(addr+dimensions), uint64(axes),
		func(_, n uint64) bool { lengths = append(lengths, n); return true })
	o.mem.words(o.mem.word(addr+strides), uint64(axes),
		func(_, n uint64) bool { steps = append(steps, n); return true })
	if len(lengths) != int(axes) || len(steps) != int(axes) {
		return
	}
	size := uint64(0)
	for i, n := range lengths {
		step := steps[i]
		if n == 0 || step >= userSpace || n >= userSpace || step > 0 && n > userSpace/step {
			return // none, or not an array
		}
		size = max(size, n*step)
	}
	if at := o.mem.word(addr + data); size >= o.least && at >= lowestAddress && at < userSpace-size {
		o.data[at] = max(o.data[at], size)
	}
}
