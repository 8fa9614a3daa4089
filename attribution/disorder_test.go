package attribution

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/model"
)

// TestRandomWindows compares each window's peak with the maximum over all values taken inside it.
func TestRandomWindows(t *testing.T) {
	t.Parallel()
	for seed := range attributiontest.Seeds(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		s := newScript()
		type span struct {
			name string
			peak event.Bytes
			open bool
		}
		var spans []*span
		see := func(v event.Bytes) {
			for _, sp := range spans {
				if sp.open {
					sp.peak = max(sp.peak, v)
				}
			}
		}
		for i := range 60 {
			switch rnd.IntN(4) {
			case 0:
				sp := &span{name: string(rune('A' + i)), peak: s.value[main], open: true}
				spans = append(spans, sp)
				s.mark(event.ExperimentBegin, sp.name)
			case 1:
				if i := slices.IndexFunc(spans, func(sp *span) bool { return sp.open }); i >= 0 && rnd.IntN(2) == 0 {
					spans[i].open = false
					s.mark(event.ExperimentEnd, spans[i].name)
				}
			default:
				v := event.Bytes(rnd.IntN(1000))
				s.to(main, v)
				see(v)
			}
		}
		s.boundary(event.Detached, main)
		r := s.run(t)
		for i, sp := range spans {
			w := nth(t, r, model.Experiment, i)
			if w.Name != sp.name || w.Meters["cpu.resident"].Peak != int64(sp.peak) {
				t.Fatalf("seed %d, window %s: peak %d, want %d", seed, sp.name, w.Meters["cpu.resident"].Peak, sp.peak)
			}
		}
		for _, p := range r.Certificate.Meters {
			if p.Agreed != p.Compared || p.Compared == 0 {
				t.Fatalf("seed %d: %+v", seed, p)
			}
		}
	}
}

// TestTooManyStatements: a cell that runs statements without end does not fill the memory, and the loss is reported.
func TestTooManyStatements(t *testing.T) {
	const most = 1000
	tracker := New()
	tracker.Limits.MostStatements = most
	for _, e := range newScript().events {
		tracker.Add(e)
	}
	tracker.Add(&event.Boundary{Number: 2, Segment: 2, Time: 5000, Kind: event.CellOpen, PID: main, Cell: 1, Inputs: 2})
	n := uint64(2)
	for range most + 10 {
		for _, kind := range []event.BoundaryKind{event.StatementOpen, event.StatementClose} {
			n++
			tracker.Add(&event.Boundary{Number: n, Segment: n, Time: 5000, Kind: kind, PID: main, Cell: 1})
		}
	}
	r := tracker.Report()
	if len(r.Windows) != most+2 || len(r.Certificate.Problems) != 1 {
		t.Errorf("%d windows, problems %q", len(r.Windows), r.Certificate.Problems)
	}
}

// Between a boundary and its readings there may be as many changes as the ring holds: the figures do not depend on it.
func TestChangesBeforeReadings(t *testing.T) {
	const child = int32(200)
	s := newScript()
	s.born(child, 0)
	s.boundary(event.ProcessStart, child, func(b *event.Boundary) { b.Parent = main })
	s.openCell(1, true)
	s.to(main, 9_000)
	s.to(main, 60)
	s.boundary(event.ProcessExit, child) // the main process's values are in its reading
	reading := s.events[len(s.events)-1]
	if _, ok := reading.(*event.Reading); !ok {
		t.Fatalf("no reading but %T", reading)
	}
	s.events = s.events[:len(s.events)-1]
	for range 100_000 {
		s.to(main, 60)
	}
	for _, c := range s.held {
		s.events = append(s.events, c)
	}
	s.held = nil
	s.events = append(s.events, reading)
	s.order = s.order[:1]
	s.closeCell(1, event.OutcomeOK)
	if f := nth(t, s.run(t), model.Cell, 0).Meters["cpu.resident"]; f.Peak != 9_000 || !f.Exact {
		t.Errorf("the cell is %+v, want a peak of 9000: its reading was lost", f)
	}
}

// TestProcessEventBeforeTheReadings: an event that describes a process may come between a boundary and the readings of
// others that belong to it.
func TestProcessEventBeforeTheReadings(t *testing.T) {
	const child = int32(200)
	s := newScript()
	s.openCell(1, true)
	s.born(child, 10)
	s.boundary(event.ProcessStart, child, func(b *event.Boundary) { b.Parent = main })
	s.to(main, 70)
	s.to(main, 50)
	s.value[child] = 0
	s.boundary(event.ProcessExit, child)
	exit := slices.IndexFunc(s.events, func(e event.Event) bool {
		b, ok := e.(*event.Boundary)
		return ok &&
			b.Kind == event.ProcessExit
	})
	s.events = slices.Insert(s.events, exit+1, []event.Event{
		&event.Ending{PID: child, Status: 3 << 8},
		&event.Limits{PID: main}, &event.CellSource{Cell: 1, Text: "work()"},
	}...)
	s.closeCell(1, event.OutcomeOK)
	r := s.run(t)
	cell := nth(t, r, model.Cell, 0)
	if f := cell.Meters["cpu.resident"]; f.Peak != 70 || !f.Exact || cell.Source != "work()" {
		t.Errorf("%q: %+v", cell.Source, f)
	}
	if e := r.Processes[1].Ending; e == nil || e.ExitStatus == nil || *e.ExitStatus != 3 {
		t.Errorf("%+v", e)
	}
}
