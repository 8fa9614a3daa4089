package attribution

import "ipytracer/event"

// A boundary waits for its readings, in a replay for longer than live. What changes tell meanwhile of a process that it
// begins, or of a meter whose gap it ends, is kept until it has been taken in: the timeline is the same for both.

// maxEarly is how many meters of processes may wait so.
const maxEarly = 1 << 12

// waitsFor says whether a change is to be told once the boundary that waits has been taken in: there is no track yet to
// tell it to.
func (tl *timeline) waitsFor(c *event.Change, b *event.Boundary) bool {
	if b == nil || b.Root != c.Root {
		return false
	}
	p := tl.processes.byPID[c.PID]
	if p == nil || p.began == 0 || b.Kind == event.ProcessStart && b.PID == c.PID {
		return true
	}
	i, found := p.line.find(c.Meter)
	return !found || p.line.tracks[i].isGap
}

// early is the track that changes are told to while a boundary waits.
func (l *timeline) early(key heldKey) *track {
	k := l.waiting[key]
	if k == nil && len(l.waiting) < maxEarly {
		if l.waiting == nil {
			l.waiting = map[heldKey]*track{}
		}
		k = &track{meter: key.meter}
		l.waiting[key] = k
	}
	return k
}

// tellEarly hands on what waited, once the boundary has been taken in.
func (tl *timeline) tellEarly() {
	for key, waited := range tl.waiting {
		if k := tl.running(key.pid, key.meter); k != nil && !k.isGap && len(k.folds) == 0 {
			k.folds, waited.folds = waited.folds, nil
		}
		waited.drop(&tl.folds, ^uint64(0))
	}
	clear(tl.waiting)
}
