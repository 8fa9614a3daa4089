package attribution

import (
	"slices"

	"ipytracer/attribution/internal/activity"
	"ipytracer/attribution/internal/windows"
	"ipytracer/model"
)

// KeepExperiments has experiments with names that begin with a prefix be windows from now on.
func (m *Monitor) KeepExperiments(prefix string) {
	m.prefix = prefix
	m.core.activity.Marked = &m.marked
}

// Experiments returns the experiments that closed since the last call, of all processes, in the order in which they
// closed. They are forgotten. lost is how many more closed after these, by process, for which there was no room. It is
// to be called before [Monitor.Finished].
func (m *Monitor) Experiments() (done []model.Window, lost map[int32]int) {
	for _, w := range m.marked.All {
		done = append(done, m.core.Presenter.Window(m.core.Table.Whole(w)))
	}
	lost, m.marked = m.marked.Lost, activity.Marked{}
	return done, lost
}

// RunningExperiments returns the open experiments of a process, at most the hundred newest, the one that opened first
// in front. Their figures reach to the last boundary.
func (m *Monitor) RunningExperiments(pid int) (all []model.Window) {
	p := m.core.Processes.ByPID[int32(pid)]
	if p == nil {
		return nil
	}
	var open []*windows.Window
	for _, of := range p.Experiments.ByName {
		open = append(open, of...)
	}
	slices.SortFunc(open, func(a, b *windows.Window) int { return a.ID - b.ID })
	for _, w := range open[max(0, len(open)-maxRunning):] {
		all = append(all, m.core.Presenter.Window(m.core.Table.Whole(w)))
	}
	return all
}
