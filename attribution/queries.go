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

// Running returns the open windows of a process, oldest first, at most the newest maxRunning, without the stacks that
// allocated. Their figures reach to the last boundary.
func (t *Tracker) Running(pid int) (all []model.Window) {
	process := t.Processes.ByPID[int32(pid)]
	if process == nil {
		return nil
	}
	open := slices.Clone(process.Open)
	if s := t.Processes.SessionOf(process); s != nil && s.Process == process {
		open = append(open, s)
	}
	for _, named := range process.Experiments.ByName {
		open = append(open, named...)
	}
	open = slices.DeleteFunc(open, func(w *windows.Window) bool { return !w.IsOpen || !w.Kind.IsReported() })
	slices.SortFunc(open, func(a, b *windows.Window) int { return a.ID - b.ID })
	for _, w := range open[max(0, len(open)-maxRunning):] {
		all = append(all, t.Presenter.Window(t.Table.Whole(w)))
	}
	return all
}

// CellsAfter returns the closed cells of a process with ids above id, oldest first, at most limit, without the stacks
// that allocated.
func (t *Tracker) CellsAfter(pid, id, limit int) (all []model.Window) {
	first := t.Table.First(id + 1)
	for window := range t.Table.All(first, windows.OfKind(windows.KindCell)) {
		if len(all) >= limit {
			break
		}
		if window.Process.Info.PID == int32(pid) && !window.IsOpen {
			all = append(all, t.Presenter.Window(window))
		}
	}
	return all
}

// LastExperiment returns the experiment of a process that closed last; ok is false if it has another name.
func (t *Tracker) LastExperiment(pid int, name string) (w model.Window, ok bool) {
	process := t.Processes.ByPID[int32(pid)]
	if process == nil || process.Experiments.Endings == 0 {
		return model.Window{}, false
	}
	w, ok = t.reader.find(process.Experiments.Last())
	if ok && w.Name != name {
		return model.Window{}, false
	}
	return w, ok
}

// ExperimentsAfter returns the experiments of a process that closed after its first n, in the order of closing, at most
// limit. lost counts experiments between the first n and the returned ones that are not kept any more. The next n is
// n + lost + len(all).
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
			break // lost may count only experiments before the returned ones
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

// Partial returns the variables of a session whose recording stops before its end: their sizes are lower bounds.
func Partial(e event.Variables) event.Variables { return rows.Partial(e) }
