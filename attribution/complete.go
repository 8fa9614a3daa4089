package attribution

import (
	"ipytracer/event"
	"ipytracer/model"
	"ipytracer/model/words"
)

// missing is what is not there or not certain, in words: of figures and windows, and of who allocated, names and texts.
type missing struct{ figures, attribution []string }

func (m *missing) figure(text string) { m.figures = append(m.figures, text) }

func (m *missing) name(text string) { m.attribution = append(m.attribution, text) }

// complete says whether a certificate is complete, and why not. What can make a figure or a window wrong is of the one
// kind, what leaves all of them as they are of the other.
func (t *Tracker) complete(c *model.Certificate) {
	var m missing
	t.incomplete(&m, c)
	t.unattributed(&m)
	figures, attribution := t.limits.Reasons()
	m.figures, m.attribution = append(m.figures, figures...), append(m.attribution, attribution...)
	for _, l := range c.Lost {
		switch one := (event.Loss{Reason: l.Reason, Count: l.Count}); {
		case !one.IsLoss() || l.Reason == event.LostChanges:
		case one.IsOfAttribution():
			m.name(words.Lost(l.Reason, l.Count))
		default:
			m.figure(words.Lost(l.Reason, l.Count))
		}
	}
	c.Complete, c.Incomplete = len(m.figures) == 0, m.figures
	c.Attribution = model.Attribution{Complete: len(m.attribution) == 0, Incomplete: m.attribution}
}

// incomplete adds what is missing of figures and windows.
func (t *Tracker) incomplete(m *missing, c *model.Certificate) {
	add := m.figure
	if t.session.finish != nil && t.session.finish.Reason == event.FinishCut {
		add(words.RecordingCut)
	}
	if missing := t.processes.changesMissing(); missing > 0 {
		add(words.ChangesMissing(missing, c.Made))
	}
	for _, p := range c.Meters {
		if p.Shed && !words.IsPart(p.ID) {
			add(words.MeterPaused(p.ID))
		}
	}
	m.figures = append(m.figures, t.stepDowns.groups...)
	if c.BoundariesLost > 0 {
		add(words.BoundariesMissing(c.BoundariesLost))
	}
	for _, one := range t.invariants.broken() {
		add(one)
	}
	if t.table.dropped > 0 {
		add(words.WindowsMissing(uint64(t.table.dropped)))
	}
	if t.unseen > 0 {
		add(words.CellsUnseen(uint64(t.unseen)))
	}
	if n := t.table.notSeenWhole(); n > 0 {
		add(words.CellsInDoubt(n))
	}
	if t.askedDropped > 0 {
		add(words.RefusalsMissing(t.askedDropped))
	}
}

// unattributed adds what is missing of who allocated.
func (t *Tracker) unattributed(m *missing) {
	if t.allocations.dropped > 0 {
		m.name(words.AllocationsMissing(uint64(t.allocations.dropped)))
	}
	if t.stepDowns.stacks || t.allocations.untold {
		m.name(words.StacksShed)
	}
	if t.session.finish != nil {
		m.attribution = append(m.attribution, t.session.finish.Unnamed...)
	}
}

// changesMissing is how many changes of all roots did not come.
func (ps *processes) changesMissing() (n uint64) {
	for _, r := range ps.roots {
		if !r.stream.complete(0, r.stream.made) {
			n += max(1, r.stream.made-min(r.stream.made, r.stream.count))
		}
	}
	return n
}

func (wt *windowTable) notSeenWhole() (n uint64) {
	for _, w := range wt.staying {
		if w.missed || w.doubted {
			n++
		}
	}
	return n
}
