package attribution

import (
	"fmt"

	"ipytracer/report"
	"ipytracer/tracer/event"
)

// certificate gathers the evidence, and compares for every window that is closed the kernel's peak with the
// peak recomputed from the change stream, where that is complete.
func (t *Tracker) certificate() report.Certificate {
	c := report.Certificate{
		Lost: []report.Loss{}, LateLibraries: []string{}, Probes: []report.Probe{}, Meters: []report.Proof{},
		Problems: append([]string{}, t.problems...), BoundariesLost: t.numbered - t.boundaries, Complete: true,
	}
	if t.dropped > 0 {
		c.Problems = append(c.Problems, fmt.Sprintf("%d windows are not in this report: there were too many", t.dropped))
	}
	if t.allocations.dropped > 0 {
		c.Problems = append(c.Problems, fmt.Sprintf("%d allocations are missing from who allocated: there were too many", t.allocations.dropped))
	}
	if t.stacksShed {
		c.Problems = append(c.Problems, "who allocated is not known at times: stacks were stepped down to keep the overhead budget")
	}
	for _, r := range t.roots {
		c.Made += r.stream.made
		c.Delivered += r.stream.count
		c.Complete = c.Complete && r.stream.complete(0, r.stream.made)
	}
	c.Complete = c.Complete && c.BoundariesLost == 0 && t.dropped == 0 && t.unseen == 0
	for _, w := range t.windows {
		c.Complete = c.Complete && !w.missed && !w.doubted
		if w.kind == kindSession {
			c.UnknownFrees += w.closeUnknown - w.openUnknown
			c.UnknownDeviceFrees += w.closeDevice - w.openDevice
			c.UnknownTorchFrees += w.closeUnknownTorch - w.openUnknownTorch
			c.UnknownHeapFrees += w.closeUnknownHeap - w.openUnknownHeap
		}
	}
	for m := range event.Meter(event.MeterCount) {
		if _, kind, _ := m.Device(); kind == event.Unattributed {
			continue // no change says it, so there is nothing to compare
		}
		if alwaysThere(m) || t.gpus.used[m] {
			c.Meters = append(c.Meters, t.proof(m))
		}
	}
	if f := t.finish; f != nil {
		c.Finished = f.Reason
		c.Made, c.Delivered = max(c.Made, f.Made), max(c.Delivered, f.Delivered) // also those after the last boundary
		for _, l := range f.Lost {
			c.Complete = c.Complete && !l.LeavesWindowsOut()
			c.Lost = append(c.Lost, report.Loss{Reason: l.Reason, Count: l.Count})
		}
		for _, p := range f.Probes {
			c.Probes = append(c.Probes, report.Probe{Name: p.Probe, Site: p.Site, Hits: p.Hits})
		}
		c.LateLibraries = append(c.LateLibraries, f.Late...)
		c.Problems = append(c.Problems, f.Problems...)
	}
	return c
}

func (t *Tracker) proof(m event.Meter) report.Proof {
	p := report.Proof{ID: m.String()}
	for _, w := range t.windows {
		if w.shed[m] {
			p.Shed = true
		}
		if w.isOpen || w.kind == kindLife || w.unknown[m] || isArray(m) && w.process.info.Python == "" {
			continue
		}
		if !t.root(w.root).stream.complete(w.openStream, w.closeStream) || w.shed[m] {
			p.Skipped++
			continue
		}
		p.Compared++
		kernel := max(w.own.peak[m], w.own.start[m], w.own.end[m])
		difference := int64(kernel - t.recomputed(w, m, kernel))
		if difference == 0 {
			p.Agreed++
		}
		p.Difference = max(p.Difference, difference, -difference)
	}
	return p
}

// recomputed is a window's peak by the change stream. A change that was made while a boundary was being drawn is on either
// side of it: where that decides, it is on the side on which the kernel's peak says it was.
func (t *Tracker) recomputed(w *window, m event.Meter, kernel event.Bytes) event.Bytes {
	peak := w.recomputed[m]
	if peak == kernel {
		return peak
	}
	for i := range t.root(w.root).between {
		c := &t.root(w.root).between[i]
		if c.Meter != m || c.PID != w.process.info.PID {
			continue
		}
		here, next := w.holds(w.root, c.Segment), w.holds(w.root, c.Segment+1)
		if here && next || (here || next) && c.Value <= kernel {
			peak = max(peak, c.Value)
		}
	}
	return peak
}
