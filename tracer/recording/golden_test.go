package recording

import (
	"os"
	"testing"

	"ipytracer/tracer/event"
)

// session is a short session with one event of every type. Its values are literal: a recording made by an earlier
// tracer must go on giving exactly these, whatever fields events gain.
func session() []event.Event {
	process := event.ProcessInfo{PID: 4242, Command: "python3 -m ipykernel_launcher", Python: "3.14.2", IPython: "9.1.0", Frontend: "ipykernel", Late: true, Inputs: 5}
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
			Number: 1, Time: 101_000_000_000, Kind: event.CellOpen, PID: 4242, TID: 4242, Cell: 1, Segment: 0, Stream: 0,
			Inputs: 2, Value: event.Readings{event.Mapped: 1 << 30, event.NumPy: 0}, High: event.Readings{event.Mapped: 1 << 30},
			Tree: event.Readings{event.Mapped: 2 << 30}, TreeHigh: event.Readings{event.Mapped: 3 << 30}, Text: "/tmp/ipykernel_4242/1.py",
		},
		&event.CellSource{Cell: 1, PID: 4242, Text: "x = np.zeros(1000)\n", Truncated: false},
		&event.Change{Stream: 1, Segment: 1, Time: 101_000_001_000, PID: 4242, TID: 4242, Meter: event.NumPy, Value: 8000, Size: 8000, Address: 0x7f00_1234_5670},
		&event.Boundary{
			Number: 2, Time: 101_500_000_000, Kind: event.CellClose, PID: 4242, TID: 4242, Cell: 1, Segment: 1, Stream: 1,
			Outcome: event.OutcomeOK, CPUTime: 900_000_000,
			Value: event.Readings{event.Mapped: 1<<30 + 8192, event.NumPy: 8000}, High: event.Readings{event.Mapped: 1<<30 + 12288, event.NumPy: 8000},
		},
		&event.Reading{Number: 2, PID: 4250, Value: event.Readings{event.Mapped: 4096}, High: event.Readings{event.Mapped: 8192}},
		&event.Finish{
			Time: 102_000_000_000, Reason: "interrupted", Made: 1, Delivered: 1, Lost: []event.Loss{{Reason: "ring full", Count: 3}},
			Late: []string{"libtorch.so"}, Probes: []event.ProbeUse{{Probe: "numpy", Site: "PyTraceMalloc_Track+7", Hits: 12}}, Problems: []string{"none"},
		},
	}
}

const goldenPath = "../../testdata/recording/format1.arrows"

// TestGolden reads a recording that is in the repository. It is made anew only when the format's number changes:
// UPDATE_GOLDEN=1 go test ./tracer/recording -run Golden
func TestGolden(t *testing.T) {
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(goldenPath, record(t, session(), 0), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile(goldenPath)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, readAll(t, mustOpen(t, file)), session())
}
