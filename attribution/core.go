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
	activity *activity.Activity
	queue    *blockQueue
	sequence *sequence
}

// newCore connects the parts that follow the events of a session. l keeps the session's blocks, ch charts its meters.
func newCore(s *windows.State, l activity.Blocks, ch chart) *core {
	c := &core{
		Rows: rows.New(s, l), activity: activity.New(s, l),
		queue: &blockQueue{State: s, blocks: l, waiting: map[uint32]map[uint64][]event.Change{}},
	}
	c.sequence = &sequence{
		State: s, activity: c.activity, queue: c.queue, namespaces: c.Namespaces, blocks: l, chart: ch,
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
