package attribution

import (
	"slices"

	"ipytracer/attribution/internal/activity"
	"ipytracer/attribution/internal/blocks"
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// certifier decides how far a report is proven, and lists the missing parts.
type certifier struct {
	*windows.State
	activity    *activity.Activity
	allocations *blocks.Blocks
}

// evidence gathers the evidence. For each closed window it compares the kernel's peak with the peak recomputed from the
// change stream, where the stream is complete.
func (ce *certifier) evidence() model.Certificate {
	c := model.Certificate{
		Lost: []model.Loss{}, LateLibraries: []string{}, Probes: []model.Probe{}, Meters: []model.Proof{},
		Problems: []string{}, BoundariesLost: ce.Session.Lost(),
	}
	for _, problem := range ce.Problems.All {
		c.Problems = append(c.Problems, problem.String())
	}
	if ce.Table.Dropped > 0 {
		c.Problems = append(c.Problems, words.WindowsMissing(uint64(ce.Table.Dropped)))
	}
	for _, r := range ce.Processes.Trees {
		c.Made += r.Stream.Made
		c.Delivered += r.Stream.Count
	}
	proofs := ce.proofs(&c)
	for _, m := range ce.GPUs.Meters {
		if m.Facts().Kind != event.Sampled { // no change carries it, so there is nothing to compare
			c.Meters = append(c.Meters, *proofs[m])
		}
	}
	if f := ce.Session.Finish; f != nil {
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
	return c
}

// Probe returns the use of a probe as a certificate has it.
func Probe(p event.ProbeUse) model.Probe {
	return model.Probe{Name: p.Probe, Site: p.Site, Hits: p.Hits, CostNS: max(0, int64(p.Cost)), Dear: p.Dear,
		DearMachine: p.DearMachine}
}

// proofs compares, for each meter, the peaks of all windows with the recomputed ones.
func (ce *certifier) proofs(c *model.Certificate) map[event.Meter]*model.Proof {
	proofs := map[event.Meter]*model.Proof{}
	for _, m := range ce.GPUs.Meters {
		proofs[m] = &model.Proof{ID: m.String()}
	}
	between := ce.Processes.Straddling()
	for window := range ce.Table.All(0, windows.Any) {
		if window.Kind == windows.KindSession {
			for kind, n := range c.Unknown() {
				*n += window.CloseFrees.Unknown[kind] - window.OpenFrees.Unknown[kind]
			}
		}
		complete := ce.Processes.Tree(window.Root).Stream.Complete(window.OpenStream, window.CloseStream)
		for _, m := range ce.GPUs.Meters {
			ce.prove(proofs[m], window, m, complete, between)
		}
	}
	return proofs
}

// prove compares the peak of a meter in a window with the recomputed one. complete: no change of the window is missing.
// between are the changes that were made while boundaries were being drawn.
func (ce *certifier) prove(p *model.Proof, window *windows.Window, m event.Meter, complete bool,
	between course.Straddling) {
	paused := slices.Contains(window.Paused, m)
	p.Paused = p.Paused || paused
	if window.IsOpen || window.Kind == windows.KindLife || window.Unknown(m) ||
		m.Facts().OfPythons && window.Process.Info.Python == "" {
		return
	}
	if !complete || paused {
		p.Skipped++
		return
	}
	p.Compared++
	kernel := window.Own.Of(m).Highest()
	key := course.StraddlingKey{Root: window.Root, PID: window.Process.Info.PID, Meter: m}
	difference := int64(kernel -
		between.Recomputed(key, window.FirstSegment, window.LastSegment, window.Recomputed.Of(m), kernel))
	if difference == 0 {
		p.Agreed++
	}
	p.Difference = max(p.Difference, difference, -difference)
}
