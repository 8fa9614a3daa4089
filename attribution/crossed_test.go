package attribution

import (
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

// A child's boundary reads the values of the kernel's process when that has drawn a later boundary of its own
// meanwhile. The maximum since then belongs to the window that opened there, not to the one before, whichever of the
// two records comes first.
func TestReadingBehindALaterBoundary(t *testing.T) {
	for _, c := range []struct {
		name   string
		passed bool // the kernel's boundary comes before the child's reading
	}{{"in its turn", false}, {"passed", true}} {
		t.Run(c.name, func(t *testing.T) {
			const child = int32(200)
			s := newScript()
			s.boundary(event.ProcessStart, child, func(b *event.Boundary) { b.Parent = main })
			s.openCell(1, true)
			first := s.number + 1 // the child's, of this segment; the kernel's own one is of the next
			exec := &event.Boundary{Number: first, Segment: first, Time: s.time + 100, Kind: event.ProcessExec,
				PID: child, TID: child, Inputs: -1, Stream: s.stream + 1}
			closes := &event.Boundary{Number: first + 1, Segment: first + 1, Time: s.time + 200, Kind: event.CellClose,
				PID: main, TID: main, Cell: 1, Inputs: -1, Outcome: event.OutcomeOK, Stream: s.stream + 1}
			closes.Value[event.Resident], closes.High[event.Resident] = 50, 60
			opens := &event.Boundary{Number: first + 2, Segment: first + 2, Time: s.time + 300, Kind: event.CellOpen,
				PID: main, TID: main, Cell: 2, Inputs: 3, Stream: s.stream + 1}
			opens.Value[event.Resident], opens.High[event.Resident] = 50, 50
			late := &event.Reading{Number: first, PID: main, Since: first + 3} // behind the second cell's begin
			late.Value[event.Resident], late.High[event.Resident] = 50, 900
			ends := &event.Boundary{Number: first + 3, Segment: first + 3, Time: s.time + 400, Kind: event.CellClose,
				PID: main, TID: main, Cell: 2, Inputs: -1, Outcome: event.OutcomeOK, Stream: s.stream + 2}
			ends.Value[event.Resident], ends.High[event.Resident] = 50, 50
			reached := &event.Change{Stream: s.stream + 2, Segment: first + 3, PID: main, Meter: event.Resident,
				Value: 900}
			s.stream += 2
			fell := &event.Change{Stream: s.stream - 1, Segment: first + 1, PID: main, Meter: event.Resident, Value: 60}
			if c.passed {
				s.events = append(s.events, exec, fell, closes, opens, late, reached, ends)
			} else {
				s.events = append(s.events, exec, late, fell, closes, opens, reached, ends)
			}
			s.number, s.inputs = first+3, 3
			s.boundary(event.Detached, main)
			r := s.run(t)
			for i, want := range []int64{60, 900} {
				if w := nth(t, r, model.Cell, i); w.Meters["cpu.resident"].Peak != want {
					t.Errorf("cell %d: peak %d, want %d", i+1, w.Meters["cpu.resident"].Peak, want)
				}
			}
			if p := proof(t, r, "cpu.resident"); p.Agreed != p.Compared || p.Compared == 0 {
				t.Errorf("%+v", p)
			}
		})
	}
}

// A boundary's reading of a process of its tree stays in that tree, though a boundary of another tree comes in between.
func TestReadingBehindAnotherTree(t *testing.T) {
	const child, other = int32(200), int32(300)
	s := newScript()
	s.boundary(event.ProcessStart, child, func(b *event.Boundary) { b.Parent = main })
	s.openCell(1, true)
	reading := &event.Reading{Number: s.number, PID: child, Since: s.number}
	reading.Value[event.Resident], reading.High[event.Resident] = 10, 700
	elsewhere := &event.Boundary{Number: s.number + 1, Segment: 1, Time: s.time + 10, Kind: event.Attached, Root: 1,
		PID: other, TID: other, Inputs: -1}
	elsewhere.Value[event.Resident], elsewhere.High[event.Resident] = 5, 5
	s.events = append(s.events, elsewhere, reading)
	s.number++
	s.closeCell(1, event.OutcomeOK)
	s.boundary(event.Detached, main)
	r := s.run(t)
	cell := nth(t, r, model.Cell, 0)
	found := false
	for _, p := range cell.Children {
		if p.PID == int(child) {
			found = true
			if p.Meters["cpu.resident"].Peak != 700 {
				t.Errorf("the child's peak: %d", p.Meters["cpu.resident"].Peak)
			}
		}
	}
	if !found {
		t.Errorf("the child is not in the cell: %+v", cell.Children)
	}
	for _, w := range r.Windows {
		for _, p := range w.Children {
			if w.PID == int(other) && p.PID == int(child) {
				t.Error("the child is in another tree")
			}
		}
	}
}

// Another process's boundary reads the values of a child just before that exits, on another CPU. The child's exit comes
// first, whether the reading comes right behind it or behind one more boundary. The child's highest value is in its own
// figures and in the cell's, and it has nothing at the end.
func TestReadingBehindAnEnd(t *testing.T) {
	for _, behind := range []int{0, 1} {
		for _, isForked := range []bool{true, false} {
			const child, other = int32(200), int32(300)
			s := newScript()
			s.openCell(1, true)
			s.boundary(event.ProcessStart, child, func(b *event.Boundary) { b.Parent = main })
			s.boundary(event.ProcessStart, other, func(b *event.Boundary) { b.Parent = main })
			if !isForked {
				s.boundary(event.ProcessExec, child)
			}
			s.number++ // the other child's exit
			first := &event.Boundary{Number: s.number, Segment: s.number, Time: s.time + 10, Kind: event.ProcessExit,
				PID: other, TID: other, Inputs: -1, Stream: s.stream}
			late := &event.Reading{Number: s.number, PID: child, Since: s.number}
			late.Value[event.Resident], late.High[event.Resident] = 10, 900
			s.number++
			end := &event.Boundary{Number: s.number, Segment: s.number, Time: s.time + 20, Kind: event.ProcessExit,
				PID: child, TID: child, Inputs: -1, Stream: s.stream}
			end.Value[event.Resident], end.High[event.Resident] = 10, 10
			s.events = append(s.events, first, end)
			if behind > 0 {
				s.closeCell(1, event.OutcomeOK)
			}
			s.events = append(s.events, late)
			if behind == 0 {
				s.closeCell(1, event.OutcomeOK)
			}
			s.boundary(event.Detached, main)
			r := s.run(t)
			for _, p := range r.Processes {
				if p.PID == int(child) && p.Meters["cpu.resident"].Peak != 900 {
					t.Errorf("behind %d, forked %t: the process's peak is %d, want 900", behind, isForked,
						p.Meters["cpu.resident"].Peak)
				}
			}
			for _, c := range nth(t, r, model.Cell, 0).Children {
				if c.PID == int(child) && (c.Meters["cpu.resident"].Peak != 900 || c.Meters["cpu.resident"].End != 0) {
					t.Errorf("behind %d, forked %t: in the cell %+v, want a peak of 900 and an end of 0", behind,
						isForked, c.Meters["cpu.resident"])
				}
			}
		}
	}
}

// A reading that comes after its boundary was settled, because nothing more was to be read for a moment, is not lost.
func TestReadingBehindAFlush(t *testing.T) {
	const child = int32(200)
	s := newScript()
	s.openCell(1, true)
	s.boundary(event.ProcessStart, child, func(b *event.Boundary) { b.Parent = main })
	tracker := New()
	for _, e := range s.events {
		tracker.Add(e)
	}
	tracker.Flush()
	late := &event.Reading{Number: s.number, PID: main, Since: s.number}
	late.Value[event.Resident], late.High[event.Resident] = 800, 800 // no change carries it: the meter rose
	tracker.Add(late)
	s.events = nil
	s.closeCell(1, event.OutcomeOK)
	s.boundary(event.Detached, main)
	for _, e := range append(s.events, &event.Finish{Reason: "interrupted"}) {
		tracker.Add(e)
	}
	tracker.Flush()
	r := tracker.Report()
	if w := nth(t, r, model.Cell, 0); w.Meters["cpu.resident"].Peak != 800 {
		t.Errorf("peak %d, want 800", w.Meters["cpu.resident"].Peak)
	}
	if p := proof(t, r, "cpu.resident"); p.Agreed != p.Compared || p.Compared == 0 {
		t.Errorf("%+v", p)
	}
}

func proof(t *testing.T, r *model.Report, id string) model.Proof {
	t.Helper()
	for _, p := range r.Certificate.Meters {
		if p.ID == id {
			return p
		}
	}
	t.Fatalf("no proof of %s", id)
	return model.Proof{}
}
