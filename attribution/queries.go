package attribution

import (
	"slices"

	"ipytracer/attribution/internal/rows"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// maxRunning bounds the windows that [Tracker.Running] returns.
const maxRunning = 100

// Running returns the open windows of a process: at most the hundred newest, the one that opened first in front. Their
// figures reach to the last boundary; the stacks that allocated are left out.
func (t *Tracker) Running(pid int) (all []model.Window) {
	process := t.Processes.ByPID[int32(pid)]
	if process == nil {
		return nil
	}
	open := slices.Clone(process.Open)
	if s := t.Processes.SessionOf(process); s != nil && s.Process == process {
		open = append(open, s)
	}
	for _, of := range process.Experiments.ByName {
		open = append(open, of...)
	}
	open = slices.DeleteFunc(open, func(w *windows.Window) bool { return !w.IsOpen || !w.Kind.IsReported() })
	slices.SortFunc(open, func(a, b *windows.Window) int { return a.ID - b.ID })
	for _, w := range open[max(0, len(open)-maxRunning):] {
		all = append(all, t.Presenter.Window(t.Table.Whole(w)))
	}
	return all
}

// CellsAfter returns the closed cells of a process that have a higher id, oldest first, without the stacks that
// allocated.
func (t *Tracker) CellsAfter(pid, id, limit int) (all []model.Window) {
	first := t.Table.First(id + 1)
	for window := range t.Table.All(first, func(k windows.WindowKind) bool { return k == windows.KindCell }) {
		if len(all) >= limit {
			break
		}
		if window.Process.Info.PID == int32(pid) && !window.IsOpen {
			all = append(all, t.Presenter.Window(window))
		}
	}
	return all
}

// LastExperiment returns the experiment of a process that ended last, if it has this name.
func (t *Tracker) LastExperiment(pid int, name string) (model.Window, bool) {
	process := t.Processes.ByPID[int32(pid)]
	if process == nil || process.Experiments.Endings == 0 {
		return model.Window{}, false
	}
	w, ok := t.reader.find(process.Experiments.Last())
	if ok && w.Name != name {
		return model.Window{}, false
	}
	return w, ok
}

// ExperimentsAfter returns the experiments of a process that have closed since its first n did, in the order in which
// they closed, at most limit of them. lost is the number of those before them that are not kept any more. So the next
// call is for n, lost and the returned ones together.
func (t *Tracker) ExperimentsAfter(pid, n, limit int) (all []model.Window, lost int) {
	process := t.Processes.ByPID[int32(pid)]
	if process == nil {
		return nil, 0
	}
	ids, lost := process.Experiments.After(n)
	for _, id := range ids {
		if len(all) >= limit {
			break
		}
		if w, ok := t.reader.find(int(id)); ok {
			all = append(all, w)
		} else if len(all) > 0 {
			break // those before it are handed out first, so that the sum is right
		} else {
			lost++
		}
	}
	return all, lost
}

// Window returns a window by its id, with the stacks that allocated in it.
func (t *Tracker) Window(id int) (model.Window, bool) {
	w, ok := t.reader.find(id)
	if ok {
		t.reader.detail(&w)
	}
	return w, ok
}

// Partial returns variables of a session that is not known to its end: their sizes are lower bounds.
func Partial(e event.Variables) event.Variables { return rows.Partial(e) }
