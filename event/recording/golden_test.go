package recording

import (
	"fmt"
	"os"
	"testing"

	"ipytracer/event"
)

// session returns a short session with one event of every type. Its values are literal: a recording made by an earlier
// tracer must go on giving exactly these, whatever fields events gain.
func session() []event.Event {
	process := event.ProcessInfo{
		PID: 4242, Command: "python3 -m ipykernel_launcher", Python: "3.14.2", IPython: "9.1.0", Frontend: "ipykernel",
		Late: true, Inputs: 5,
	}
	return []event.Event{
		&event.Start{
			Host: event.Host{
				Name: "lab", Kernel: "7.0.1", CPUs: 8, Memory: 16 << 30, Tracer: "0.1.0", BootID: "2f7c",
				WallNow: 1_790_000_000_000_000_000, MonoNow: 100_000_000_000,
			},
			Processes: []event.ProcessInfo{process},
			Meters: []event.MeterSource{
				{Meter: event.Mapped, Source: "mm->data_vm", Exact: true},
				{Meter: event.Resident, Source: "rss_stat", Bound: 65536},
				{Meter: event.NumPy, Absent: true, Bound: -1},
			},
			Command: []string{"jupyter", "lab"},
		},
		&event.Process{ProcessInfo: process},
		&event.Boundary{
			Number: 1, Time: 101_000_000_000, Kind: event.CellOpen, PID: 4242, TID: 4242, Cell: 1, Segment: 0,
			Stream: 0, Inputs: 2, Value: event.Readings{event.Mapped: 1 << 30, event.NumPy: 0},
			High: event.Readings{event.Mapped: 1 << 30},
			Tree: event.Readings{event.Mapped: 2 << 30}, TreeHigh: event.Readings{event.Mapped: 3 << 30},
			File: "/tmp/ipykernel_4242/1.py",
		},
		&event.CellSource{Cell: 1, PID: 4242, Text: "x = np.zeros(1000)\n", Truncated: false},
		&event.Change{
			Stream: 1, Segment: 1, Time: 101_000_001_000, PID: 4242, TID: 4242, Meter: event.NumPy, Value: 8000,
			Size: 8000, Address: 0x7f00_1234_5670,
		},
		&event.Boundary{
			Number: 2, Time: 101_500_000_000, Kind: event.CellClose, PID: 4242, TID: 4242, Cell: 1, Segment: 1,
			Stream: 1, Outcome: event.OutcomeOK, CPUTime: 900_000_000,
			Value: event.Readings{event.Mapped: 1<<30 + 8192, event.NumPy: 8000},
			High:  event.Readings{event.Mapped: 1<<30 + 12288, event.NumPy: 8000},
		},
		&event.Reading{
			Number: 2, PID: 4250, Value: event.Readings{event.Mapped: 4096}, High: event.Readings{event.Mapped: 8192},
		},
		&event.Finish{
			Time: 102_000_000_000, Reason: "interrupted", Made: 1, Delivered: 1,
			Lost:     []event.Loss{{Reason: "ring full", Count: 3}},
			Late:     []string{"libtorch.so"},
			Probes:   []event.ProbeUse{{Probe: "numpy", Site: "PyTraceMalloc_Track+7", Hits: 12}},
			Problems: []string{"none"},
		},
	}
}

// frees returns that many frees of one kind.
func frees(kind event.UnknownKind, n uint64, slack event.Bytes) (f event.Frees) {
	f.Unknown[kind], f.Slack[kind] = n, slack
	return f
}

// gpuSession returns the additions of format 2.
func gpuSession() []event.Event {
	const (
		driver = event.CPUMeters + event.Meter(event.Driver) // of GPU 0
		active = event.CPUMeters + event.Meter(event.Active)
		second = event.CPUMeters + event.DeviceMeters + event.Meter(event.Reserved) // of GPU 1
	)
	all := session()
	finish := *all[len(all)-1].(*event.Finish)
	finish.GPUs = []event.GPU{
		{Index: 1, UUID: "GPU-8932f937", PCIBusID: "00000000:0F:00.0", Name: "NVIDIA H200", Memory: 140 << 30},
	}
	return append(all[:len(all)-1],
		&event.Change{
			Stream: 2, Segment: 2, Time: 101_600_000_000, PID: 4242, TID: 4243, Meter: active, Value: 512,
			Learned: true,
		},
		&event.Refusal{
			Stream: 3, Segment: 2, Time: 101_700_000_000, PID: 4242, TID: 4242, Meter: driver, Asked: 1 << 40,
			Held: 2 << 20, Detail: 2, Caller: 1,
		},
		&event.Foreign{
			Stream: 4, Segment: 2, Time: 101_750_000_000, PID: 4242, TID: 4242, Meter: second, Open: 1, Closed: true,
			Address: 0x4000,
		},
		&event.Boundary{
			Number: 3, Time: 101_800_000_000, Kind: event.CellClose, PID: 4242, TID: 4242, Cell: 2, Segment: 2,
			Stream: 4, Frees: frees(event.UnknownDevice, 4, 0),
			Value:    event.Readings{event.Pinned: 4096, driver: 2 << 20, second: 20 << 20},
			High:     event.Readings{driver: 8 << 30, second: 20 << 20},
			Tree:     event.Readings{driver: 2 << 20, second: 40 << 20},
			TreeHigh: event.Readings{driver: 8 << 30, second: 40 << 20},
		},
		&event.Reading{
			Number: 3, PID: 4250, Value: event.Readings{second: 20 << 20}, High: event.Readings{second: 20 << 20},
		},
		&finish)
}

// stackSession returns the additions of format 3.
func stackSession() []event.Event {
	all := gpuSession()
	return append(all[:len(all)-1],
		&event.Stack{Number: 1 << 63, PID: 4242, More: true, Frames: []event.Frame{
			{Function: "load.<locals>.<listcomp>", File: "/home/ann/häuser.py", Line: 17},
			{Function: "<module>", File: "/tmp/ipykernel_4242/1.py", Line: 2},
		}},
		&event.Change{
			Stream: 5, Segment: 3, Time: 101_900_000_000, PID: 4242, TID: 4242, Meter: event.NumPy, Value: 16000,
			Size: 8000, Address: 0x7f00_1234_8000, Stack: 1 << 63,
		},
		all[len(all)-1])
}

// nativeSession returns the additions of format 4.
func nativeSession() []event.Event {
	all := stackSession()
	return append(all[:len(all)-1],
		&event.Stack{Number: 7, PID: 4242, Frames: []event.Frame{
			{Function: "at::native::fill", File: "/src/Fill.cpp", Line: 33, Native: true, Module: "libtorch_cpu.so"},
			{Function: "?", Native: true}, {Function: "<module>", File: "/tmp/ipykernel_4242/1.py", Line: 2},
		}},
		&event.Holders{
			Time: 101_950_000_000, Root: 1, PID: 4242, Complete: true, Objects: 123_456, Holders: []event.Holder{
				{
					Address: 0x7f00_1234_5670, Kind: event.HeldByVariable, Path: "cache['größe'][3].weight",
					Type: "numpy.ndarray", References: 2,
				},
				{
					Address: 0x7f00_1234_8000, Kind: event.HeldByTraceback, Path: "batch", Type: "Tensor",
					References: 1, Function: "step", File: "/tmp/1.py", Line: 3,
				},
				{
					Address: 1 << 63, Kind: event.HeldByOutput, Path: "Out[7]", Type: "numpy.ndarray", References: 3,
					Output: 7,
				},
				{Address: 0x7f00_2000_0000, Kind: event.HeldByNone},
			},
		},
		&event.Change{
			Stream: 6, Segment: 3, Time: 101_910_000_000, PID: 4242, TID: 4242, Meter: event.Mapped, Value: 9 << 20,
			Size: 1 << 20, Address: 0x7f00_2000_0000, Stack: 1 << 63, Block: true,
		},
		&event.Change{
			Stream: 7, Segment: 3, Time: 101_920_000_000, PID: 4242, TID: 4242, Meter: event.Heap, Value: 100,
			Size: -24, Address: 0x5500_1234, Block: true,
		},
		&event.Boundary{
			Number: 4, Time: 102_000_000_000, Kind: event.CellOpen, PID: 4242, TID: 4242, Cell: 3, Segment: 3,
			Stream: 7, Frees: frees(event.UnknownHeap, 12, 4096),
			Value: event.Readings{event.Heap: 100}, High: event.Readings{event.Heap: 124},
			Tree: event.Readings{event.Heap: 100}, TreeHigh: event.Readings{event.Heap: 124},
		},
		all[len(all)-1])
}

// laterSession returns the additions of formats behind 6: meters, each a block that was freed, and a boundary.
func laterSession(format int) []event.Event {
	all := endingSession()
	finish := all[len(all)-1]
	all = all[:len(all)-1]
	for _, f := range event.Meters() {
		if f.Format <= formatOfRows || f.Format > format {
			continue
		}
		n := uint64(f.Format) + 2
		all = append(all, &event.Change{
			Stream: n, Segment: n, Time: 103_000_000_000, PID: 4242, TID: 4242, Meter: f.Meter, Value: 4096, Size: 4096,
			Address: 0x7f00_4000_0000, Block: true,
		})
		b := &event.Boundary{
			Number: n, Time: 103_100_000_000, Kind: event.CellOpen, PID: 4242, TID: 4242, Cell: n, Segment: n,
			Stream: n,
		}
		b.Value[f.Meter], b.High[f.Meter], b.Tree[f.Meter], b.TreeHigh[f.Meter] = 4096, 8192, 4096, 8192
		for _, kind := range f.Unknown {
			b.Frees = frees(kind, 5, 640)
		}
		all = append(all, b)
	}
	return append(all, finish)
}

// endingSession returns the additions of format 6.
func endingSession() []event.Event {
	all := torchSession()
	limit := event.Limit{
		Kind: event.LimitCgroup, Path: "/docker/größe", Bytes: 600 << 20, Used: 599 << 20, Highest: 600 << 20,
	}
	return append(all[:len(all)-1],
		&event.Boundary{
			Number: 8, Time: 102_700_000_000, Kind: event.CellClose, PID: 4242, TID: 4242, Cell: 4, Segment: 7,
			Stream: 8, Outcome: event.OutcomeError, Exception: "MemoryError",
			Value: event.Readings{event.Heap: 100}, High: event.Readings{event.Heap: 900},
			Tree: event.Readings{event.Heap: 100}, TreeHigh: event.Readings{event.Heap: 900},
		},
		&event.Limits{
			Time: 102_800_000_000, Root: 1, PID: 4242,
			Limits: []event.Limit{limit, {Kind: event.LimitMachine, Bytes: 24 << 30, Used: 2 << 30}},
		},
		&event.Ending{
			Time: 102_900_000_000, Root: 1, PID: 4242, Status: 9, OutOfMemory: true, Limit: limit, Likely: true,
		},
		&event.Ending{Time: 102_950_000_000, Root: 1, PID: 4243, Status: 3 << 8},
		all[len(all)-1])
}

// torchSession returns the additions of format 5.
func torchSession() []event.Event {
	all := nativeSession()
	return append(all[:len(all)-1],
		&event.Change{
			Stream: 8, Segment: 4, Time: 102_100_000_000, PID: 4242, TID: 4244, Meter: event.Torch, Value: 4096,
			Size: 4096, Address: 0x7f00_3000_0040, Stack: 1 << 63,
		},
		&event.Boundary{
			Number: 5, Time: 102_200_000_000, Kind: event.CellClose, PID: 4242, TID: 4242, Cell: 3, Segment: 4,
			Stream: 8, Frees: frees(event.UnknownTorch, 3, 1<<20),
			Value: event.Readings{event.Torch: 4096}, High: event.Readings{event.Torch: 4096},
			Tree: event.Readings{event.Torch: 4096}, TreeHigh: event.Readings{event.Torch: 8192},
		},
		&event.Boundary{
			Number: 6, Time: 102_300_000_000, Kind: event.CellResult, PID: 4242, TID: 4242, Cell: 3, Segment: 5,
			Stream: 8, Outcome: event.OutcomeError,
			Value: event.Readings{event.Heap: 100}, High: event.Readings{event.Heap: 124},
			Tree: event.Readings{event.Heap: 100}, TreeHigh: event.Readings{event.Heap: 124},
		},
		&event.Boundary{
			Number: 7, Time: 102_400_000_000, Kind: event.CellClose, PID: 4242, TID: 4242, Cell: 3, Segment: 6,
			Stream: 8, Outcome: event.OutcomeMissed,
			Value: event.Readings{event.Heap: 100}, High: event.Readings{event.Heap: 900},
			Tree: event.Readings{event.Heap: 100}, TreeHigh: event.Readings{event.Heap: 900},
		},
		&event.Variables{
			Time: 102_500_000_000, Root: 1, PID: 4242, Complete: true, Objects: 123_456, Total: 1 << 30, Unlisted: 3,
			Rest: 96, Variables: []event.Variable{
				{
					Name: "größe", Also: []string{"Out[7]"}, Kind: event.HeldByVariable, Type: "numpy.ndarray",
					Shape: []int64{300, 400}, DType: "float64", Length: 300,
					Bytes: 960_144, Reaches: 960_144, Exact: true, Block: 0x7f00_1234_8000, Size: 960_144, Array: true,
				},
				{Name: "locals of step()", Kind: event.HeldByThread, Length: -1, Device: 1 << 20},
			},
		},
		&event.Residence{
			Time: 102_600_000_000, Root: 1, PID: 4242, Total: 9 << 20, Trim: 1 << 20, Complete: true,
			Parts: []event.ResidencePart{
				{Kind: "malloc", Bytes: 8 << 20}, {Kind: "other", Bytes: 1 << 20},
			},
		},
		all[len(all)-1])
}

// TestGolden reads recordings that are in the repository. Only the newest may be made anew, and only when the format's
// number changes: UPDATE_GOLDEN=1 go test ./tracer/recording -run Golden
func TestGolden(t *testing.T) {
	sessions := map[int][]event.Event{
		1: session(), 2: gpuSession(), 3: stackSession(), 4: nativeSession(), 5: torchSession(), 6: endingSession(),
	}
	for format := formatOfRows + 1; format <= Format; format++ {
		sessions[format] = laterSession(format)
	}
	for format, events := range sessions {
		path := fmt.Sprintf("../../testdata/recording/format%d.arrows", format)
		if format == Format && os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(path, record(t, events, 0), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, readAll(t, mustOpen(t, file)), events)
	}
}
