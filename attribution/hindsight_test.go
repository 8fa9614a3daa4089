package attribution

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// archived closes enough windows to archive all earlier ones, where far is true.
func (s *script) archived(far bool) {
	if !far {
		return
	}
	for range 2 * (windows.Horizon + windows.Lingering) {
		s.mark(event.ExperimentBegin, "later")
		s.mark(event.ExperimentEnd, "later")
	}
}

// TestDoubtsInTheArchive: the doubts about a window are the same whether it closed a while ago, just now or not at all.
func TestDoubtsInTheArchive(t *testing.T) {
	for _, far := range []bool{false, true} {
		s := newScript()
		s.mark(event.ExperimentBegin, "blind")
		s.mark(event.ExperimentEnd, "blind")
		gap := event.Unprobed{PID: main, Meter: event.Mapped, Since: s.time + 1}
		s.openCell(1, true)
		s.mark(event.ExperimentBegin, "inner")
		s.boundary(event.StatementOpen, main, func(b *event.Boundary) { b.Cell, b.Line = 1, 7 })
		s.boundary(event.StatementClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = 1, event.OutcomeError },
			func(b *event.Boundary) {
				b.Refused[event.RefusedStatements], b.Refused[event.RefusedMarkers] = 3, 4
				b.Missing[event.MissingNumPy], b.Untraced = 11, 1
			})
		s.mark(event.ExperimentEnd, "inner")
		s.boundary(event.CellClose, main, func(b *event.Boundary) {
			b.Cell, b.Outcome, b.Exception = 1, event.OutcomeError, "MemoryError"
		})
		s.still(event.RefusedStatements, 3)
		s.still(event.RefusedMarkers, 4)
		s.archived(far)
		s.still(event.RefusedStatements, 3)
		s.still(event.RefusedMarkers, 4)
		s.events = append(s.events, &event.Finish{Unprobed: []event.Unprobed{gap}})
		tracker := New()
		for _, e := range s.events {
			tracker.Add(e)
		}
		statements := 0
		for _, slot := range tracker.Table.Slots {
			if slot.W != nil && slot.W.Kind == windows.KindStatement {
				statements++
			}
		}
		if far != (statements == 0) {
			t.Fatalf("far %v, and %d statements are not in the archive", far, statements)
		}
		r := tracker.Report()
		cell, statement := nth(t, r, model.Cell, 0), nth(t, r, model.Statement, 0)
		inner, before := nth(t, r, model.Experiment, 1), nth(t, r, model.Experiment, 0)
		tree, _ := cell.Together("cpu.resident")
		for what, one := range map[string][2]any{
			"lost":  {[]int64{cell.LostStatements, cell.LostMarkers}, []int64{3, 4}},
			"error": {cell.Error, "MemoryError"},
			"tree":  {tree.Exact, false},
			"loose": {[]bool{isExact(statement, "cpu.resident"), isExact(inner, "cpu.resident"),
				isExact(cell, "cpu.resident")}, []bool{false, false, true}},
			"notes":   {[]string{statement.Note, inner.Note}, slices.Repeat([]string{words.EndRefused.String()}, 2)},
			"missing": {inWords(cell.Meters["cpu.numpy"]), "off by 11"},
			"blind": {[]string{inWords(cell.Meters[event.Mapped.String()]),
				inWords(before.Meters[event.Mapped.String()])}, []string{"nobody knows", "exact"}},
			"seen to open": {isExact(before, "cpu.resident"), true},
		} {
			expect(t, fmt.Sprintf("far %v: %s", far, what), one[0], one[1])
		}
		session := nth(t, r, model.Session, 0)
		expect(t, "session", []any{session.LostStatements, inWords(session.Meters[event.Mapped.String()])},
			[]any{int64(3), "nobody knows"})
	}
}

// TestEndedAmongMany: the cause of a process's end reaches the cell and the statement in which the process ended,
// however many windows closed with them.
func TestEndedAmongMany(t *testing.T) {
	for _, open := range []int{0, 2 * windows.MaxUnsettled} {
		s := newScript()
		for i := range open {
			s.mark(event.ExperimentBegin, fmt.Sprint(i))
		}
		s.openCell(1, true)
		s.boundary(event.StatementOpen, main, func(b *event.Boundary) { b.Cell, b.Line = 1, 7 })
		s.to(main, 99)
		s.boundary(event.ProcessExit, main)
		s.events = append(s.events, &event.Ending{PID: main, Status: int32(unix.SIGKILL), OutOfMemory: true})
		tracker := New()
		for _, e := range s.events {
			tracker.Add(e)
		}
		r := tracker.Report()
		cell, statement := nth(t, r, model.Cell, 0), nth(t, r, model.Statement, 0)
		for _, w := range []model.Window{cell, statement} {
			if w.Status != model.Incomplete || !strings.HasPrefix(w.Note, "out of memory") {
				t.Errorf("%d open: the %s is %s: %q", open, w.Kind, w.Status, w.Note)
			}
		}
		e := r.Processes[0].Ending
		if e == nil || e.Window != statement.ID || e.At == nil || e.At.Line != 7 || e.At.Execution != 1 {
			t.Errorf("%d open: ending %+v", open, e)
		}
	}
}

// TestUnreadAmongMany: where the readings of a boundary found no room, the windows that ended there are not exact, in
// the archive or not.
func TestUnreadAmongMany(t *testing.T) {
	for _, n := range []int{1, 2 * windows.MaxUnsettled} {
		s := newScript()
		for i := range n {
			s.mark(event.ExperimentBegin, fmt.Sprint(i))
		}
		s.boundary(event.Detached, main)
		s.boundary(event.MeterBack, main, refusing(event.RefusedReadings, 1))
		r := s.run(t)
		for _, w := range r.Windows {
			expect(t, w.Kind+" "+w.Name, isExact(w, "cpu.resident"), false)
		}
	}
}
