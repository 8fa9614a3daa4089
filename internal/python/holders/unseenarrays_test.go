package holders

import (
	"context"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// ownArray makes an array of bytes that owns its data: one axis.
func (f *fake) ownArray(data, length, stride uint64) uint64 {
	axes := f.Alloc(16)
	f.Put(axes, length)
	f.Put(axes+8, stride)
	return f.Object("numpy.ndarray", data, 1, axes, axes+8, 0, 0, 4, 0)
}

// TestUnseenArraysAreFound: arrays that own their data and were not asked for are found with their size, those that are
// small, views, or known are not.
func TestUnseenArraysAreFound(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		const made = 0x7100_0000_0000
		view := f.Object("numpy.ndarray", made+8, 1, 0, 0, 0, 0, 0, 0)
		known := f.ownArray(f.Block, 1<<20, 8)
		small, endless := f.ownArray(made+1<<32, 100, 8), f.ownArray(made+2<<32, 1<<60, 8)
		f.Program([]uint64{f.Str("view"), view, f.Str("small"), small, f.Str("endless"), endless,
			f.Str("known"), known},
			[]uint64{f.Str("kept"), f.List(f.ownArray(made, 1<<20, 8), f.ownArray(made+3<<32, 1<<20, ^uint64(0)-7))})
		r, err := find(context.Background(), f.Heap, f.Memory(), []objects.Block{{Address: f.Block, Size: 4096}},
			objects.Limits{Unseen: true})
		if err != nil || !r.Complete {
			t.Fatal(r, err)
		}
		if len(r.Holders) != 1 || r.Holders[0].Path != "known" || r.Holders[0].Size != 0 {
			t.Errorf("the block that was asked for: %+v", r.Holders)
		}
		if len(r.Unseen) != 2 {
			t.Fatalf("%+v", r.Unseen)
		}
		for i, path := range []string{"lib.kept[0]", "lib.kept[1]"} {
			if h := r.Unseen[i]; h.Kind != event.HeldByModule || h.Path != path || h.Size != 8<<20 || h.Root != "lib" {
				t.Errorf("%+v", h)
			}
		}
	})
}

// TestWaitingWorkerOfAPool: the frames of a thread show whether it is a pool's worker that waits, or one that works.
func TestWaitingWorkerOfAPool(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		w := objects.NewReader(f.Heap, objects.NewBudget(context.Background(), objects.NewMemory(f.Memory(), 1<<20),
			objects.Limits{Objects: 1000}))
		_ = w.LearnTypes()
		for _, c := range []struct {
			want   string
			frames [][2]string
		}{
			{event.PoolMultiprocessing, [][2]string{{"_recv", "/usr/lib/python3/multiprocessing/connection.py"},
				{"get", "/usr/lib/python3/multiprocessing/queues.py"},
				{"worker", "/usr/lib/python3/multiprocessing/pool.py"}, {"<module>", "/tmp/cell.py"}}},
			{event.PoolLoky, [][2]string{{"_process_worker", "/x/joblib/externals/loky/process_executor.py"}}},
			{event.PoolExecutor, [][2]string{{"get", "/usr/lib/python3/multiprocessing/queues.py"},
				{"_process_worker", "/usr/lib/python3/concurrent/futures/process.py"}}},
			{"", [][2]string{{"task", "/tmp/cell.py"}, {"worker", "/usr/lib/python3/multiprocessing/pool.py"}}},
			{"", [][2]string{{"get", "/usr/lib/python3/multiprocessing/queues.py"}, {"main", "/tmp/cell.py"}}},
			{"", nil},
		} {
			var frames []uint64
			for _, at := range c.frames {
				code := f.Object("code", make([]uint64, 30)...)
				f.Put(code+uint64(f.Heap.CodeName), f.Str(at[0]))
				f.Put(code+uint64(f.Heap.CodeFilename), f.Str(at[1]))
				frame := f.Alloc(512)
				f.Put(frame+uint64(f.Heap.FrameCode), code)
				frames = append(frames, frame)
			}
			w.Mem = objects.NewMemory(f.Memory(), 1<<20)
			if got := poolOf(w, frames); got != c.want {
				t.Errorf("%v: %q, want %q", c.frames, got, c.want)
			}
		}
	})
}
