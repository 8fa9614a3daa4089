package rows

import (
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// container returns the memory of a window's container; nil if it is not known.
func (pr *presenter) container(w *windows.Window) *model.Container {
	if w.Container == nil {
		return nil
	}
	out := *w.Container
	out.Bound = int64(max(1, pr.Session.Host().CPUs)) * event.ContainerBatch * int64(pr.Session.Page())
	if pr.Session.IsCut() {
		out.Highest, out.Exact = 0, false
	}
	return &out
}
