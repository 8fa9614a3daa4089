package attribution

import (
	"reflect"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// script builds events as the kernel would: values of one meter over time, cut by boundaries.
type script struct {
	events []event.Event
	number uint64
	stream uint64
	time   event.Nanoseconds
	inputs int64
	value  map[int32]event.Bytes
	high   map[int32]event.Bytes
	tree   event.Bytes // maximum since the last boundary
	order  []int32
	lose   func(stream uint64) bool
	held   []*event.Change // changes of the segment, sent before the boundary that ends it
}

const main = int32(100)

func newScript() *script {
	s := &script{value: map[int32]event.Bytes{}, high: map[int32]event.Bytes{}, inputs: 1}
	s.events = append(s.events, &event.Start{
		Host: event.Host{Name: "test", Kernel: "6.18", CPUs: 2, Memory: 1 << 30, Tracer: "test", WallNow: 1e18,
			MonoNow: 1},
		Processes: []event.ProcessInfo{{PID: main, Command: "python3", Python: "3.11.2", IPython: "8.5.0",
			Frontend: "ipykernel", Late: true, Inputs: 1}},
		Meters: []event.MeterSource{
			{Meter: event.Mapped, Source: "m", Exact: true}, {Meter: event.Resident, Source: "r", Exact: true},
			{Meter: event.ResidentAnon, Source: "r", Exact: true},
			{Meter: event.ResidentFile, Source: "r", Exact: true},
			{Meter: event.ResidentShmem, Source: "r", Exact: true}, {Meter: event.NumPy, Source: "n", Exact: true},
		},
	})
	s.born(main, 50)
	s.boundary(event.Attached, main)
	return s
}

func (s *script) born(pid int32, value event.Bytes) {
	s.order = append(s.order, pid)
	s.value[pid], s.high[pid] = value, value
	s.tree = max(s.tree, s.total())
}

func (s *script) total() (sum event.Bytes) {
	for _, pid := range s.order {
		sum += s.value[pid]
	}
	return sum
}

// to sets a process's memory to a value.
func (s *script) to(pid int32, value event.Bytes) {
	s.value[pid] = value
	s.high[pid] = max(s.high[pid], value)
	s.tree = max(s.tree, s.total())
	s.stream++
	s.held = append(s.held, &event.Change{Stream: s.stream, Segment: s.number + 1, PID: pid, Meter: event.Resident,
		Value: value})
}

func (s *script) boundary(kind event.BoundaryKind, pid int32, change ...func(*event.Boundary)) {
	s.number++
	s.time += 100_000
	for _, c := range s.held {
		if s.lose == nil || !s.lose(c.Stream) {
			s.events = append(s.events, c)
		}
	}
	s.held = nil
	b := &event.Boundary{
		Number: s.number, Segment: s.number, Time: s.time, Kind: kind, PID: pid, TID: pid, Stream: s.stream,
		Inputs: -1, CPUTime: s.time,
	}
	b.Value[event.Resident], b.High[event.Resident] = s.value[pid], s.high[pid]
	b.Tree[event.Resident], b.TreeHigh[event.Resident] = s.total(), s.tree
	for _, c := range change {
		c(b)
	}
	s.events = append(s.events, b)
	for _, other := range s.order {
		if other == pid {
			continue
		}
		r := &event.Reading{Number: s.number, PID: other}
		r.Value[event.Resident], r.High[event.Resident] = s.value[other], s.high[other]
		s.events = append(s.events, r)
	}
	for _, p := range s.order {
		s.high[p] = s.value[p]
	}
	s.tree = s.total()
}

func (s *script) openCell(cell uint64, stored bool) {
	if stored {
		s.inputs++
	}
	s.boundary(event.CellOpen, main, func(b *event.Boundary) { b.Cell, b.Inputs = cell, s.inputs })
}

func (s *script) closeCell(cell uint64, o event.Outcome) {
	s.boundary(event.CellClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = cell, o })
}

func (s *script) mark(kind event.BoundaryKind, name string) {
	s.boundary(kind, main, func(b *event.Boundary) { b.Experiment = name })
}

func (s *script) run(t *testing.T) *model.Report {
	t.Helper()
	s.events = append(s.events, &event.Finish{Reason: "interrupted"})
	tracker := New()
	for _, e := range s.events {
		tracker.Add(e)
	}
	r := tracker.Report()
	reporttest.Report(t, r)
	return r
}

func nth(t *testing.T, r *model.Report, kind string, n int) model.Window {
	t.Helper()
	for _, w := range r.Windows {
		if w.Kind == kind {
			if n == 0 {
				return w
			}
			n--
		}
	}
	t.Fatalf("no %s number %d", kind, n)
	return model.Window{}
}

func resident(w model.Window) [3]int64 {
	f := w.Meters["cpu.resident"]
	return [3]int64{f.Start, f.Peak, f.End}
}

func expect(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
