package attribution

import (
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// found adds a change from a search: a block that came, or one that went.
func (s *blockModel) found(address uint64, size event.Bytes) {
	s.change(address, 0, size)
	s.held[len(s.held)-1].Found = true
}

// pause draws a boundary of NumPy's probes.
func (s *blockModel) pause(kind event.BoundaryKind) {
	s.boundary(kind, main, func(b *event.Boundary) {
		b.Value[s.meter], b.High[s.meter], b.Tree[s.meter], b.TreeHigh[s.meter] = s.value, s.high, s.value, s.high
	})
	s.high = s.value
}

// searched is a session in which a search finds, while the third cell runs, an array that came in a pause from the
// first cell to the second, and one that went. Then it finds one that came in a pause within the fourth.
func searched() *blockModel {
	s := newBlocks()
	s.stack(1, event.Frame{Function: "f", File: "lib.py", Line: 1})
	s.cut(event.CellOpen, 1)
	s.take(1, 1000)
	goes := s.take(1, 500)
	s.pause(event.MeterShed)
	s.cut(event.CellClose, 1)
	s.cut(event.CellOpen, 2)
	s.cut(event.CellClose, 2)
	s.cut(event.CellOpen, 3)
	s.take(1, 1)
	s.pause(event.MeterBack)
	s.take(1, 100)
	s.found(0x900000, 7000)
	s.found(goes, -500)
	s.take(1, 10)
	s.pause(event.MeterSettled)
	s.cut(event.CellClose, 3)
	s.cut(event.CellOpen, 4)
	s.take(1, 3)
	s.pause(event.MeterShed)
	s.pause(event.MeterBack)
	s.found(0xa00000, 4000)
	s.pause(event.MeterSettled)
	s.cut(event.CellClose, 4)
	s.boundary(event.Detached, main)
	return s
}

// madeBy returns the bytes that the stacks of a window allocated, freed and held at the peak, by innermost function.
func madeBy(w model.Window) (made, freed, peak map[string]int64) {
	made, freed, peak = map[string]int64{}, map[string]int64{}, map[string]int64{}
	for _, a := range w.Allocations {
		name := "nobody"
		if len(a.Stack) > 0 {
			name = a.Stack[0].Function
		}
		made[name] += a.Allocated
		freed[name] += a.Freed
		peak[name] += a.AtPeak
	}
	return made, freed, peak
}

// TestFoundLater: an array that a search finds belongs to no later cell, nor does one that it finds to have gone. If
// the whole pause was in a cell, it belongs to that cell.
func TestFoundLater(t *testing.T) {
	r := searched().run(t)
	between := words.FoundLater("cpu.numpy", words.Cell(1, -1, false), words.Cell(3, -1, false))
	within := words.FoundLater("cpu.numpy", words.Cell(4, -1, false), words.Cell(4, -1, false))
	cell := func(n int) model.Window { return nth(t, r, "cell", n) }
	for _, one := range r.Windows {
		for _, a := range one.Allocations {
			for _, f := range a.Stack {
				if strings.HasPrefix(f.Function, "(found") && f.Function != between && f.Function != within {
					t.Errorf("a window has %q", f.Function)
				}
			}
		}
	}
	made, freed, peak := madeBy(cell(2))
	if made["f"] != 111 || made["nobody"] != 0 || made[between] != 0 || peak[between] != 7000 || freed["f"] != 0 {
		t.Errorf("the third cell made %v, freed %v, and had %v", made, freed, peak)
	}
	made, _, peak = madeBy(cell(3))
	if made["f"] != 3 || made[within] != 4000 || made[between] != 0 || peak[between] != 7000 {
		t.Errorf("the fourth cell made %v, and had %v", made, peak)
	}
	made, freed, _ = madeBy(nth(t, r, "session", 0))
	if made["f"] != 1614 || made[between] != 7000 || made[within] != 4000 || freed["f"] != 500 {
		t.Errorf("the session made %v, and freed %v", made, freed)
	}
}

// TestFoundIsNoCells: an audit counts arrays that a search finds for no cell, and arrays that it finds to have gone as
// freed by none.
func TestFoundIsNoCells(t *testing.T) {
	s := searched()
	a := NewAuditor()
	for _, e := range append(s.events, &event.Finish{Reason: "interrupted"}) {
		a.Add(e)
	}
	found := 0
	out := a.Audit(1)
	for _, l := range out.Live {
		if len(l.Stack) > 0 && strings.HasPrefix(l.Stack[0].Function, "(found later") {
			found += int(l.Bytes)
			if len(l.Executions) > 0 {
				t.Errorf("what was found is of %v", l.Executions)
			}
		}
	}
	if found != 11000 {
		t.Errorf("%d bytes were found, of %+v", found, out.Live)
	}
	for _, v := range out.Verdicts {
		if v.Kind == model.FreedLate {
			t.Errorf("%+v", v)
		}
	}
}
