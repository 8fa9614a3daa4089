package windows

import (
	"ipytracer/event"
	"ipytracer/internal/words"
)

// Some doubts about a window are known only at the end of the session, when the window may be in the archive. They are
// added to the window where it is read.

// hindsight holds the facts that came at the end of the session and concern the windows that had closed by then.
type hindsight struct {
	processes *Processes

	closings uint64
	refused  [event.RefusedKinds]uint64 // that no boundary reported
}

// AddUnreported takes in, at the end, the refusals that the kernel counted and no boundary reported: no boundary was
// drawn after them.
func (e *hindsight) AddUnreported(lost []event.Loss, closings uint64) {
	e.closings = closings
	var reported [event.RefusedKinds]uint64
	for _, r := range e.processes.Trees {
		for kind, n := range r.Doubts.Refused {
			reported[kind] += n
		}
	}
	refused := &e.refused
	for _, l := range lost {
		if kind, ok := l.Refused(); ok && l.Count > reported[kind] {
			refused[kind] = l.Count - reported[kind]
		}
	}
	if *refused == [event.RefusedKinds]uint64{} {
		return
	}
	for _, r := range e.processes.Trees {
		for _, w := range r.Open {
			if w.IsOpen {
				w.lacks(refused)
				w.inDoubt().counts(refused)
			}
		}
	}
}

// complete returns a window with the facts that came after it had closed.
func (e *hindsight) complete(w *Window) *Window {
	if w.IsOpen {
		return w
	}
	r, note := e.processes.Tree(w.Root), w.Process.Last.noteOf(w)
	unread, unprobed, unsaid := r.isUnread(w.Until), e.wasUnprobed(r, w), e.lacksUnreported(r, w)
	if !unread && !unprobed && !unsaid && note == nil {
		return w
	}
	one, d := *w, *w.Detail
	if d.Doubts != nil {
		doubts := *d.Doubts
		d.Doubts = &doubts
	}
	one.Detail = &d
	if note != nil {
		one.Note = note
	}
	if unread {
		one.Loosen(words.Refused)
	}
	if unsaid {
		one.lacks(&e.refused)
		one.inDoubt().counts(&e.refused)
	}
	if unprobed {
		one.setUnprobed(r, w.Closed)
	}
	return &one
}

// wasOver reports whether a window had closed before the end.
func (e *hindsight) wasOver(w *Window) bool { return w.Closing <= e.closings }

func (e *hindsight) wasUnprobed(r *Tree, w *Window) bool { return len(r.unprobed) > 0 && e.wasOver(w) }

// lacksUnreported reports whether a refusal that no boundary reported may lie in a window that had closed.
func (e *hindsight) lacksUnreported(r *Tree, w *Window) bool {
	if e.refused == [event.RefusedKinds]uint64{} || !e.wasOver(w) {
		return false
	}
	return w.Kind == KindSession || w.LastSegment >= r.Ended
}
