package attribution

import (
	"slices"

	"ipytracer/model"
)

// KeepExperiments has experiments with names that begin with a prefix be windows from now on.
func (m *Monitor) KeepExperiments(prefix string) {
	m.prefix = prefix
	m.core.activity.marked = &m.marked
}

// Experiments returns the experiments that closed since the last call, of all processes, in the order in which they
// closed. They are forgotten. lost is how many more closed after these, by process, for which there was no room. It is
// to be called before [Monitor.Finished].
func (m *Monitor) Experiments() (done []model.Window, lost map[int32]int) {
	for _, w := range m.marked.all {
		done = append(done, m.core.presenter.window(m.core.table.whole(w)))
	}
	lost, m.marked = m.marked.lost, marked{}
	return done, lost
}

// RunningExperiments returns the open experiments of a process, at most the hundred newest, the one that opened first
// in front. Their figures reach to the last boundary.
func (m *Monitor) RunningExperiments(pid int) (all []model.Window) {
	p := m.core.processes.byPID[int32(pid)]
	if p == nil {
		return nil
	}
	var open []*window
	for _, of := range p.experiments.byName {
		open = append(open, of...)
	}
	slices.SortFunc(open, func(a, b *window) int { return a.id - b.id })
	for _, w := range open[max(0, len(open)-maxRunning):] {
		all = append(all, m.core.presenter.window(m.core.table.whole(w)))
	}
	return all
}
