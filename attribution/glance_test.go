package attribution

import (
	"slices"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// looker takes in a notebook's events as they come.
type looker struct {
	*notebook
	t       *testing.T
	tracker *Tracker
	taken   int
}

// look returns the one kernel of a glance, at a boundary at which nothing happens.
func (l *looker) look() model.Kernel {
	l.t.Helper()
	l.boundary(event.Asked, main)
	for _, e := range l.events[l.taken:] {
		l.tracker.Add(e)
	}
	l.taken = len(l.events)
	g := l.tracker.Glance()
	if len(g.Kernels) != 1 || g.Schema != model.GlanceSchema {
		l.t.Fatalf("%+v", g)
	}
	return g.Kernels[0]
}

// TestGlanceDuringAndAfterACell looks at a session while a cell runs, after it, and since a mark.
func TestGlanceDuringAndAfterACell(t *testing.T) {
	l := &looker{notebook: newNotebook(), t: t, tracker: New()}
	if k := l.look(); k.Running || k.Cell != nil || k.Growth != "none" {
		t.Errorf("before any cell: %+v", k)
	}
	l.run("a", func() { l.take("a", 1, mib) })
	k := l.look()
	if k.Running || k.Cell == nil || k.Growth != "cell" || len(k.Allocations) != 1 ||
		k.Allocations[0].Net != int64(mib) {
		t.Fatalf("after a cell: %+v", k)
	}
	l.tracker.Mark(true)
	if k := l.look(); k.Growth != "mark" || len(k.Allocations) != 0 {
		t.Errorf("at the mark: %+v", k.Allocations)
	}
	l.run("b", func() {
		l.take("b", 2, 2*mib)
		if k := l.look(); !k.Running || len(k.Allocations) != 1 || k.Allocations[0].Net != int64(2*mib) {
			t.Errorf("since the mark: %+v", k.Allocations)
		}
		l.tracker.Mark(false)
		k := l.look()
		if !k.Running || k.Growth != "cell" || k.Allocations[0].Net != int64(2*mib) || k.Statement == nil ||
			!k.Coverage["cpu.numpy"].Exact {
			t.Errorf("in the cell: %+v", k)
		}
	})
}

// TestGlanceHasLivingChildren: a glance lists the children that live, and neither their parent nor one that has ended.
func TestGlanceHasLivingChildren(t *testing.T) {
	const living, over = int32(200), int32(300)
	l := &looker{notebook: newNotebook(), t: t, tracker: New()}
	for _, child := range []int32{living, over} {
		l.boundary(event.ProcessStart, child, func(b *event.Boundary) { b.Parent = main })
	}
	l.boundary(event.ProcessExit, over)
	if k := l.look(); len(k.Children) != 1 || k.Children[0].PID != int(living) || k.ChildrenUnlisted != 0 {
		t.Errorf("%d children, %d not listed: %+v", len(k.Children), k.ChildrenUnlisted, k.Children)
	}
}

// TestGlancesChangeNothing: a session with glances all the while has the same report.
func TestGlancesChangeNothing(t *testing.T) {
	t.Parallel()
	for seed := range attributiontest.Seeds(12) {
		looked, plain := New(), New()
		i := 0
		attributiontest.Anything(func(e event.Event) {
			looked.Add(e)
			plain.Add(e)
			if i++; i%7 == 0 {
				looked.Flush()
				plain.Flush()
				looked.Glance()
				looked.Mark(i%2 == 0)
			}
		}, seed, 600)
		if diff := reporttest.Report(t, looked.Report()); string(diff) != string(reporttest.Report(t, plain.Report())) {
			t.Fatalf("seed %d: the report of a session that was looked at is another", seed)
		}
	}
}

// TestEarlyVariables: variables that were found while the session ran are in glances, and not in the report.
func TestEarlyVariables(t *testing.T) {
	l := &looker{notebook: newNotebook(), t: t, tracker: New()}
	l.run("a", func() {
		l.events = append(l.events, &event.Variables{PID: main, Time: 5, Early: true, Complete: true,
			Variables: []event.Variable{{Name: "x", Kind: "variable", Bytes: 7, Length: -1}}})
		if k := l.look(); len(k.Variables) != 1 || k.Variables[0].Name != "x" {
			t.Errorf("%+v", k.Variables)
		}
	})
	if r := l.tracker.Report(); len(r.Variables) != 0 {
		t.Errorf("in the report: %+v", r.Variables)
	}
}

// TestGlanceLacksInvariants: a broken invariant is in glances, as it is in the report.
func TestGlanceLacksInvariants(t *testing.T) {
	l := &looker{notebook: newNotebook(), t: t, tracker: New()}
	l.run("a", func() { l.take("a", 1, mib) })
	l.look()
	before := len(l.tracker.Glance().Lacks.Reasons)
	l.tracker.activity.Invariants.EndedAgain = 2
	if reasons := l.tracker.Glance().Lacks.Reasons; len(reasons) != before+1 ||
		!slices.Contains(reasons, words.EndedAgain(2)) {
		t.Errorf("%q", reasons)
	}
}
