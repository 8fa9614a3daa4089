package attribution

import (
	"fmt"
	"testing"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// TestExperimentsAfter asks for the experiments of a process in the order in which they end, a few at a time. Those
// that are no longer kept are counted, and none comes twice.
func TestExperimentsAfter(t *testing.T) {
	const all = windows.MaxEnded + 300
	s := newScript()
	s.mark(event.ExperimentBegin, "long")
	for i := range all {
		s.mark(event.ExperimentBegin, fmt.Sprint(i))
		s.mark(event.ExperimentEnd, fmt.Sprint(i))
	}
	s.mark(event.ExperimentEnd, "long")
	s.cellWith(1)
	tracker := New()
	for _, e := range s.events {
		tracker.Add(e)
	}
	var names []string
	n, lost := 0, 0
	for {
		found, missing := tracker.ExperimentsAfter(int(main), n, 100)
		if len(found) == 0 && missing == 0 {
			break
		}
		for _, w := range found {
			names = append(names, w.Name)
		}
		n, lost = n+len(found)+missing, lost+missing
	}
	expect(t, "experiments", []any{len(names), lost, n, names[0], names[len(names)-2], names[len(names)-1]},
		[]any{windows.MaxEnded, all + 1 - windows.MaxEnded, all + 1, fmt.Sprint(all + 1 - windows.MaxEnded),
			fmt.Sprint(all - 1), "long"})
	last, ok := tracker.LastExperiment(int(main), "long")
	expect(t, "the last", []any{ok, last.Name}, []any{true, "long"})
	other, missing := tracker.ExperimentsAfter(int(main)+1, 0, 100)
	expect(t, "another process", []any{len(other), missing}, []any{0, 0})
	for _, odd := range []int{-5, n + 7} {
		tracker.ExperimentsAfter(int(main), odd, 1)
	}
}

// TestExperimentsWithoutRoom: those that the report has no room for are lost, and the ones after them come.
func TestExperimentsWithoutRoom(t *testing.T) {
	s := newScript()
	for i := range 10 {
		s.mark(event.ExperimentBegin, fmt.Sprint(i))
		s.mark(event.ExperimentEnd, fmt.Sprint(i))
	}
	s.cellWith(1)
	tracker := New()
	tracker.Table.Experiments = windows.MaxExperiments - 3
	for _, e := range s.events {
		tracker.Add(e)
	}
	found, lost := tracker.ExperimentsAfter(int(main), 0, 100)
	expect(t, "with room", []any{len(found), lost}, []any{3, 0})
	found, lost = tracker.ExperimentsAfter(int(main), 3, 100)
	expect(t, "without", []any{len(found), lost}, []any{0, 7})
}
