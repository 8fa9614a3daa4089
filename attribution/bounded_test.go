package attribution_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/internal/report/text"
	"ipytracer/model"
)

// keeps returns the number of bytes reachable from a tracker that has taken in events, and its report.
func keeps(t *testing.T, take func(add func(event.Event))) (int64, *model.Report) {
	t.Helper()
	return keepsIn(t, attribution.New(), take)
}

// keepsIn is keeps for a Tracker that has seen nothing.
func keepsIn(t *testing.T, tracker *attribution.Tracker, take func(add func(event.Event))) (int64, *model.Report) {
	t.Helper()
	before := reachable()
	take(tracker.Add)
	r := tracker.Stream()
	if err := text.Report(io.Discard, r, text.Options{}); err != nil {
		t.Fatal(err)
	}
	kept := reachable() - before
	t.Logf("%d bytes", kept)
	return kept, r
}

// says checks that a report is incomplete, and gives the reason.
func says(t *testing.T, r *model.Report, why string) {
	t.Helper()
	c := &r.Certificate
	has := func(p string) bool { return strings.Contains(p, why) }
	if !slices.ContainsFunc(slices.Concat(c.Incomplete, c.Attribution.Incomplete), has) {
		t.Errorf("nothing is said of %q: %q, %q", why, c.Incomplete, c.Attribution.Incomplete)
	}
	if c.Complete != (len(c.Incomplete) == 0) || c.Attribution.Complete != (len(c.Attribution.Incomplete) == 0) {
		t.Errorf("%q, and figures are complete: %v, attribution: %v", why, c.Complete, c.Attribution.Complete)
	}
}

// TestLongNotebook: a window that is over takes a few hundred bytes, with its share of stacks, texts and the timeline.
// 1,000 cells of ten statements with 10,000 stacks of their own took 5.1 MB with everything that a report needs.
func TestLongNotebook(t *testing.T) {
	const cells, statements, most = 1000, 10, 550
	kept, r := keeps(t, func(add func(event.Event)) { attributiontest.Notebook(add, cells, statements) })
	windows := 0
	for range r.All() {
		windows++
	}
	if want := 1 + cells*(2+statements); windows != want {
		t.Errorf("%d windows, want %d", windows, want)
	}
	if each := kept / int64(windows); each > most {
		t.Errorf("a window takes %d bytes, more than %d", each, most)
	}
	if !r.Certificate.Complete {
		t.Errorf("not complete: %q", r.Certificate.Incomplete)
	}
}

// TestLeftOpen: an open window costs next to nothing for each child that comes and goes, and children that have no room
// in the report are counted.
func TestLeftOpen(t *testing.T) {
	const children = 1100
	windows := attributiontest.Many(100, 1000) // with more children than are listed of all windows
	most := windows * 1 << 10
	tracker := attribution.New()
	attribution.LimitChildren(tracker, most)
	kept, r := keepsIn(t, tracker, func(add func(event.Event)) { attributiontest.LeftOpen(add, windows, children) })
	if kept > int64(attributiontest.Many(32, 64))<<20 {
		t.Errorf("%d bytes", kept)
	}
	says(t, r, "a child process is missing from a window's children")
	listed := 0
	for w := range r.All() {
		listed += len(w.Children)
		if len(w.Children)+w.ChildrenUnlisted != children {
			t.Fatalf("window %d has %d children, and %d that are not listed", w.ID, len(w.Children), w.ChildrenUnlisted)
		}
	}
	if listed > most || listed < most-children {
		t.Errorf("%d children are listed", listed)
	}
}

// TestFloodOfMarkers: a target may send any number of markers.
func TestFloodOfMarkers(t *testing.T) {
	for _, pairs := range []bool{true, false} {
		kept, r := keeps(t, func(add func(event.Event)) { attributiontest.Flood(add, 10_000, pairs) })
		if kept > 20<<20 {
			t.Errorf("pairs %v: %d bytes", pairs, kept)
		}
		experiments := 0
		for w := range r.All() {
			if w.Kind == model.Experiment {
				experiments++
			}
		}
		if experiments != 10_000 {
			t.Errorf("pairs %v: %d experiments", pairs, experiments)
		}
	}
}

// TestHostileRecordingsTakeBoundedMemory: whatever a recording contains, it takes a bounded amount of memory, and
// losses for want of room are reported. Each history has more than there is room for; with TRACER_EVERYTHING=1 many
// times as much.
func TestHostileRecordingsTakeBoundedMemory(t *testing.T) {
	many := attributiontest.Many
	for name, one := range map[string]struct {
		why string
		do  func(s *attributiontest.Session)
	}{
		"processes": {"of processes that are not in this report", func(s *attributiontest.Session) {
			for i := range int32(many(20_000, 200_000)) {
				s.Emit(&event.Boundary{Number: uint64(i) + 2, Segment: uint64(i) + 2, Time: 1e10,
					Kind: event.ProcessStart, PID: 10_000 + i, Parent: attributiontest.Kernel})
			}
		}},
		"readings": {"readings of processes were left out", func(s *attributiontest.Session) {
			for i := range int32(many(10_000, 200_000)) {
				s.Emit(&event.Reading{Number: 1, PID: 10_000 + i})
			}
		}},
		"segments": {"changes are of segments that are too far ahead", func(s *attributiontest.Session) {
			for i := range uint64(many(80_000, 200_000)) {
				s.Emit(&event.Change{Stream: i + 1, Segment: 1000 + i, PID: attributiontest.Kernel,
					Meter: event.Resident, Value: 1})
			}
		}},
		"blocks": {"too many waited for their windows", func(s *attributiontest.Session) {
			for i := range uint64(many(300_000, 400_000)) {
				s.Emit(&event.Change{Stream: i + 1, Segment: 1000, PID: attributiontest.Kernel, Meter: event.NumPy,
					Value: 8 * event.Bytes(i+1), Size: 8, Address: i})
			}
		}},
		"sources": {"texts were cut or left out", func(s *attributiontest.Session) {
			for i := range uint64(many(80, 200)) {
				s.OpenCell(i+1, 0, "f.py", strings.Repeat("x", 1<<20)+fmt.Sprint(i))
				s.CloseCell(i+1, event.OutcomeOK)
			}
		}},
		"names": {"texts were cut or left out", func(s *attributiontest.Session) {
			for i := range many(5000, 10_000) {
				s.Mark(event.ExperimentBegin, strings.Repeat("x", 1<<15)+fmt.Sprint(i))
			}
		}},
		"stacks": {"allocations are missing from who allocated", func(s *attributiontest.Session) {
			for i := range many(50_000, 400_000) {
				s.Stack(attributiontest.Kernel,
					event.Frame{Function: "f", File: strings.Repeat("x", 1<<10) + fmt.Sprint(i)})
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			kept, r := keeps(t, func(add func(event.Event)) {
				s := attributiontest.New(add, 1)
				one.do(s)
				s.End()
			})
			if kept > 128<<20 {
				t.Errorf("%d bytes", kept)
			}
			says(t, r, one.why)
		})
	}
}

// TestCellsHaveRoom: cells of a Python that begins when there is no room for one more process are in the report, with
// their figures, and it reports that something is missing.
func TestCellsHaveRoom(t *testing.T) {
	t.Parallel()
	const child = 90_000
	tracker := attribution.New()
	s := attributiontest.New(tracker.Add, 1)
	for i := range int32(1 << 14) {
		s.Fork(attributiontest.Kernel, 10_000+i)
		s.Exit(10_000 + i)
	}
	s.OpenCell(1, 0, "f.py", "start_another_kernel()")
	s.Fork(attributiontest.Kernel, child)
	s.Exec(child, "python3 -m ipykernel_launcher -f kernel.json")
	s.Emit(&event.Process{ProcessInfo: event.ProcessInfo{PID: child, Python: "3.13.1", IPython: "9.0.0",
		Frontend: "ipykernel", Inputs: 1}})
	s.To(child, event.Resident, 50<<20)
	s.Boundary(event.Boundary{Kind: event.CellOpen, PID: child, Cell: 2, Inputs: 2, File: "g.py"})
	s.Emit(&event.CellSource{Cell: 2, PID: child, Text: "x = load()"})
	s.To(child, event.Resident, 90<<20)
	s.To(child, event.Resident, 70<<20)
	s.Boundary(event.Boundary{Kind: event.CellClose, PID: child, Cell: 2, Outcome: event.OutcomeOK, Inputs: -1})
	s.CloseCell(1, event.OutcomeOK)
	s.End()
	r := tracker.Report()
	i := slices.IndexFunc(r.Windows, func(w model.Window) bool { return w.PID == child && w.Kind == "cell" })
	if i < 0 {
		t.Fatalf("the cell is in none of %d windows: %q", len(r.Windows), r.Certificate.Incomplete)
	}
	if f := r.Windows[i].Meters["cpu.resident"]; f.Start != 50<<20 || f.Peak != 90<<20 || f.End != 70<<20 ||
		r.Windows[i].Source != "x = load()" {
		t.Errorf("%+v", r.Windows[i])
	}
	for _, p := range r.Processes {
		if f := p.Meters["cpu.resident"]; p.PID == child &&
			(f.Exact || f.Peak != 90<<20 || p.Parent != int(attributiontest.Kernel) || !p.Late) {
			t.Errorf("%+v", p)
		}
	}
	for _, w := range r.Windows {
		if w.PID == int(attributiontest.Kernel) && w.Kind == "cell" &&
			(len(w.Children) != 0 || w.ChildrenUnlisted != 1) {
			t.Errorf("%d children, %d not listed", len(w.Children), w.ChildrenUnlisted)
		}
	}
	if why := strings.Join(r.Certificate.Incomplete, "\n"); r.Certificate.Complete ||
		!strings.Contains(why, "of processes that are not in this report") {
		t.Errorf("complete: %v: %q", r.Certificate.Complete, why)
	}
}
