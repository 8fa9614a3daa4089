package attribution

import (
	"ipytracer/attribution/internal/activity"
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// profiler is the part of a [Monitor] that knows who allocated: the live blocks, and the stacks that these refer to.
// Both have a bounded room. What finds none counts under a name of its own, so sums stay exact.
type profiler struct {
	core   *core
	ledger *profiledLedger
	used   []uint64 // stacks that allocated in the last interval
}

// NewProfiler returns a Monitor with stacks, which has seen nothing: it knows what was allocated, see [Monitor.Flows].
func NewProfiler() *Monitor {
	s := monitored()
	s.Stacks.Room = stacks.RoomOfProfiler
	a := newAllocations(s)
	a.flow, a.untallied = &flow{}, true
	a.flow.clear()
	l := &profiledLedger{a}
	c := newCore(s, l, noChart{})
	return &Monitor{core: c, profiler: &profiler{core: c, ledger: l}}
}

// finished returns the cells that closed since the last call. Of them, only what their names need is kept.
func (pr *profiler) finished() (out []model.Window) {
	for _, w := range pr.core.activity.TakeDone() {
		out = append(out, pr.core.Presenter.Window(pr.core.Table.Whole(w)))
		pr.core.Files.Shrink(w)
	}
	return out
}

// Flows returns what a process and its children have allocated since the last call, and hold now, by meter; nil for a
// Monitor without stacks. Stacks that nothing refers to are forgotten, see [Monitor.Forgotten].
func (m *Monitor) Flows(pid int) []Flow {
	if m.profiler == nil {
		return nil
	}
	all := m.profiler.flows(int32(pid))
	m.profiler.sweep()
	return all
}

// Forgotten says that stacks which were sent before are sent again when they are next met (tracer.ForgetStacks). The
// next call of [Monitor.Flows] forgets those that were not, unless a block or an open cell refers to them.
func (m *Monitor) Forgotten() {
	if m.profiler != nil {
		m.profiler.core.Stacks.Era++
	}
}

// IsCrowded reports whether half of the room for stacks is taken.
func (m *Monitor) IsCrowded() bool {
	if m.profiler == nil {
		return false
	}
	t := m.profiler.core.Stacks
	return 2*(len(t.Stacks)+len(t.Repeated)) > t.Room.Stacks || 2*len(t.Calls) > t.Room.Frames || 2*t.Text > t.Room.Text
}

// profiledLedger is the ledger of a profiler.
type profiledLedger struct{ *allocations }

var _ activity.Ledger = (*profiledLedger)(nil)

// Keeps reports that cells are kept, for the names of their code.
func (*profiledLedger) Keeps(kind windows.WindowKind) bool { return kind == windows.KindCell }

// Move takes in a change. The blocks of a process that has ended are gone.
func (l *profiledLedger) Move(r *windows.Tree, c *event.Change) {
	if p := l.Processes.ByPID[c.PID]; p == nil || p.Ended {
		l.flow.drop(course.Key{PID: c.PID, Meter: c.Meter}, c.Size)
		return
	}
	l.flow.leads(c)
	l.allocations.Move(r, c)
}

// DividersAt returns nothing: an agent gives no advice.
func (*profiledLedger) DividersAt(*event.Refusal) []windows.Divider { return nil }

// Boundary ends all blocks of a process that has executed another program.
func (l *profiledLedger) Boundary(p *windows.Process, b *event.Boundary) {
	l.allocations.Boundary(p, b)
	if b.Kind == event.ProcessExec {
		l.Ended(b.PID)
	}
}

// Ended drops all blocks of a process that has ended.
func (l *profiledLedger) Ended(pid int32) {
	l.allocations.Ended(pid)
	had := false
	for key := range l.Held {
		if key.PID == pid {
			l.copyAll(key)
			delete(l.Held, key)
			had = true
		}
	}
	for key := range l.flow.values {
		if key.PID == pid {
			delete(l.flow.values, key)
		}
	}
	if !had {
		return
	}
	for at := range l.blocks {
		if at.PID == pid {
			delete(l.blocks, at)
		}
	}
}
