package contents

import (
	"slices"
	"testing"
	"time"

	"ipytracer/event"
	"ipytracer/internal/python/holders/holderstest"
	"ipytracer/internal/python/holders/objects"
)

// frameMaker makes blocks of a data frame in a fake process.
type frameMaker struct{ *holderstest.Python }

func newFrameMaker(minor int) frameMaker {
	f := frameMaker{holderstest.New(minor)}
	for _, name := range []string{"slice", "pandas._libs.internals.BlockPlacement", "Block"} {
		f.Type(name, 48, 0, 0)
	}
	return f
}

func (f frameMaker) number(n uint64) uint64 {
	if f.Heap.Version.Minor >= 12 {
		return f.Object("int", 2<<3, n&(1<<30-1)|n>>30<<32)
	}
	return f.Object("int", 2, n&(1<<30-1)|n>>30<<32)
}

// rows makes an array of two axes with data at an address.
func (f frameMaker) rows(data, columns, count, stride uint64, kind byte) uint64 {
	dims, strides, descr := f.Alloc(16), f.Alloc(16), f.Alloc(64)
	f.Put(dims, columns)
	f.Put(dims+8, count)
	f.Put(strides, count*8)
	f.Put(strides+8, stride)
	f.Mem[descr+24-holderstest.Base] = kind
	f.Put(descr+40, 8)
	return f.Object("numpy.ndarray", data, 2, dims, strides, 0, descr, 4, 0)
}

func (f frameMaker) block(from, to, step, values uint64) uint64 {
	slice := f.Object("slice", f.number(from), f.number(to), f.number(step))
	return f.Object("Block", f.Object("pandas._libs.internals.BlockPlacement", slice, 0), values)
}

// areFloats reports whether columns are alike, and have so many bytes of floats.
func areFloats(all []column, bytes event.Bytes) bool {
	return !slices.ContainsFunc(all, func(c column) bool {
		return c.Bytes != bytes || c.DType != "float64" || c.Exact != all[0].Exact
	})
}

// TestColumnsOfAnAttacker: whatever a frame claims, its columns are those that its axes have, each once, and adding
// them up comes to an end.
func TestColumnsOfAnAttacker(t *testing.T) {
	defer objects.OnThread()() // its processor time bounds a reader
	for _, minor := range []int{11, 13} {
		f := newFrameMaker(minor)
		text, refs := f.Str("text"), f.Alloc(8*4)
		for i := range uint64(4) {
			f.Put(refs+8*i, text)
		}
		f.Put(text, 9) // others have it as well: it counts once
		numbers, texts := f.rows(f.Python.Block, 2, 4, 8, 'f'), f.rows(refs, 1, 4, 8, 'O')
		endless := f.rows(0x5000_0000_0000, 1, 1<<40, 8, 'O')
		same := f.rows(refs, 1, 1<<40, 0, 'O')
		cases := map[string]struct {
			block uint64
			want  bool
			bytes event.Bytes
		}{
			"numbers":            {f.block(0, 2, 1, numbers), true, 32},
			"texts":              {f.block(1, 2, 1, texts), true, 0},
			"beyond the axis":    {f.block(1, 1<<40, 1, numbers), false, 0},
			"no step":            {f.block(0, 2, 0, numbers), false, 0},
			"too few places":     {f.block(0, 1, 1, numbers), false, 0},
			"no block":           {text, false, 0},
			"a block of nothing": {f.Object("Block", 0, 0), false, 0},
			"nowhere":            {0x6000_0000_0000, false, 0},
			"endless":            {f.block(0, 1, 1, endless), true, 0},
			"endlessly the same": {f.block(0, 1, 1, same), true, 0},
		}
		s := sizing(t, f.Python, 1<<20)
		for name, test := range cases {
			c := NewColumns(s, nil)
			c.until = objects.ProcessorTime() + 50*time.Millisecond
			all, placed := make([]column, 2), make([]bool, 2)
			if got := c.block(test.block, all, placed); got != test.want {
				t.Errorf("3.%d, %s: %t, %+v", minor, name, got, all)
			}
			if name == "numbers" && !areFloats(all, 32) {
				t.Errorf("3.%d, %s: %+v", minor, name, all)
			}
			if size, _ := c.Measure(text, c.ObjectType(text)); name == "texts" &&
				(all[1].Bytes != 32+event.Bytes(size) || !all[1].Exact) {
				t.Errorf("3.%d, %s: %+v", minor, name, all)
			}
			if (name == "endless" || name == "endlessly the same") && all[0].Exact {
				t.Errorf("3.%d, %s: %+v is exact", minor, name, all)
			}
			if test.want && c.block(test.block, all, placed) {
				t.Errorf("3.%d, %s: two blocks have the same columns", minor, name)
			}
		}
	}
}
