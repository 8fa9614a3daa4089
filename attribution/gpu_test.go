package attribution

import (
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

const (
	driver   = event.CPUMeters + event.Meter(event.Driver)
	active   = event.CPUMeters + event.Meter(event.Active)
	reserved = event.CPUMeters + event.Meter(event.Reserved)
)

// change adds a change of a meter to the segment.
func (s *script) change(m event.Meter, value event.Bytes, learned bool) {
	s.stream++
	s.held = append(s.held, &event.Change{Stream: s.stream, Segment: s.number + 1, PID: main, Meter: m, Value: value,
		Learned: learned})
}

func gpu(m event.Meter, value, high event.Bytes) func(*event.Boundary) {
	return func(b *event.Boundary) {
		b.Value[m], b.High[m], b.Tree[m], b.TreeHigh[m] = value, high, value, high
	}
}

func (s *script) cell(kind event.BoundaryKind, cell uint64, more ...func(*event.Boundary)) {
	more = append(more, func(b *event.Boundary) { b.Cell = cell })
	s.boundary(kind, main, more...)
}

func readingsOf(w model.Window, meter string) [3]int64 {
	f := w.Meters[meter]
	return [3]int64{f.Start, f.Peak, f.End}
}

// A session without a GPU reports nothing of GPUs; one with a GPU reports its meters for each window.
func TestGPUMetersAppearOnceUsed(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.closeCell(1, event.OutcomeOK)
	if r := s.run(t); len(nth(t, r, model.Cell, 0).Meters) != 6 || len(r.Certificate.Meters) != 6 {
		t.Errorf("a session without GPU: %v", nth(t, r, model.Cell, 0).Meters)
	}

	s = newScript()
	s.openCell(1, true)
	s.closeCell(1, event.OutcomeOK)
	s.openCell(2, true)
	s.change(driver, 700, false)
	s.change(driver, 300, false)
	s.cell(event.CellClose, 2, gpu(driver, 300, 700))
	r := s.run(t)
	expect(t, "the cell before", readingsOf(nth(t, r, model.Cell, 0), "gpu.0.driver"), [3]int64{0, 0, 0})
	expect(t, "the cell", readingsOf(nth(t, r, model.Cell, 1), "gpu.0.driver"), [3]int64{0, 700, 300})
	if _, there := nth(t, r, model.Cell, 1).Meters["gpu.0.active"]; there {
		t.Error("PyTorch was not heard of")
	}
	for _, p := range r.Certificate.Meters {
		if p.Agreed != p.Compared || p.Compared == 0 {
			t.Errorf("%+v", p)
		}
	}
}

// PyTorch's totals are known from its first report after the attach on: open windows began with the value before that
// report; for windows that are over it is not known.
func TestTotalsLearnedLate(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.closeCell(1, event.OutcomeOK)
	s.openCell(2, true)
	s.change(active, 1000, true)
	s.change(active, 1200, false)
	s.cell(event.CellClose, 2, gpu(active, 1100, 1200))
	r := s.run(t)
	if f, there := nth(t, r, model.Cell, 0).Meters["gpu.0.active"]; there {
		t.Errorf("a cell before the first report has %+v", f)
	}
	expect(t, "the cell of the first report", readingsOf(nth(t, r, model.Cell, 1), "gpu.0.active"),
		[3]int64{1000, 1200, 1100})
	expect(t, "the session", readingsOf(nth(t, r, model.Session, 0), "gpu.0.active"), [3]int64{1000, 1200, 1100})
}

// The timeline has them from the beginning, too, wherever the earlier boundary comes among the records of the segment.
func TestTimelineOfTotalsLearnedLate(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	opens := s.events[len(s.events)-1]
	s.events = s.events[:len(s.events)-1]
	s.change(active, 1000, true)
	s.change(active, 1200, false)
	for _, c := range s.held { // records of another buffer may be read first
		s.events = append(s.events, c)
	}
	s.events, s.held = append(s.events, opens), nil
	s.cell(event.CellClose, 1, gpu(active, 1100, 1200))
	r := s.run(t)
	expect(t, "the cell", readingsOf(nth(t, r, model.Cell, 0), "gpu.0.active"), [3]int64{1000, 1200, 1100})
	reporttest.Timeline(t, r)
}

func TestRefusals(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	for asked := range event.Bytes(3) {
		s.stream++
		s.events = append(s.events, &event.Refusal{Stream: s.stream, Segment: s.number + 1, PID: main, Meter: driver,
			Asked: 100 + asked, Held: 7, Detail: 2}, &event.Refusal{Stream: s.stream + 1, Segment: s.number + 1,
			PID: main, Meter: active, Asked: 100 + asked, Held: 5, Detail: 400 + uint64(asked)})
		s.stream++
	}
	s.closeCell(1, event.OutcomeOK)
	s.openCell(2, true)
	s.closeCell(2, event.OutcomeOK)
	r := s.run(t)
	expect(t, "the cell", nth(t, r, model.Cell, 0).Refused,
		[]model.Refusal{{Meter: "gpu.0.driver", Asked: 102, Held: 7, Count: 3},
			{Meter: "gpu.0.active", Asked: 102, Held: 5, Reserved: 402, Count: 3}})
	if innocent := nth(t, r, model.Cell, 1).Refused; innocent != nil {
		t.Errorf("the next cell: %+v", innocent)
	}
	if !r.Certificate.Complete {
		t.Error("refusals have numbers of the stream: nothing is missing")
	}
}

// A request that a limit refuses, to a process or to a child that inherits the limit, is reported with the limit; a
// refusal of another meter is not.
func TestRefusalsByALimit(t *testing.T) {
	s := newScript()
	start := s.events[0].(*event.Start)
	start.Processes[0].Limit, start.Processes[0].LimitBy = 1000, event.LimitSession
	s.openCell(1, true)
	s.born(200, 0)
	s.boundary(event.ProcessStart, 200, func(b *event.Boundary) { b.Parent = main })
	refused := func(pid int32, meter event.Meter, asked event.Bytes) {
		s.stream++
		s.events = append(s.events, &event.Refusal{Stream: s.stream, Segment: s.number + 1, PID: pid, Meter: meter,
			Asked: asked, Held: 7})
	}
	refused(main, event.Mapped, 5000)
	refused(200, event.Mapped, 9000)
	refused(main, driver, 3)
	s.closeCell(1, event.OutcomeError)
	r := s.run(t)
	expect(t, "the cell", nth(t, r, model.Cell, 0).Refused, []model.Refusal{
		{Meter: "cpu.mapped", Asked: 9000, Held: 7, Limit: 1000, Count: 2},
		{Meter: "gpu.0.driver", Asked: 3, Held: 7, Count: 1},
	})
	expect(t, "the process", r.Processes[0].SoftLimit, &model.SoftLimit{Bytes: 1000, By: "session"})
}

// Memory from before the attach is freed: its size is not known, so the figures that depend on it are not exact.
func TestUnknownDeviceFrees(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.cell(event.CellClose, 1, gpu(driver, 10, 10))
	s.openCell(2, true)
	s.cell(event.CellClose, 2, gpu(driver, 10, 10), func(b *event.Boundary) { b.Unknown[event.UnknownDevice] = 1 })
	r := s.run(t)
	if f := nth(t, r, model.Cell, 0).Meters["gpu.0.driver"]; !f.Exact {
		t.Errorf("the cell before: %+v", f)
	}
	if f := nth(t, r, model.Cell, 1).Meters["gpu.0.driver"]; f.Exact || f.Bound != nil {
		t.Errorf("the cell with the free: %+v", f)
	}
}

func TestForeignMemory(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	for i, closed := range []bool{false, false, true} {
		s.stream++
		s.events = append(s.events, &event.Foreign{Stream: s.stream, Segment: s.number + 1, PID: main, Meter: driver,
			Open: int64(i%2 + 1), Closed: closed})
	}
	s.closeCell(1, event.OutcomeOK)
	r := s.run(t)
	expect(t, "the cell", nth(t, r, model.Cell, 0).Foreign, &model.Foreign{Opened: 2, Closed: 1, Open: 1})
	if f := nth(t, r, model.Cell, 0).Meters["gpu.0.driver"]; f.Peak != 0 {
		t.Errorf("it counts where it was made, not here: %+v", f)
	}
}

// moved adds a change by which all memory of the driver went to the host, or came back.
func (s *script) moved(caller event.Caller, value, by event.Bytes) {
	s.stream++
	s.held = append(s.held, &event.Change{Stream: s.stream, Segment: s.number + 1, PID: main, Meter: driver,
		Value: value, Size: by, Caller: caller})
}

// Windows report that memory was on the host: those in which it went and came, and those that began meanwhile. It is no
// block of any stack.
func TestSuspendedWindows(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.stream++
	s.held = append(s.held, &event.Change{Stream: s.stream, Segment: s.number + 1, PID: main, Meter: driver, Value: 700,
		Size: 700, Address: 4096, Stack: 0})
	s.cell(event.CellClose, 1, gpu(driver, 700, 700))
	s.cell(event.CellOpen, 2, gpu(driver, 700, 700))
	s.moved(event.MovedOut, 0, -700)
	s.cell(event.CellClose, 2, gpu(driver, 0, 700))
	s.cell(event.CellOpen, 3, gpu(driver, 0, 0))
	s.cell(event.CellClose, 3, gpu(driver, 0, 0))
	s.cell(event.CellOpen, 4, gpu(driver, 0, 0))
	s.moved(event.MovedBack, 700, 700)
	s.cell(event.CellClose, 4, gpu(driver, 700, 700))
	s.cell(event.CellOpen, 5, gpu(driver, 700, 700))
	s.moved(event.MovedOut, 0, -700)
	s.moved(event.MovedBack, 700, 700)
	s.cell(event.CellClose, 5, gpu(driver, 700, 700))
	s.cell(event.CellOpen, 6, gpu(driver, 700, 700))
	s.cell(event.CellClose, 6, gpu(driver, 700, 700))
	r := s.run(t)
	for i, want := range []*model.Suspended{
		nil, {Out: 1, Bytes: 700}, {Away: true}, {Back: 1, Bytes: 700, Away: true}, {Out: 1, Back: 1, Bytes: 700}, nil,
	} {
		w := nth(t, r, model.Cell, i)
		if (w.Suspended == nil) != (want == nil) || want != nil && *w.Suspended != *want ||
			strings.Contains(w.Note, "host") != (want != nil) {
			t.Errorf("cell %d: %+v, want %+v; %q", i+1, w.Suspended, want, w.Note)
		}
	}
	last := nth(t, r, model.Cell, 5)
	for _, a := range last.Allocations {
		if a.Meter == "gpu.0.driver" && a.AtPeak != 700 {
			t.Errorf("%+v", a)
		}
	}
}
