package attribution

import (
	"reflect"
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

// TestHeldParts: each block of a line is in the part of the names that hold it, in one part only. Blocks that no name
// holds are in none, and neither are those of ranges that say nothing.
func TestHeldParts(t *testing.T) {
	s := newBlocks()
	s.stack(1, event.Frame{Function: "f", File: "lib.py", Line: 1})
	s.cut(event.CellOpen, 1)
	shared := s.take(1, 1000)
	s.take(1, 300) // nobody's
	alone, waits := s.take(1, 200), s.take(1, 100)
	module := s.take(1, 70)
	s.cut(event.CellClose, 1)
	e := &event.Variables{PID: main, Complete: true, Ranged: true,
		Variables: []event.Variable{{Name: "a"}, {Name: "b"},
			{Name: "lib.x", Kind: event.HeldByModule, Block: module, Array: true, Bytes: 70}},
		Owners: []event.Owner{{Variable: 0}, {Variable: 1}, {Variable: -1, Kind: event.HeldByCycle}},
		Shares: []event.Share{{Owners: []int32{0, 1}}, {Owners: []int32{0}}, {Owners: []int32{1, 2}},
			{Owners: []int32{9}}},
		Ranges: []event.HeldRange{{Address: shared, Size: 1000}, {Address: alone, Size: 200, Share: 1},
			{Address: waits, Size: 100, Share: 2}, {Address: waits + 1<<40, Size: 100, Share: 7}},
	}
	s.events = append(s.events, e)
	s.boundary(event.Detached, main)
	heldOf := func() []model.HeldPart {
		tracker := New()
		for _, e := range s.events {
			tracker.Add(e)
		}
		for _, l := range tracker.Report().Lines {
			if l.Function == "f" && l.Left == 1670 {
				return l.Held
			}
		}
		t.Fatal("no line")
		return nil
	}
	want := []model.HeldPart{{Names: []string{"a", "b"}, Bytes: 1000}, {Names: []string{"a"}, Bytes: 200},
		{Names: []string{"b"}, Bytes: 100, Waits: true}, {Names: []string{"lib.x"}, Bytes: 70}}
	if got := heldOf(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	e.Ranges[1].Address = 0 // they are in no order
	if got := heldOf(); got != nil {
		t.Errorf("%+v from ranges in no order", got)
	}
	e.Ranged = false
	if got := heldOf(); got != nil {
		t.Errorf("%+v where that is not known", got)
	}
}
