package attribution

import (
	"fmt"
	"strconv"

	"ipytracer/event"
	"ipytracer/model"
)

// incomplete says in words why a certificate is not complete; nothing where it is.
func (t *Tracker) incomplete(c *model.Certificate) []string {
	reasons := []string{}
	add := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }
	if missing := t.changesMissing(); missing > 0 {
		add("%s of %s changes did not reach this report: peaks stand, the kernel itself keeps them; part of their proof is missing, and of who allocated",
			count(missing), count(c.Made))
	}
	if c.BoundariesLost > 0 {
		add("%s boundaries are missing: this is a defect of ipytracer, please report it", count(c.BoundariesLost))
	}
	if t.dropped > 0 {
		add("%s windows are not in this report: there were too many", count(uint64(t.dropped)))
	}
	if t.unseen > 0 {
		add("%s cells have no window", count(uint64(t.unseen)))
	}
	if n := t.notSeenWhole(); n > 0 {
		add("%s cells were not seen whole: their begin, end, result or statements are in doubt", count(n))
	}
	if t.allocations.dropped > 0 {
		add("%s allocations are missing from who allocated: there were too many", count(uint64(t.allocations.dropped)))
	}
	if t.askedDropped > 0 {
		add("%s refused requests for memory are not listed: there were too many at a time", count(t.askedDropped))
	}
	for _, one := range t.limits.said() {
		add("%s", one)
	}
	for _, l := range c.Lost {
		one := event.Loss{Reason: l.Reason, Count: l.Count}
		if one.IsLoss() && l.Reason != event.LostChanges {
			add("%s (%s)", l.Reason, count(l.Count))
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

// count is a number as people read it: 15,789.
func count(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
