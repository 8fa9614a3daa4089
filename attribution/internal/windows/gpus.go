package windows

import (
	"slices"

	"ipytracer/event"
)

// GPUs records which meters of GPUs and of page-locked memory were used. A report shows such a meter once it was used.
type GPUs struct {
	Used   [event.MeterCount]bool
	Meters []event.Meter // the meters of the report, ascending
	others []event.Meter // meters that a report has only if they are used
	// othersOfCPU are those of others that are no devices' meters.
	othersOfCPU []event.Meter
	Notes       GPUNotes
}

func newGPUs() *GPUs {
	g := &GPUs{}
	g.Meters = event.MetersOf(func(f *event.Facts) bool { return f.Always })
	slices.Sort(g.Meters)
	for m := range event.Meter(event.MeterCount) {
		if !m.Facts().Always {
			g.others = append(g.others, m)
		}
		if m == event.CPUMeters-1 {
			g.othersOfCPU = slices.Clone(g.others)
		}
	}
	return g
}

// MarkUsed marks the meters that are not 0.
func (g *GPUs) MarkUsed(readings ...*event.Readings) {
	for _, r := range readings {
		others := g.others
		if isWithoutDevices(r) {
			others = g.othersOfCPU
		}
		for _, m := range others {
			if r[m] != 0 {
				g.Mark(m)
			}
		}
	}
}

// isWithoutDevices reports whether all meters of devices are 0.
func isWithoutDevices(r *event.Readings) bool {
	bits := event.Bytes(0)
	for _, bytes := range r[event.CPUMeters:] {
		bits |= bytes
	}
	return bits == 0
}

// Mark records that a meter is in use. A GPU's driver meter is shown with the other meters of the same GPU.
func (g *GPUs) Mark(m event.Meter) {
	g.show(m)
	if n, _, ok := m.Device(); ok {
		g.show(event.OfDevice(n, event.Driver))
	}
}

func (g *GPUs) show(m event.Meter) {
	g.Used[m] = true
	if i, found := slices.BinarySearch(g.Meters, m); !found {
		g.Meters = slices.Insert(g.Meters, i, m)
	}
}

// Shows reports whether a meter belongs to the figures of a window. w is nil for a whole process or tree. isPython: the
// process is a Python with probes, so its arrays and tensors are seen.
func (g *GPUs) Shows(m event.Meter, w *Window, isPython bool) bool {
	switch facts := m.Facts(); {
	case facts.OfPythons && !isPython:
		return false
	case facts.Always:
		return true
	}
	return g.Used[m] && (w == nil || !w.Unknown(m))
}

// IsActive reports whether a meter counts the memory that PyTorch has handed out on some GPU.
func IsActive(m event.Meter) bool { return m.Template() == event.OfDevice(0, event.Active) }
