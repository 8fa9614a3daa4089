package attribution

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
	"ipytracer/model"
)

// profiler is the part of a [Monitor] that knows who allocated: the live blocks, the tallies of the cells that are
// open, and the stacks that these refer to. All of them have a bounded room. What finds none counts under a name of its
// own, so sums stay exact.
type profiler struct {
	core   *core
	ledger *profiledLedger
	lister *lister
	used   []uint64 // stacks that allocated in the last interval
}

// NewProfiler returns a Monitor with stacks, which has seen nothing: its cells have allocations, see
// [Monitor.Finished], and it knows what was allocated in between, see [Monitor.Flows].
func NewProfiler() *Monitor {
	m := NewMonitor()
	c := m.core
	c.stacks.room = roomOfProfiler
	d := &divided{stacks: c.stacks}
	a := newAllocations(c, d)
	a.flow, a.holdings.onlyCells = &flow{}, true
	a.flow.clear()
	l := &profiledLedger{a}
	c.follow(l, noChart{})
	m.profiler = &profiler{core: c, ledger: l, lister: &lister{
		session:   c.session,
		processes: c.processes, table: c.table, allocations: a, stacks: c.stacks, divided: d, symbolizer: c.symbolizer,
		namespaces: c.namespaces,
	}}
	return m
}

// finished returns the cells that closed since the last call, with their allocations. Their tallies are dropped.
func (pr *profiler) finished() (out []model.Window) {
	done := pr.core.activity.takeDone()
	for _, w := range done {
		one := pr.core.presenter.window(pr.core.table.whole(w))
		if len(w.tallies) > 0 {
			one.Coverage = map[string]model.Coverage{}
			one.Allocations = slices.Clip(pr.lister.allocationsOf(w, nil, one.Coverage))
		}
		out = append(out, one)
	}
	for _, w := range done {
		pr.ledger.forgo(w)
		pr.core.files.shrink(w)
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
		m.profiler.core.stacks.era++
	}
}

// IsCrowded reports whether half of the room for stacks is taken.
func (m *Monitor) IsCrowded() bool {
	if m.profiler == nil {
		return false
	}
	t := m.profiler.core.stacks
	return 2*(len(t.stacks)+len(t.also)) > t.room.stacks || 2*len(t.calls) > t.room.frames || 2*t.text > t.room.text
}

// profiledLedger is the ledger of a profiler.
type profiledLedger struct{ *allocations }

var _ ledger = (*profiledLedger)(nil)

// keeps reports that cells are kept, for the names of their code.
func (*profiledLedger) keeps(kind windowKind) bool { return kind == kindCell }

// move takes in a change. The blocks of a process that has ended are gone.
func (l *profiledLedger) move(r *root, c *event.Change) {
	if p := l.processes.byPID[c.PID]; p == nil || p.ended {
		l.flow.drop(course.Key{PID: c.PID, Meter: c.Meter}, c.Size)
		return
	}
	l.flow.leads(c)
	l.allocations.move(r, c)
}

// dividersAt returns nothing: an agent gives no advice.
func (*profiledLedger) dividersAt(*event.Refusal) []divider { return nil }

// boundary ends all blocks of a process that has executed another program.
func (l *profiledLedger) boundary(p *process, b *event.Boundary) {
	l.allocations.boundary(p, b)
	if b.Kind == event.ProcessExec {
		l.ended(b.PID)
	}
}

// ended drops all blocks of a process that has ended.
func (l *profiledLedger) ended(pid int32) {
	l.allocations.ended(pid)
	had := false
	for key := range l.held {
		if key.PID == pid {
			l.copyAll(key)
			delete(l.held, key)
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
