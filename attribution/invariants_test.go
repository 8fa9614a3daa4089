package attribution

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ipytracer/attribution/internal/activity"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// TestEndedTwice: the kernel half drew two ends of one process: one record has the maximum of the last segment, the
// other one only the values. Where the one without comes first, all windows that close with the process lack the
// maximum. Either way the certificate lists the second end.
func TestEndedTwice(t *testing.T) {
	for _, c := range []struct{ lowFirst, lowIsEarlier bool }{{false, false}, {false, true}, {true, false},
		{true, true}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			s := newScript()
			s.openCell(1, true)
			s.to(main, 900)
			s.value[main], s.high[main], s.tree = 60, 900, 900 // the values fell again
			s.boundary(event.ProcessExit, main)
			high := s.events[len(s.events)-1].(*event.Boundary)
			low := *high
			low.Number, low.Segment = low.Number+1, low.Segment+1
			low.High, low.TreeHigh = low.Value, low.Tree
			if c.lowIsEarlier {
				low.Segment, high.Segment = high.Segment, low.Segment
			}
			if s.events = append(s.events, &low); c.lowFirst {
				n := len(s.events)
				s.events[n-2], s.events[n-1] = s.events[n-1], s.events[n-2]
			}
			r := s.run(t)
			if session := nth(t, r, model.Session, 0); c.lowFirst && !c.lowIsEarlier &&
				session.Meters["cpu.resident"].Peak == 900 {
				t.Error("nothing is missing: nothing was tested")
			}
			broken(t, r, words.EndedAgain(1))
		})
	}
}

// broken checks the invariants that a report lists as broken.
func broken(t *testing.T, r *model.Report, want ...string) {
	t.Helper()
	var got []string
	for _, one := range r.Certificate.Incomplete {
		if strings.Contains(one, "defect") {
			got = append(got, one)
		}
	}
	if !slices.Equal(got, want) || r.Certificate.Complete == (len(want) > 0) {
		t.Errorf("complete %v, broken %q, want %q", r.Certificate.Complete, got, want)
	}
}

// family returns a session with a child that has had its own program for a while.
func family() *script {
	s := newScript()
	s.openCell(1, true)
	s.born(200, 50)
	s.boundary(event.ProcessStart, 200, func(b *event.Boundary) { b.Parent = main })
	s.value[200], s.high[200] = 10, 10
	s.boundary(event.ProcessExec, 200, func(b *event.Boundary) { b.Parent, b.Command = main, "worker" })
	return s
}

// TestTreeBelowItsProcess: a child reaches a maximum that its tree does not, in the same segment or those around it.
func TestTreeBelowItsProcess(t *testing.T) {
	for _, c := range []struct {
		name  string
		of    int32 // the process at whose boundary the child's maximum is reported
		where int   // the tree reaches it so many boundaries earlier, or later; 0: never
		want  []string
	}{
		{"its own boundary", 200, 0, []string{words.TreesTooLow(1)}},
		{"a reading", main, 0, []string{words.TreesTooLow(1)}},
		{"the tree was looked at a moment later", main, activity.Skew, nil},
		{"or another CPU's boundary was faster", 200, -1, nil},
		{"much later is something else", main, activity.Skew + 1, []string{words.TreesTooLow(1)}},
		{"much earlier, too", main, -activity.Skew, []string{words.TreesTooLow(1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := family()
			for i := range 3 * activity.Skew {
				at := i - activity.Skew
				if at == 0 {
					s.high[200] = 5000
				}
				if at == c.where && at != 0 {
					s.tree = 5060
				}
				of := main
				if at == 0 {
					of = c.of
				}
				s.boundary(event.MeterBack, of, func(b *event.Boundary) { b.Group, b.Probes = event.OtherProbes, "x" })
			}
			s.closeCell(1, event.OutcomeOK)
			s.boundary(event.Detached, main)
			broken(t, s.run(t), c.want...)
		})
	}
}

// TestForkedChildAboveItsTree: the tree counts memory that a forked child shares with its parent once, though the
// parent has given it back since.
func TestForkedChildAboveItsTree(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.to(main, 1000)
	s.value[200], s.high[200] = 1000, 1000
	s.order = append(s.order, 200)
	shared := func(b *event.Boundary) {
		b.Tree[event.Resident], b.TreeHigh[event.Resident] = s.value[main]+s.value[200]-1000, 1010
	}
	s.boundary(event.ProcessStart, 200, func(b *event.Boundary) { b.Parent = main }, shared)
	for range 2 * activity.Skew {
		s.value[main], s.high[main] = 10, 10
		s.value[200], s.high[200] = 1005, 1005
		s.boundary(event.MeterBack, main, func(b *event.Boundary) {
			b.Group, b.Probes = event.OtherProbes, "x"
		}, func(b *event.Boundary) {
			b.Tree[event.Resident], b.TreeHigh[event.Resident] = 15, 15
		})
	}
	s.boundary(event.ProcessExit, 200, shared)
	s.order, s.tree = []int32{main}, 10
	s.closeCell(1, event.OutcomeOK)
	s.boundary(event.Detached, main)
	broken(t, s.run(t))
}

// TestWindowBelowOneInside: a window that is lower than one inside it is reported.
func TestWindowBelowOneInside(t *testing.T) {
	for name, spoil := range map[string]func(in *activity.Inside){
		"own":  func(in *activity.Inside) { in.Own.Raise(event.Resident, 901) },
		"tree": func(in *activity.Inside) { in.Tree.Raise(event.OfDevice(0, event.Driver), 1) },
		"":     func(*activity.Inside) {},
	} {
		t.Run(name, func(t *testing.T) {
			tracker := New()
			s := newScript()
			s.openCell(1, true)
			s.boundary(event.StatementOpen, main, func(b *event.Boundary) { b.Cell, b.Line = 1, 1 })
			s.to(main, 900)
			s.to(main, 100)
			s.boundary(event.StatementClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = 1, event.OutcomeOK })
			for _, e := range s.events {
				tracker.Add(e)
			}
			tracker.Flush()
			cell := tracker.Table.Running[1]
			in := tracker.activity.Invariants.Inside[cell]
			if in == nil || in.Own.Of(event.Resident) != 900 {
				t.Fatalf("of the statement is known %+v", in)
			}
			spoil(in)
			s.events = nil
			s.closeCell(1, event.OutcomeOK)
			s.boundary(event.Detached, main)
			s.events = append(s.events, &event.Finish{Reason: "interrupted"})
			for _, e := range s.events {
				tracker.Add(e)
			}
			var want []string
			if name != "" {
				want = []string{words.WindowsTooLow(1)}
			}
			broken(t, tracker.Report(), want...)
			if n := len(tracker.activity.Invariants.Inside); n > 0 {
				t.Errorf("%d windows that are over are remembered", n)
			}
		})
	}
}

// TestSessionBelowItsProcess: a session that ends with its process reaches all maxima of the process.
func TestSessionBelowItsProcess(t *testing.T) {
	tracker := New()
	s := newScript()
	s.to(main, 900)
	s.boundary(event.MeterBack, main, func(b *event.Boundary) { b.Group, b.Probes = event.OtherProbes, "x" })
	for _, e := range s.events {
		tracker.Add(e)
	}
	tracker.Flush()
	tracker.Processes.ByPID[main].Life.Need(event.Resident).Peak = 901
	s.events = nil
	s.boundary(event.ProcessExit, main)
	for _, e := range append(s.events, &event.Finish{Reason: "the target ended"}) {
		tracker.Add(e)
	}
	broken(t, tracker.Report(), words.WindowsTooLow(1))
}
