package attribution

import (
	"slices"

	"ipytracer/event"
)

// gpus records which of the GPUs' meters, and that of page-locked memory, were used: a report has them from then on.
type gpus struct {
	used   [event.MeterCount]bool
	meters []event.Meter // the meters of the report, ascending
	others []event.Meter // meters that a report has only if they are used
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

// note marks the meters that are not 0.
func (g *gpus) note(all ...*event.Readings) {
	for _, r := range all {
		for _, m := range g.others {
			if r[m] != 0 {
				g.mark(m)
			}
		}
	}
}

// mark records that a meter is in use. A GPU's driver meter is shown with the other meters of the same GPU.
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

// shows reports whether a meter belongs to the figures of a window. w is nil for a whole process or tree. numpy: the
// process is a Python with probes of its own, so that its arrays and tensors are seen.
func (g *gpus) shows(m event.Meter, w *window, numpy bool) bool {
	switch facts := m.Facts(); {
	case facts.OfPythons && !numpy:
		return false
	case facts.Always:
		return true
	}
	return g.used[m] && (w == nil || !w.unknown(m))
}
