package attribution_test

import (
	"testing"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
)

// TestFinishedTwice checks that a session may send its finish as soon as every figure is known, and again with all that
// was found since. The report is that of a session that finishes once, whatever was seen in between.
func TestFinishedTwice(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		once, twice := attribution.New(), attribution.New()
		attributiontest.Anything(func(e event.Event) {
			last, ok := e.(*event.Finish)
			if !ok {
				once.Add(e)
				twice.Add(e)
				return
			}
			last.Unprobed = []event.Unprobed{{PID: attributiontest.Kernel, Meter: event.NumPy, Since: last.Time / 2}}
			last.Lost = []event.Loss{{Reason: event.LostStatements, Count: 2}, {Reason: event.LostBoundaries, Count: 1},
				{Reason: event.LostProbes, Count: 3}}
			last.Problems, last.Unnamed = []string{"something"}, []string{"a name"}
			last.Shells = []event.Shell{{PID: attributiontest.Kernel, Time: last.Time, Inputs: 1 << 10, Idle: true}}
			first := *last
			first.Lost, first.Unnamed = first.Lost[:2], nil
			twice.Add(&first)
			_ = twice.Report()
			found := &event.Variables{PID: attributiontest.Kernel, Complete: true,
				Variables: []event.Variable{{Kind: event.HeldByVariable, Name: "x", Bytes: 1 << 20, Length: -1}}}
			for _, to := range []*attribution.Tracker{once, twice} {
				to.Add(found)
				to.Add(last)
			}
		}, seed, 400)
		if a, b := inJSON(t, once.Report()), inJSON(t, twice.Report()); a != b {
			t.Fatalf("seed %d: the reports differ", seed)
		}
	}
}
