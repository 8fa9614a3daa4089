package attribution

import (
	"ipytracer/attribution/internal/activity"
	"ipytracer/attribution/internal/rows"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// core is the common part of a [Tracker] and an [Auditor]: it takes in events, cuts the time into windows and records
// the values of the meters in each.
type core struct {
	*rows.Rows
	invariants *activity.Invariants
	activity   *activity.Activity
	requests   *activity.Requests
	queue      *blockQueue
	intake     *intake
}

// newCore connects the parts that follow the events of a session, with a ledger of its blocks and a chart of its
// meters.
func newCore(s *windows.State, l activity.Ledger, of chart) *core {
	c := &core{Rows: rows.New(s, l), invariants: &activity.Invariants{}}
	opener := &activity.Opener{State: s, Invariants: c.invariants, Ledger: l}
	c.activity = &activity.Activity{State: s, Windows: opener, Invariants: c.invariants, Ledger: l}
	c.requests = &activity.Requests{State: s}
	c.queue = &blockQueue{State: s, ledger: l, waiting: map[uint32]map[uint64][]event.Change{}}
	c.intake = &intake{
		State: s, windows: opener, activity: c.activity, shellCheck: &activity.ShellCheck{State: s,
			Activity: c.activity},
		requests: c.requests, queue: c.queue, namespaces: c.Namespaces, invariants: c.invariants, ledger: l, chart: of,
	}
	return c
}

// finished returns the cells that closed since the last call.
func (c *core) finished() []model.Window {
	var out []model.Window
	for _, w := range c.activity.TakeDone() {
		out = append(out, c.Presenter.Window(c.Table.Whole(w)))
	}
	return out
}
