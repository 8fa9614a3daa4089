package attribution

import (
	"ipytracer/event"
	"ipytracer/model"
	"ipytracer/words"
)

// incomplete says in words why a certificate is not complete; nothing where it is.
func (t *Tracker) incomplete(c *model.Certificate) []string {
	reasons := []string{}
	add := func(one string) { reasons = append(reasons, one) }
	if missing := t.changesMissing(); missing > 0 {
		add(words.ChangesMissing(missing, c.Made))
	}
	if c.BoundariesLost > 0 {
		add(words.BoundariesMissing(c.BoundariesLost))
	}
	if t.dropped > 0 {
		add(words.WindowsMissing(uint64(t.dropped)))
	}
	if t.unseen > 0 {
		add(words.CellsUnseen(uint64(t.unseen)))
	}
	if n := t.notSeenWhole(); n > 0 {
		add(words.CellsInDoubt(n))
	}
	if t.allocations.dropped > 0 {
		add(words.AllocationsMissing(uint64(t.allocations.dropped)))
	}
	if t.askedDropped > 0 {
		add(words.RefusalsMissing(t.askedDropped))
	}
	t.limits.MaxProcesses = maxProcesses
	reasons = append(reasons, t.limits.Reasons()...)
	for _, l := range c.Lost {
		one := event.Loss{Reason: l.Reason, Count: l.Count}
		if one.IsLoss() && l.Reason != event.LostChanges {
			add(words.Lost(l.Reason, l.Count))
		}
	}
	return reasons
}

// changesMissing is how many changes of all roots did not come.
func (t *Tracker) changesMissing() (n uint64) {
	for _, r := range t.roots {
		if !r.stream.complete(0, r.stream.made) {
			n += max(1, r.stream.made-min(r.stream.made, r.stream.count))
		}
	}
	return n
}

func (t *Tracker) notSeenWhole() (n uint64) {
	for _, w := range t.staying {
		if w.missed || w.doubted {
			n++
		}
	}
	return n
}
