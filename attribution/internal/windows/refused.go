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

// LoosenOpen loosens the open windows because of records that found no room by a cut. It stops at windows that it
// loosened before for the same reason.
func (r *Tree) LoosenOpen(cut uint64, refused *[event.RefusedKinds]uint64) {
	for kind, n := range [looseKinds]uint64{
		refused[event.RefusedBoundaries] + refused[event.RefusedReadings], refused[event.RefusedStatements],
		refused[event.RefusedMarkers],
	} {
		if n == 0 {
			continue
		}
		for _, w := range slices.Backward(r.Open) {
			if !w.IsOpen { // the window will be removed, and has no valid Since any more
				continue
			}
			if w.Since < r.loose[kind] { // all before it are loose already
				break
			}
			w.noteRefusedEnds(refused)
		}
		r.loose[kind] = cut
	}
}

// RefusedSince counts the records that found no room since the boundary before. A count that is lower than before is
// ignored: boundaries of two CPUs may arrive in the wrong order.
func (r *Tree) RefusedSince(d *event.Doubts) (refused [event.RefusedKinds]uint64) {
	for kind, n := range d.Refused {
		if before := r.Doubts.Refused[kind]; n > before {
			refused[kind], r.Doubts.Refused[kind] = n-before, n
		}
	}
	return refused
}

// SetOpeningDoubts records in a window that opens the doubts from before it.
func (w *Window) SetOpeningDoubts(r *Tree, b *event.Boundary) {
	w.openStatements, w.openMarkers = r.Doubts.Refused[event.RefusedStatements], r.Doubts.Refused[event.RefusedMarkers]
	if b.Missing != [event.MissingKinds]event.Bytes{} || b.UntracedNow > 0 {
		d := w.inDoubt()
		d.missing, d.partly = b.Missing, b.UntracedNow > 0
	}
}

// noteRefusedEnds notes that the beginning or end of a window is not certain, if its record may be among the refused
// ones.
func (w *Window) noteRefusedEnds(refused *[event.RefusedKinds]uint64) {
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

// inDoubt returns the doubts of a window, so that the caller can add to them. Most windows have none.
func (w *Window) inDoubt() *doubts {
	if w.Doubts == nil {
		w.Doubts = &doubts{}
	}
	return w.Doubts
}

// setUnprobed records the meters that are incomplete in a window, because a library was not probed. closed is the time
// at which the window closed.
func (w *Window) setUnprobed(r *Tree, closed event.Nanoseconds) {
	tree, own := r.unprobed.Of(w.Opened, closed), course.MeterSet{}
	if w.Process.Root == w.Root {
		own = w.Process.unprobed.Of(w.Opened, closed)
	}
	if tree == (course.MeterSet{}) {
		return
	}
	d := w.inDoubt()
	d.unprobedTree.AddAll(tree)
	d.unprobed.AddAll(own)
}

// SetLost sets in a reported window the numbers of records that found no room while it was open.
func (w *Window) SetLost(out *model.Window) {
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
