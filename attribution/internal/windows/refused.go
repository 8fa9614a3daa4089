package windows

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// isUnread reports whether the readings of other processes at a boundary may have found no room.
func (r *Tree) isUnread(cut uint64) bool {
	i, found := slices.BinarySearch(r.Unread, cut)
	return found || i >= MaxUnread
}

// LoosenOpen loosens the open windows because of records that found no room. Windows that opened before it last did so
// for the same reason are loose already.
func (r *Tree) LoosenOpen(cut uint64, refused *[event.RefusedKinds]uint64) {
	for kind, n := range [looseKinds]uint64{
		refused[event.RefusedBoundaries] + refused[event.RefusedReadings], refused[event.RefusedStatements],
		refused[event.RefusedMarkers],
	} {
		if n == 0 {
			continue
		}
		for _, w := range slices.Backward(r.Open) {
			if !w.IsOpen { // the window is to be removed, and has lost the cut at which it began
				continue
			}
			if w.Since < r.loose[kind] {
				break
			}
			w.lacks(refused)
		}
		r.loose[kind] = cut
	}
}

// RefusedSince returns the records that found no room since the boundary before. Boundaries of two CPUs may come in the
// wrong order.
func (r *Tree) RefusedSince(d *event.Doubts) (refused [event.RefusedKinds]uint64) {
	for kind, n := range d.Refused {
		if before := r.Doubts.Refused[kind]; n > before {
			refused[kind], r.Doubts.Refused[kind] = n-before, n
		}
	}
	return refused
}

// DoubtOpened begins a window with the doubts before it.
func (w *Window) DoubtOpened(r *Tree, b *event.Boundary) {
	w.openStatements, w.openMarkers = r.Doubts.Refused[event.RefusedStatements], r.Doubts.Refused[event.RefusedMarkers]
	if b.Missing != [event.MissingKinds]event.Bytes{} || b.UntracedNow > 0 {
		d := w.inDoubt()
		d.missing, d.partly = b.Missing, b.UntracedNow > 0
	}
}

// lacks notes that the ends of a window are uncertain, if a record of them may be among those that found no room while
// the window was open.
func (w *Window) lacks(refused *[event.RefusedKinds]uint64) {
	switch {
	case refused[event.RefusedBoundaries]+refused[event.RefusedReadings] > 0:
		w.Loosen(words.Refused)
	case w.Kind == KindStatement && w.Name == "" && refused[event.RefusedStatements] > 0,
		w.Kind == KindExperiment && refused[event.RefusedMarkers] > 0:
		w.Loosen(words.EndRefused)
	}
}

// Loosen records that the beginning or the end of a window is not known.
func (w *Window) Loosen(why words.NoteKind) {
	d := w.inDoubt()
	if !d.Loose {
		w.AddNote(why)
	}
	d.Loose = true
}

// inDoubt returns the doubts of a window, so that more can be added. Most windows have none.
func (w *Window) inDoubt() *doubts {
	if w.Doubts == nil {
		w.Doubts = &doubts{}
	}
	return w.Doubts
}

// setUnprobed records the meters that are incomplete in a window that closed at a time.
func (w *Window) setUnprobed(r *Tree, closed event.Nanoseconds) {
	tree, own := r.unprobed.Of(w.Opened, closed), course.MeterSet{}
	if w.Process.Root == w.Root {
		own = w.Process.unprobed.Of(w.Opened, closed)
	}
	if tree == (course.MeterSet{}) {
		return
	}
	d := w.inDoubt()
	d.unprobedTree.With(tree)
	d.unprobed.With(own)
}

// Lost sets in a window of a report the numbers of records that found no room in it.
func (w *Window) Lost(out *model.Window) {
	d := w.Doubts
	if d == nil || w.Kind != KindCell && w.Kind != KindSession {
		return
	}
	out.LostStatements, out.LostMarkers = int64(d.statements), int64(d.markers)
	if d.statements == 0 || w.Kind != KindCell {
		return
	}
	out.Note = words.Join(out.Note, words.StatementsRefused(d.statements))
}
