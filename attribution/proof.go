package attribution

import (
	"slices"

	"ipytracer/event"
	"ipytracer/model"
	"ipytracer/model/words"
)

// certificate gathers the evidence, and compares for every window that is closed the kernel's peak with the
// peak recomputed from the change stream, where that is complete.
func (t *Tracker) certificate() model.Certificate {
	c := model.Certificate{
		Lost: []model.Loss{}, LateLibraries: []string{}, Probes: []model.Probe{}, Meters: []model.Proof{},
		Problems: append([]string{}, t.problems.texts...), BoundariesLost: t.session.numbered - t.session.boundaries,
	}
	if t.table.dropped > 0 {
		c.Problems = append(c.Problems, words.WindowsMissing(uint64(t.table.dropped)))
	}
	for _, r := range t.processes.roots {
		c.Made += r.stream.made
		c.Delivered += r.stream.count
	}
	proofs := t.proofs(&c)
	for _, m := range t.gpus.meters {
		if m.Facts().Kind != event.Sampled { // no change says it, so there is nothing to compare
			c.Meters = append(c.Meters, *proofs[m])
		}
	}
	if f := t.session.finish; f != nil {
		c.Finished = f.Reason
		c.Made, c.Delivered = max(c.Made, f.Made), max(c.Delivered, f.Delivered) // also those after the last boundary
		for _, l := range f.Lost {
			c.Lost = append(c.Lost, model.Loss{Reason: l.Reason, Count: l.Count})
		}
		for _, p := range f.Probes {
			c.Probes = append(c.Probes, model.Probe{Name: p.Probe, Site: p.Site, Hits: p.Hits,
				CostNS: max(0, int64(p.Cost)), Dear: p.Dear})
		}
		c.LateLibraries = append(c.LateLibraries, f.Late...)
		c.Problems = append(c.Problems, f.Problems...)
	}
	t.limits.MaxProcesses = maxProcesses
	t.complete(&c)
	return c
}

// proofs goes through the windows, all meters of each at once.
func (t *Tracker) proofs(c *model.Certificate) map[event.Meter]*model.Proof {
	proofs := map[event.Meter]*model.Proof{}
	for _, m := range t.gpus.meters {
		proofs[m] = &model.Proof{ID: m.String()}
	}
	between := t.processes.betweens()
	for w := range t.table.all(0, anyKind) {
		if w.kind == kindSession {
			for kind, n := range c.Unknown() {
				*n += w.closeFrees.Unknown[kind] - w.openFrees.Unknown[kind]
			}
		}
		complete := t.processes.root(w.root).stream.complete(w.openStream, w.closeStream)
		for _, m := range t.gpus.meters {
			t.prove(proofs[m], w, m, complete, between)
		}
	}
	return proofs
}

func (t *Tracker) prove(p *model.Proof, w *window, m event.Meter, complete bool, between betweens) {
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
	kernel := w.own.of(m).highest()
	difference := int64(kernel - between.recomputed(w, m, kernel))
	if difference == 0 {
		p.Agreed++
	}
	p.Difference = max(p.Difference, difference, -difference)
}
