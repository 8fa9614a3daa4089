package attribution

import (
	"cmp"
	"math"
	"slices"

	"ipytracer/event"
	"ipytracer/model/words"
)

// Some of what is in doubt of a window is known only when it is over, and may be in the archive. It is put to it where
// it is read.

// inTheEnd is what was said when everything was over, of the windows that had closed by then.
type inTheEnd struct {
	processes *processes

	closings uint64
	refused  [event.RefusedKinds]uint64 // what no boundary has told
}

// blindness is when, by meter, something could not be probed for. gpu.0 stands for all GPUs.
type blindness map[event.Meter]stretches

func (b *blindness) add(one event.Blind) {
	if *b == nil {
		*b = blindness{}
	}
	until := one.Until
	if until == 0 {
		until = forever
	}
	(*b)[one.Meter] = (*b)[one.Meter].with(stretch{one.Since, until})
}

// of are the meters of which something is missing in what was open for a time.
func (b blindness) of(opened, closed event.Nanoseconds) (meters meterSet) {
	for m, all := range b {
		if all.meet(opened, closed) {
			meters.add(m)
		}
	}
	return meters
}

// stretch is a time from since to until.
type stretch struct{ since, until event.Nanoseconds }

// stretches are in order of time, none over another.
type stretches []stretch

// with takes one more in. Those it meets become one.
func (s stretches) with(one stretch) stretches {
	from := s.from(one.since)
	to := from
	for ; to < len(s) && s[to].since <= one.until; to++ {
		one = stretch{min(one.since, s[to].since), max(one.until, s[to].until)}
	}
	return slices.Replace(s, from, to, one)
}

// from is the first that does not end before a time.
func (s stretches) from(since event.Nanoseconds) int {
	at, _ := slices.BinarySearchFunc(s, since, func(x stretch, t event.Nanoseconds) int {
		return cmp.Compare(x.until, t)
	})
	return at
}

func (s stretches) meet(since, until event.Nanoseconds) bool {
	at := s.from(since)
	return at < len(s) && s[at].since <= until
}

// forever is later than everything.
const forever = event.Nanoseconds(math.MaxInt64)

// isBlind notes what is missing in a window that closed at a time.
func (w *window) isBlind(r *root, closed event.Nanoseconds) {
	tree, own := r.blind.of(w.opened, closed), meterSet{}
	if w.process.root == w.root {
		own = w.process.blind.of(w.opened, closed)
	}
	if tree == (meterSet{}) {
		return
	}
	d := w.inDoubt()
	d.blindTree.with(tree)
	d.blind.with(own)
}

// unsaid takes in, at the end, what the kernel counts as refused and no boundary has told: nothing was drawn after it.
func (e *inTheEnd) unsaid(lost []event.Loss, closings uint64) {
	e.closings = closings
	var told [event.RefusedKinds]uint64
	for _, r := range e.processes.roots {
		for kind, n := range r.doubts.Refused {
			told[kind] += n
		}
	}
	refused := &e.refused
	for _, l := range lost {
		if kind, ok := l.Refused(); ok && l.Count > told[kind] {
			refused[kind] = l.Count - told[kind]
		}
	}
	if *refused == [event.RefusedKinds]uint64{} {
		return
	}
	for _, r := range e.processes.roots {
		for _, w := range r.open {
			if w.isOpen {
				w.lacks(refused)
				w.inDoubt().counts(refused)
			}
		}
	}
}

// inHindsight is a window with what was learned of it after it had closed.
func (e *inTheEnd) inHindsight(w *window) *window {
	if w.isOpen {
		return w
	}
	r, note := e.processes.root(w.root), w.process.last.noteOf(w)
	unread, blind, unsaid := r.isUnread(w.until), e.wasBlind(r, w), e.lacksUnsaid(r, w)
	if !unread && !blind && !unsaid && note == "" {
		return w
	}
	one, d := *w, *w.detail
	if d.doubts != nil {
		doubts := *d.doubts
		d.doubts = &doubts
	}
	one.detail = &d
	if note != "" {
		one.note = note
	}
	if unread {
		one.loosen(words.Refused)
	}
	if unsaid {
		one.lacks(&e.refused)
		one.inDoubt().counts(&e.refused)
	}
	if blind {
		one.isBlind(r, w.closed)
	}
	return &one
}

// wasOver says whether a window had closed before the end.
func (e *inTheEnd) wasOver(w *window) bool { return w.closing <= e.closings }

func (e *inTheEnd) wasBlind(r *root, w *window) bool { return len(r.blind) > 0 && e.wasOver(w) }

// lacksUnsaid says whether something that no boundary has told may have been within a window that had closed.
func (e *inTheEnd) lacksUnsaid(r *root, w *window) bool {
	if e.refused == [event.RefusedKinds]uint64{} || !e.wasOver(w) {
		return false
	}
	return w.kind == kindSession || w.lastSegment >= r.ended
}
