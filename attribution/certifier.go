package attribution

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// certifier decides how far a report is proven, and lists the missing parts.
type certifier struct {
	*state
	invariants  *invariants
	activity    *activity
	requests    *requests
	allocations *allocations
}

// evidence gathers the evidence. For each closed window it compares the kernel's peak with the peak recomputed from the
// change stream, where the stream is complete.
func (ce *certifier) evidence() model.Certificate {
	c := model.Certificate{
		Lost: []model.Loss{}, LateLibraries: []string{}, Probes: []model.Probe{}, Meters: []model.Proof{},
		Problems: []string{}, BoundariesLost: ce.session.lost(),
	}
	for _, one := range ce.problems.all {
		c.Problems = append(c.Problems, one.String())
	}
	if ce.table.dropped > 0 {
		c.Problems = append(c.Problems, words.WindowsMissing(uint64(ce.table.dropped)))
	}
	for _, r := range ce.processes.roots {
		c.Made += r.stream.Made
		c.Delivered += r.stream.Count
	}
	proofs := ce.proofs(&c)
	for _, m := range ce.gpus.meters {
		if m.Facts().Kind != event.Sampled { // no change carries it, so there is nothing to compare
			c.Meters = append(c.Meters, *proofs[m])
		}
	}
	if f := ce.session.finish; f != nil {
		c.Finished = f.Reason
		c.Made, c.Delivered = max(c.Made, f.Made), max(c.Delivered, f.Delivered) // also those after the last boundary
		for _, l := range f.Lost {
			c.Lost = append(c.Lost, model.Loss{Reason: l.Reason, Count: l.Count})
		}
		for _, p := range f.Probes {
			c.Probes = append(c.Probes, Probe(p))
		}
		c.LateLibraries = append(c.LateLibraries, f.Late...)
		c.Problems = append(c.Problems, f.Problems...)
	}
	ce.limits.MaxProcesses = maxProcesses
	return c
}

// Probe returns the use of a probe as a certificate has it.
func Probe(p event.ProbeUse) model.Probe {
	return model.Probe{Name: p.Probe, Site: p.Site, Hits: p.Hits, CostNS: max(0, int64(p.Cost)), Dear: p.Dear,
		DearMachine: p.DearMachine}
}

// proofs compares all windows, for each of them all meters at once.
func (ce *certifier) proofs(c *model.Certificate) map[event.Meter]*model.Proof {
	proofs := map[event.Meter]*model.Proof{}
	for _, m := range ce.gpus.meters {
		proofs[m] = &model.Proof{ID: m.String()}
	}
	between := ce.processes.betweens()
	for w := range ce.table.all(0, anyKind) {
		if w.kind == kindSession {
			for kind, n := range c.Unknown() {
				*n += w.closeFrees.Unknown[kind] - w.openFrees.Unknown[kind]
			}
		}
		complete := ce.processes.root(w.root).stream.Complete(w.openStream, w.closeStream)
		for _, m := range ce.gpus.meters {
			ce.prove(proofs[m], w, m, complete, between)
		}
	}
	return proofs
}

func (ce *certifier) prove(p *model.Proof, w *window, m event.Meter, complete bool, between course.Straddling) {
	shed := slices.Contains(w.shed, m)
	p.Shed = p.Shed || shed
	if w.isOpen || w.kind == kindLife || w.unknown(m) || m.Facts().OfPythons && w.process.info.Python == "" {
		return
	}
	if !complete || shed {
		p.Skipped++
		return
	}
	p.Compared++
	kernel := w.own.Of(m).Highest()
	difference := int64(kernel - between.Recomputed(course.StraddlingKey{Root: w.root, PID: w.process.info.PID,
		Meter: m}, w.firstSegment,
		w.lastSegment, w.recomputed.Of(m), kernel))
	if difference == 0 {
		p.Agreed++
	}
	p.Difference = max(p.Difference, difference, -difference)
}
