package attribution

import (
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// missing lists, in words, what is missing or not certain. figures is on figures and windows, attribution is on lines,
// names and texts.
type missing struct{ figures, attribution []string }

func (m *missing) figure(text string) { m.figures = append(m.figures, text) }

func (m *missing) name(text string) { m.attribution = append(m.attribution, text) }

// certificate returns the evidence, and whether it is complete.
func (ce *certifier) certificate() model.Certificate {
	c := ce.evidence()
	ce.complete(&c)
	return c
}

// incomplete adds the missing parts of figures and windows.
func (ce *certifier) incomplete(m *missing, c *model.Certificate) {
	add := m.figure
	if ce.Session.IsCut() {
		add(words.RecordingCut)
	}
	if missing := ce.Processes.ChangesMissing(); missing > 0 {
		add(words.ChangesMissing(missing, c.Made))
	}
	if n := ce.Processes.Twice() + ce.Session.Boundaries.Twice; n > 0 {
		add(words.RecordsTwice(n))
	}
	for _, p := range c.Meters {
		if p.Paused && !words.IsPart(p.ID) {
			add(words.MeterPaused(p.ID))
		}
	}
	m.figures = append(m.figures, ce.Paused.Names()...)
	if c.BoundariesLost > 0 {
		add(words.BoundariesMissing(c.BoundariesLost))
	}
	m.figures = append(m.figures, ce.activity.Invariants.Reasons()...)
	if ce.Table.Dropped > 0 {
		add(words.WindowsMissing(uint64(ce.Table.Dropped)))
	}
	if ce.activity.Unseen > 0 {
		add(words.CellsUnseen(uint64(ce.activity.Unseen)))
	}
	if n := ce.Table.NotSeenWhole(); n > 0 {
		add(words.CellsInDoubt(n))
	}
	if ce.activity.Requests.Dropped > 0 {
		add(words.RefusalsMissing(ce.activity.Requests.Dropped))
	}
}

// unattributed adds the missing parts of attribution.
func (ce *certifier) unattributed(m *missing) {
	if ce.Session.IsCut() {
		m.name(words.RecordingCut)
	}
	if ce.allocations.Missing() > 0 {
		m.name(words.AllocationsMissing(uint64(ce.allocations.Missing())))
	}
	for _, g := range ce.Paused.Counted {
		m.name(words.Counted(g))
	}
	if ce.Paused.Stacks || ce.allocations.Unstreamed && len(ce.Paused.Counted) == 0 {
		m.name(words.StacksPaused)
	}
	if ce.Session.Finish != nil {
		m.attribution = append(m.attribution, ce.Session.Finish.Unnamed...)
	}
}

// complete decides whether a certificate is complete, and why not. A loss that can make a figure or a window wrong is
// listed under figures, any other loss under attribution.
func (ce *certifier) complete(c *model.Certificate) {
	var m missing
	ce.incomplete(&m, c)
	ce.unattributed(&m)
	figures, attribution := ce.Limits.Reasons()
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
