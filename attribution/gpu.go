package attribution

import (
	"slices"

	"ipytracer/event"
)

// gpus is what is known of the GPUs' meters, and of page-locked memory: they are in the report once they were used.
type gpus struct {
	used   [event.MeterCount]bool
	meters []event.Meter // that the report has, ascending
	others []event.Meter // that a report has only if they are used
	notes  gpuNotes
}

func newGPUs() *gpus {
	g := &gpus{}
	g.meters = event.MetersOf(func(f *event.Facts) bool { return f.Always })
	slices.Sort(g.meters)
	for m := range event.Meter(event.MeterCount) {
		if !m.Facts().Always {
			g.others = append(g.others, m)
		}
	}
	return g
}

// note marks the meters that have ever been other than 0.
func (g *gpus) note(all ...*event.Readings) {
	for _, r := range all {
		for _, m := range g.others {
			if r[m] != 0 {
				g.mark(m)
			}
		}
	}
}

// mark says that a meter is in use. A GPU's driver meter stands beside the others of the same GPU.
func (g *gpus) mark(m event.Meter) {
	g.use(m)
	if n, _, ok := m.Device(); ok {
		g.use(event.OfDevice(n, event.Driver))
	}
}

func (g *gpus) use(m event.Meter) {
	g.used[m] = true
	if i, found := slices.BinarySearch(g.meters, m); !found {
		g.meters = slices.Insert(g.meters, i, m)
	}
}

// shows says whether a meter belongs into the figures of a window, nil for a whole process or tree. numpy: the process
// is a Python with probes of its own, so that its arrays and tensors are seen.
func (g *gpus) shows(m event.Meter, w *window, numpy bool) bool {
	switch facts := m.Facts(); {
	case facts.OfPythons && !numpy:
		return false
	case facts.Always:
		return true
	}
	return g.used[m] && (w == nil || !w.unknown(m))
}
