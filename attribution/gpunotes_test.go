package attribution

import (
	"math"
	"slices"
	"testing"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/model"
)

const (
	gib   = event.Bytes(1 << 30)
	large = 60 * gib
)

var (
	xlaPlugin = event.Frame{Function: "tsl::BFCAllocator::Extend", Module: "xla_cuda_plugin.so", Native: true}
	cudaLib   = event.Frame{Function: "cuMemAlloc_v2", Module: "libcuda.so.580.159.04", Native: true}
	jaxPython = event.Frame{Function: "device_put", File: "/venv/lib/python3.12/site-packages/jax/_src/api.py",
		Line: 2771}
	cell = event.Frame{Function: "<module>", File: "/tmp/ipykernel_1/7.py", Line: 2}
)

// notesOf plays a session in which one process allocates a block of size bytes, and two small ones, on a GPU. total is
// the reported size of the GPU, 0 for none.
func notesOf(t *testing.T, size, total event.Bytes, frames ...event.Frame) []model.GPUNote {
	t.Helper()
	tracker := New()
	s := attributiontest.New(tracker.Add, 1)
	driver := event.OfDevice(0, event.Driver)
	s.OpenCell(1, 0, "/tmp/ipykernel_1/7.py", "f()")
	s.Make(attributiontest.Kernel, driver, 2<<20, s.Stack(attributiontest.Kernel, cell))
	s.Make(attributiontest.Kernel, driver, size, s.Stack(attributiontest.Kernel, frames...))
	s.Make(attributiontest.Kernel, driver, 2<<20, s.Stack(attributiontest.Kernel, cell))
	s.CloseCell(1, event.OutcomeOK)
	s.Boundary(event.Boundary{Kind: event.Detached, PID: attributiontest.Kernel, Inputs: -1})
	finish := &event.Finish{Time: s.Now, Reason: "interrupted"}
	if total > 0 {
		finish.GPUs = []event.GPU{{Index: 1, Memory: 8 * gib}, {Index: 0, Memory: total}}
	}
	tracker.Add(finish)
	return tracker.Report().GPUNotes
}

// A library that takes most of a GPU in one block is named with its share, once, whether machine code or Python is
// known to have called.
func TestLibraryThatTakesMostOfAGPU(t *testing.T) {
	tensorflow := event.Frame{Function: "x", Module: "libtensorflow_framework.so.2", Native: true}
	torch := event.Frame{Function: "c10::cuda::CUDACachingAllocator::malloc", Module: "libc10_cuda.so", Native: true}
	unknown := event.Frame{Function: "?", Native: true}
	notPackage := event.Frame{Function: "f", File: "/home/me/jax/train.py", Line: 1}
	for name, c := range map[string]struct {
		size, total event.Bytes
		frames      []event.Frame
		library     string
	}{
		"JAX's plugin": {large, 80 * gib, []event.Frame{cudaLib, xlaPlugin, jaxPython, cell},
			model.JAX},
		"its Python only":                {large, 80 * gib, []event.Frame{unknown, jaxPython, cell}, model.JAX},
		"a thread of its own":            {large, 80 * gib, []event.Frame{cudaLib, xlaPlugin}, model.JAX},
		"exactly half":                   {40 * gib, 80 * gib, []event.Frame{xlaPlugin, cell}, model.JAX},
		"less than half":                 {40*gib - 1, 80 * gib, []event.Frame{xlaPlugin, cell}, ""},
		"TensorFlow":                     {large, 80 * gib, []event.Frame{tensorflow, cell}, model.TensorFlow},
		"PyTorch":                        {large, 80 * gib, []event.Frame{torch, cell}, ""},
		"PyTorch called by JAX":          {large, 80 * gib, []event.Frame{torch, jaxPython, cell}, ""},
		"a callback of JAX's":            {large, 80 * gib, []event.Frame{notPackage, jaxPython, cell}, ""},
		"a cell":                         {large, 80 * gib, []event.Frame{cell}, ""},
		"a directory of that name":       {large, 80 * gib, []event.Frame{notPackage, cell}, ""},
		"a GPU of unknown size":          {large, 0, []event.Frame{xlaPlugin, cell}, model.JAX},
		"little of one of unknown size":  {4*gib - 1, 0, []event.Frame{xlaPlugin, cell}, ""},
		"a size beyond what the GPU has": {large, 1, []event.Frame{xlaPlugin, cell}, model.JAX},
	} {
		notes := notesOf(t, c.size, c.total, c.frames...)
		if c.library == "" {
			if len(notes) != 0 {
				t.Errorf("%s: %+v", name, notes)
			}
			continue
		}
		want := model.GPUNote{Kind: model.Preallocated, Library: c.library, PID: int(attributiontest.Kernel),
			Bytes: int64(c.size), Total: int64(c.total)}
		if len(notes) != 1 || notes[0] != want {
			t.Errorf("%s: %+v, want %+v", name, notes, want)
		}
	}
}

// If the GPU's size is not known, a block that is not three quarters of the process's bytes is not called most of it.
func TestOneBlockOfManyIsNotPreallocated(t *testing.T) {
	tracker := New()
	s := attributiontest.New(tracker.Add, 1)
	for range 3 {
		s.Make(attributiontest.Kernel, event.OfDevice(0, event.Driver), 5*gib,
			s.Stack(attributiontest.Kernel, xlaPlugin, cell))
	}
	s.End()
	if notes := tracker.Report().GPUNotes; len(notes) != 0 {
		t.Errorf("%+v", notes)
	}
}

// PyTorch's blocks from a pool of the driver's are reported to be in driver; a target cannot fill memory with notes.
func TestBlocksOfTheDriversPool(t *testing.T) {
	tracker := New()
	s := attributiontest.New(tracker.Add, 1)
	stream, segment := s.Streamed()
	tracker.Add(&event.Change{
		Stream: stream, Segment: segment, PID: attributiontest.Kernel, Meter: event.OfDevice(3, event.Driver),
		Value: 512, Size: 512, Address: 4096, Block: true,
	})
	s.End()
	want := model.GPUNote{Kind: model.Unreported, Library: model.PyTorch, PID: int(attributiontest.Kernel), GPU: 3}
	if notes := tracker.Report().GPUNotes; len(notes) != 1 || notes[0] != want {
		t.Errorf("%+v, want %+v", notes, want)
	}

	var many windows.GPUNotes
	for i := range int32(3 * windows.MaxGPUOwners) {
		for stack := range uint64(3 * windows.MaxLarge) {
			many.AddBlock(&event.Change{PID: i, Meter: event.OfDevice(0, event.Driver), Value: gib, Size: gib,
				Stack: stack + 1})
		}
	}
	if len(many.ByOwner) != windows.MaxGPUOwners {
		t.Errorf("%d processes", len(many.ByOwner))
	}
	for _, owned := range many.ByOwner {
		if len(owned.Largest) != windows.MaxLarge {
			t.Fatalf("%d blocks", len(owned.Largest))
		}
	}
}

// TestSharedMemory: a GPU that has no memory of its own, or one address space with the processors, has a note, for a
// process that uses it.
func TestSharedMemory(t *testing.T) {
	for kind, gpus := range map[string][]event.GPU{
		model.SharedMemory: {{Index: 0, Shared: true}, {Index: 1, Shared: true}},
		model.Coherent:     {{Index: 0, Name: "NVIDIA GB200"}, {Index: 1, Name: "NVIDIA GH200 480GB"}},
		"":                 {{Index: 1, Name: "NVIDIA H200"}},
	} {
		tracker := New()
		s := attributiontest.New(tracker.Add, 1)
		s.Make(attributiontest.Kernel, event.OfDevice(1, event.Driver), 2<<20, s.Stack(attributiontest.Kernel, cell))
		tracker.Add(&event.Finish{Time: s.Now, Reason: "interrupted", GPUs: gpus})
		want := []model.GPUNote{{Kind: kind, PID: int(attributiontest.Kernel), GPU: 1}}
		if kind == "" {
			want = nil
		}
		if notes := tracker.Report().GPUNotes; !slices.Equal(notes, want) {
			t.Errorf("%+v, want %+v", notes, want)
		}
	}
}

// TestManagedMemory: the note has the highest sum of live managed memory; other memory, and a target with more blocks
// than there is room for, do not add to it.
func TestManagedMemory(t *testing.T) {
	tracker := New()
	s := attributiontest.New(tracker.Add, 1)
	direct, _ := event.ParseCaller("cuMemAllocManaged")
	runtime, _ := event.ParseCaller("cudaMallocManaged")
	value := event.Bytes(0)
	move := func(address uint64, size event.Bytes, caller event.Caller) {
		stream, segment := s.Streamed()
		value += size
		tracker.Add(&event.Change{Stream: stream, Segment: segment, PID: attributiontest.Kernel, Value: value,
			Meter: event.OfDevice(1, event.Driver), Size: size, Address: address, Caller: caller})
	}
	move(4096, 3<<20, direct)
	move(8<<20, 2<<20, runtime)
	move(16<<20, 9<<20, 0)
	move(8<<20, -2<<20, 0)
	move(8<<20, 1<<20, runtime)
	move(16<<20, -9<<20, 0)
	s.End()
	want := model.GPUNote{Kind: model.Managed, PID: int(attributiontest.Kernel), GPU: 1, Bytes: 5 << 20}
	if notes := tracker.Report().GPUNotes; len(notes) != 1 || notes[0] != want {
		t.Errorf("%+v, want %+v", notes, want)
	}

	var many windows.GPUNotes
	for n := range uint64(2 * windows.MaxManaged) {
		size := event.Bytes(math.MaxInt64)
		if n > 0 {
			size = 1
		}
		many.AddBlock(&event.Change{PID: 1, Meter: event.OfDevice(0, event.Driver), Size: size, Address: n + 1,
			Caller: direct})
	}
	if notes := many.List(nil, nil); len(notes) != 1 || notes[0].Bytes != math.MaxInt64 {
		t.Errorf("%+v", notes)
	}
}
