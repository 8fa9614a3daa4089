package windows

import (
	"ipytracer/event"
	"ipytracer/internal/words"
)

// Some doubts about a window are known only at the end of the session, when the window may be in the archive. They are
// added to the window when it is read.

// hindsight holds the facts that came at the end of the session and concern the windows that had closed by then.
type hindsight struct {
	processes *Processes

	closings uint64                     // number of windows that had closed by then
	refused  [event.RefusedKinds]uint64 // refusals after the last boundary
}

// AddUnreported takes in, at the end, the refusals that the kernel half counted after the last boundary.
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
				w.noteRefusedEnds(refused)
				w.inDoubt().addRefused(refused)
			}
		}
	}
}

// complete returns a window with the facts that came after it had closed.
func (e *hindsight) complete(w *Window) *Window {
	if w.IsOpen {
		return w
	}
	r, killed := e.processes.Tree(w.Root), w.Process.Last.noteOf(w)
	unread, unprobed, unreported := r.isUnread(w.Until), e.wasUnprobed(r, w), e.lacksUnreported(r, w)
	if !unread && !unprobed && !unreported && killed == nil {
		return w
	}
	completed, d := *w, *w.Detail
	if d.Doubts != nil {
		doubts := *d.Doubts
		d.Doubts = &doubts
	}
	completed.Detail = &d
	if killed != nil {
		completed.Note = killed
	}
	if unread {
		completed.Loosen(words.Refused)
	}
	if unreported {
		completed.noteRefusedEnds(&e.refused)
		completed.inDoubt().addRefused(&e.refused)
	}
	if unprobed {
		completed.setUnprobed(r, w.Closed)
	}
	return &completed
}

// wasOver reports whether a window had closed before the end of the session.
func (e *hindsight) wasOver(w *Window) bool { return w.Closing <= e.closings }

func (e *hindsight) wasUnprobed(r *Tree, w *Window) bool { return len(r.unprobed) > 0 && e.wasOver(w) }

// lacksUnreported reports whether a refusal after the last boundary may lie in a window that had closed.
func (e *hindsight) lacksUnreported(r *Tree, w *Window) bool {
	if e.refused == [event.RefusedKinds]uint64{} || !e.wasOver(w) {
		return false
	}
	return w.Kind == KindSession || w.LastSegment >= r.Ended
}
