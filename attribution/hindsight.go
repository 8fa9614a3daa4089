package attribution

import (
	"ipytracer/event"
	"ipytracer/internal/words"
)

// Some doubts about a window are known only at the end of the session, when the window may be in the archive. They are
// added to the window where it is read.

// inTheEnd holds the facts that came at the end of the session and concern the windows that had closed by then.
type inTheEnd struct {
	processes *processes

	closings uint64
	refused  [event.RefusedKinds]uint64 // that no boundary reported
}

// unsaid takes in, at the end, the refusals that the kernel counted and no boundary reported: no boundary was drawn
// after them.
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

// inHindsight returns a window with the facts that came after it had closed.
func (e *inTheEnd) inHindsight(w *window) *window {
	if w.isOpen {
		return w
	}
	r, note := e.processes.root(w.root), w.process.last.noteOf(w)
	unread, blind, unsaid := r.isUnread(w.until), e.wasBlind(r, w), e.lacksUnsaid(r, w)
	if !unread && !blind && !unsaid && note == nil {
		return w
	}
	one, d := *w, *w.detail
	if d.doubts != nil {
		doubts := *d.doubts
		d.doubts = &doubts
	}
	one.detail = &d
	if note != nil {
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

// wasOver reports whether a window had closed before the end.
func (e *inTheEnd) wasOver(w *window) bool { return w.closing <= e.closings }

func (e *inTheEnd) wasBlind(r *root, w *window) bool { return len(r.blind) > 0 && e.wasOver(w) }

// lacksUnsaid reports whether a refusal that no boundary reported may lie in a window that had closed.
func (e *inTheEnd) lacksUnsaid(r *root, w *window) bool {
	if e.refused == [event.RefusedKinds]uint64{} || !e.wasOver(w) {
		return false
	}
	return w.kind == kindSession || w.lastSegment >= r.ended
}
