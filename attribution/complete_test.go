package attribution

import (
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// certificateOf returns the certificate of a session with such a finish.
func certificateOf(f *event.Finish) model.Certificate {
	s := newScript()
	tracker := New()
	for _, e := range append(s.events, f) {
		tracker.Add(e)
	}
	return tracker.Report().Certificate
}

// TestCompleteIsOfFiguresAndWindows: each loss is reported, however many changes have come. A loss that can make a
// figure or a window wrong, and a loss of an unknown kind, make the certificate incomplete. A loss of attribution,
// names and texts makes only those incomplete. Data that came another way is no loss.
func TestCompleteIsOfFiguresAndWindows(t *testing.T) {
	const figures, attribution, neither = "figures", "attribution", "neither"
	for reason, of := range map[string]string{
		event.LostBoundaries: figures, event.LostStatements: figures, event.LostMarkers: figures,
		event.LostReadings: figures, event.LostNested: figures,
		event.LostThreads: figures, event.LostProcesses: figures, event.LostUnseen: figures, event.LostDevice: figures,
		event.LostPool:                    figures,
		event.LostProbes:                  figures,
		"table of live NumPy blocks full": figures, "memory of the target not readable": figures,
		"what nobody has thought of": figures,
		event.LostSource:             attribution, event.LostCode: attribution, event.LostStack: attribution,
		event.LostNative: attribution, event.LostMapping: attribution,
		event.Fetched: neither,
	} {
		c := certificateOf(&event.Finish{Reason: "interrupted", Lost: []event.Loss{{Reason: reason, Count: 1}}})
		expect(t, reason, []bool{c.Complete, c.Attribution.Complete}, []bool{of != figures, of != attribution})
		expect(t, reason+", said", []int{len(c.Incomplete), len(c.Attribution.Incomplete)},
			[]int{count(of == figures), count(of == attribution)})
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// TestUnnamedIsOfAttribution: names and lines that could not be read concern no figure.
func TestUnnamedIsOfAttribution(t *testing.T) {
	c := certificateOf(&event.Finish{Reason: "interrupted", Unnamed: []string{"not every line is known"}})
	expect(t, "complete", []any{c.Complete, c.Attribution.Complete, strings.Join(c.Attribution.Incomplete, "; "),
		len(c.Problems)}, []any{true, false, "not every line is known", 0})
}

// TestCutRecordingIsIncomplete: events after the cut are not known, so neither are the figures of the windows that were
// open.
func TestCutRecordingIsIncomplete(t *testing.T) {
	c := certificateOf(&event.Finish{Reason: event.FinishCut})
	expect(t, "cut", []any{c.Complete, strings.Join(c.Incomplete, "; "), c.Attribution.Complete},
		[]any{false, words.RecordingCut, false})
	c = certificateOf(&event.Finish{Reason: "interrupted"})
	expect(t, "whole", []any{c.Complete, len(c.Incomplete), c.Attribution.Complete}, []any{true, 0, true})
}

// TestPausedMetersAreOfFigures: a meter that is not counted for a while makes figures lower bounds, and statements
// without windows are missing: the certificate is not complete, and gives both reasons.
func TestPausedMetersAreOfFigures(t *testing.T) {
	const statements = "the probes on statements were stepped down to keep the overhead budget"
	for group, why := range map[event.Group]string{event.ArrayProbes: words.MeterPaused("cpu.numpy"),
		event.Statements: statements} {
		s := newScript()
		s.openCell(1, true)
		for range 2 {
			s.boundary(event.MeterShed, main, func(b *event.Boundary) { b.Group = group })
			s.boundary(event.MeterBack, main, func(b *event.Boundary) { b.Group = group })
		}
		s.closeCell(1, event.OutcomeOK)
		c := s.run(t).Certificate
		expect(t, why, []any{c.Complete, strings.Join(c.Incomplete, "; "), c.Attribution.Complete, len(c.Problems)},
			[]any{false, why, true, 0})
	}
}

// TestLinesOfCells: no line is reported that the text of its cell does not have.
func TestLinesOfCells(t *testing.T) {
	for text, want := range map[string]int{"a\nb\n\n": 0, "a\r\nb\rc": 3, "a\nb\nc\nd": 3, "": 3} {
		s := newScript()
		s.openCell(1, true)
		s.events = append(s.events, &event.CellSource{Cell: 1, PID: main, Text: text})
		s.boundary(event.StatementOpen, main, func(b *event.Boundary) { b.Cell, b.Line = 1, 3 })
		s.boundary(event.StatementClose, main, func(b *event.Boundary) { b.Cell = 1 })
		s.closeCell(1, event.OutcomeOK)
		expect(t, text, nth(t, s.run(t), model.Statement, 0).Line, want)
	}
}

// TestPausedStacksAreOfAttribution: figures are counted while stacks are not walked, so the window is exact, and
// the certificate is complete.
func TestPausedStacksAreOfAttribution(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.boundary(event.MeterShed, main, func(b *event.Boundary) { b.Group = event.SmallStacks })
	s.to(main, 80)
	s.closeCell(1, event.OutcomeOK)
	r := s.run(t)
	c := &r.Certificate
	expect(t, "certificate", []any{c.Complete, c.Attribution.Complete, strings.Join(c.Attribution.Incomplete, "; "),
		len(c.Problems)}, []any{true, false, words.StacksPaused, 0})
	expect(t, "cell", isExact(nth(t, r, model.Cell, 0), "cpu.resident"), true)
}
