package holders

import (
	"context"
	"slices"
	"testing"
	"time"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/contents"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/variables"
)

// frameMaker makes blocks of a data frame in a fake process.
type frameMaker struct{ *fake }

func newFrameMaker(minor int) frameMaker {
	f := frameMaker{newFake(minor)}
	for _, name := range []string{"slice", "pandas._libs.internals.BlockPlacement", "Block"} {
		f.typ(name, 48, 0, 0)
	}
	return f
}

func (f frameMaker) number(n uint64) uint64 {
	if f.h.Version.Minor >= 12 {
		return f.object("int", 2<<3, n&(1<<30-1)|n>>30<<32)
	}
	return f.object("int", 2, n&(1<<30-1)|n>>30<<32)
}

// rows makes an array of two axes with data at an address.
func (f frameMaker) rows(data, columns, count, stride uint64, kind byte) uint64 {
	dims, strides, descr := f.alloc(16), f.alloc(16), f.alloc(64)
	f.put(dims, columns)
	f.put(dims+8, count)
	f.put(strides, count*8)
	f.put(strides+8, stride)
	f.mem[descr+24-fakeMemory] = kind
	f.put(descr+40, 8)
	return f.object("numpy.ndarray", data, 2, dims, strides, 0, descr, 4, 0)
}

func (f frameMaker) block(from, to, step, values uint64) uint64 {
	slice := f.object("slice", f.number(from), f.number(to), f.number(step))
	return f.object("Block", f.object("pandas._libs.internals.BlockPlacement", slice, 0), values)
}

// areFloats reports whether columns are alike, and have so many bytes of floats.
func areFloats(all []contents.Column, bytes event.Bytes) bool {
	return !slices.ContainsFunc(all, func(c contents.Column) bool {
		return c.Bytes != bytes || c.DType != "float64" || c.Exact != all[0].Exact
	})
}

// TestColumnsOfAnAttacker: whatever a frame claims, its columns are those that its axes have, each once, and adding
// them up comes to an end.
func TestColumnsOfAnAttacker(t *testing.T) {
	defer objects.OnThread()() // its processor time bounds a reader
	for _, minor := range []int{11, 13} {
		f := newFrameMaker(minor)
		text, refs := f.str("text"), f.alloc(8*4)
		for i := range uint64(4) {
			f.put(refs+8*i, text)
		}
		f.put(text, 9) // others have it as well: it counts once
		numbers, texts := f.rows(f.fake.block, 2, 4, 8, 'f'), f.rows(refs, 1, 4, 8, 'O')
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
			"a block of nothing": {f.object("Block", 0, 0), false, 0},
			"nowhere":            {0x6000_0000_0000, false, 0},
			"endless":            {f.block(0, 1, 1, endless), true, 0},
			"endlessly the same": {f.block(0, 1, 1, same), true, 0},
		}
		process := Process{Mapped: []objects.Block{{Address: fakeMemory, Size: 1 << 20}}}
		s, err := newSurvey(context.Background(), f.h, f.memory(), process, objects.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		w := s.walker(context.Background(), nil, objects.Limits{})
		w.Sizes.NumPy = 2
		for name, test := range cases {
			c := contents.NewColumns(&w.Sizer, nil)
			c.Until = objects.ProcessorTime() + 50*time.Millisecond
			all, placed := make([]contents.Column, 2), make([]bool, 2)
			if got := c.Block(test.block, all, placed); got != test.want {
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
			if test.want && c.Block(test.block, all, placed) {
				t.Errorf("3.%d, %s: two blocks have the same columns", minor, name)
			}
		}
		w.Free()
		s.Close()
	}
}

// TestCodesOfAnAttacker: a traceback that leads to itself has an end.
func TestCodesOfAnAttacker(t *testing.T) {
	f := newFake(11)
	code := f.object("code", make([]uint64, 30)...)
	f.put(code+uint64(f.h.CodeFilename), f.str("<ipython-input-3-0123456789ab>"))
	inner := f.alloc(512)
	f.put(inner+uint64(f.h.FrameCode), code)
	frame := f.object("frame", make([]uint64, 20)...)
	f.put(frame+uint64(f.h.FrameHolds), inner)
	tb := f.object("traceback", make([]uint64, 20)...)
	f.put(tb+cpython.TracebackFrame, frame)
	f.put(tb+cpython.TracebackNext, tb)
	sys := f.dict(f.str("last_traceback"), tb)
	s, err := newSurvey(context.Background(), f.h, f.memory(),
		Process{Mapped: []objects.Block{{Address: fakeMemory, Size: 1 << 20}}},
		objects.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var limits objects.Limits
	limits.Defaults()
	w := s.walker(context.Background(), nil, limits)
	defer w.Free()
	codes := variables.FailedIn(w.Reader, objects.Shell{}, sys)
	if len(codes) != variables.MaxFailed || codes[0].File != "<ipython-input-3-0123456789ab>" {
		t.Errorf("%+v", codes)
	}
	if codes := variables.FailedIn(w.Reader, objects.Shell{Shown: []uint64{sys, 0, 1 << 60}}, 0); len(codes) != 0 {
		t.Errorf("without a traceback: %+v", codes)
	}
}
