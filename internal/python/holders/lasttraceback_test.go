package holders

import (
	"testing"

	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/holderstest"
	"ipytracer/internal/python/holders/objects"
)

// TestCodesOfAnAttacker: a traceback that leads to itself has an end.
func TestCodesOfAnAttacker(t *testing.T) {
	f := holderstest.New(11)
	code := f.Object("code", make([]uint64, 30)...)
	f.Put(code+uint64(f.Heap.CodeFilename), f.Str("<ipython-input-3-0123456789ab>"))
	inner := f.Alloc(512)
	f.Put(inner+uint64(f.Heap.FrameCode), code)
	frame := f.Object("frame", make([]uint64, 20)...)
	f.Put(frame+uint64(f.Heap.FrameHolds), inner)
	tb := f.Object("traceback", make([]uint64, 20)...)
	f.Put(tb+cpython.TracebackFrame, frame)
	f.Put(tb+cpython.TracebackNext, tb)
	sys := f.Dict(f.Str("last_traceback"), tb)
	var limits objects.Limits
	limits.Defaults()
	mem := objects.NewMemory(f.Memory(), limits.Bytes)
	defer mem.Close()
	r := objects.NewReader(f.Heap, objects.NewBudget(t.Context(), mem, limits))
	if err := r.LearnTypes(); err != nil {
		t.Fatal(err)
	}
	codes := failedIn(r, objects.Shell{}, sys)
	if len(codes) != maxFailed || codes[0].File != "<ipython-input-3-0123456789ab>" {
		t.Errorf("%+v", codes)
	}
	if codes := failedIn(r, objects.Shell{Shown: []uint64{sys, 0, 1 << 60}}, 0); len(codes) != 0 {
		t.Errorf("without a traceback: %+v", codes)
	}
}
