package attribution

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// isUnread reports whether the readings of other processes at a boundary may have found no room.
func (r *root) isUnread(cut uint64) bool {
	i, found := slices.BinarySearch(r.unread, cut)
	return found || i >= maxUnread
}

// loosenOpen loosens the open windows, for records that found no room. Windows that opened before the last loosening
// for the same reason are loose already.
func (r *root) loosenOpen(cut uint64, refused *[event.RefusedKinds]uint64) {
	for kind, n := range [looseKinds]uint64{
		refused[event.RefusedBoundaries] + refused[event.RefusedReadings], refused[event.RefusedStatements],
		refused[event.RefusedMarkers],
	} {
		if n == 0 {
			continue
		}
		for _, w := range slices.Backward(r.open) {
			if !w.isOpen { // it is to be removed, and has lost the cut at which it began
				continue
			}
			if w.since < r.loose[kind] {
				break
			}
			w.lacks(refused)
		}
		r.loose[kind] = cut
	}
}

// refusedSince returns the records that found no room since the boundary before. Two CPUs' boundaries may pass each
// other.
func (r *root) refusedSince(d *event.Doubts) (refused [event.RefusedKinds]uint64) {
	for kind, n := range d.Refused {
		if before := r.doubts.Refused[kind]; n > before {
			refused[kind], r.doubts.Refused[kind] = n-before, n
		}
	}
	return refused
}

// doubtOpened begins a window with the doubts before it.
func (w *window) doubtOpened(r *root, b *event.Boundary) {
	w.openStatements, w.openMarkers = r.doubts.Refused[event.RefusedStatements], r.doubts.Refused[event.RefusedMarkers]
	if b.Missing != [event.MissingKinds]event.Bytes{} || b.UntracedNow > 0 {
		d := w.inDoubt()
		d.missing, d.partly = b.Missing, b.UntracedNow > 0
	}
}

// lacks loosens a window for the records that found no room while it was open, if they may have been its ends.
func (w *window) lacks(refused *[event.RefusedKinds]uint64) {
	switch {
	case refused[event.RefusedBoundaries]+refused[event.RefusedReadings] > 0:
		w.loosen(words.Refused)
	case w.kind == kindStatement && w.name == "" && refused[event.RefusedStatements] > 0,
		w.kind == kindExperiment && refused[event.RefusedMarkers] > 0:
		w.loosen(words.EndRefused)
	}
}

// loosen records that the beginning or the end of a window is not known.
func (w *window) loosen(why words.NoteKind) {
	d := w.inDoubt()
	if !d.loose {
		w.addNote(why)
	}
	d.loose = true
}

// inDoubt returns the doubts of a window, for more to be added; most windows have none.
func (w *window) inDoubt() *doubts {
	if w.doubts == nil {
		w.doubts = &doubts{}
	}
	return w.doubts
}

// isBlind records the meters that are incomplete in a window that closed at a time.
func (w *window) isBlind(r *root, closed event.Nanoseconds) {
	tree, own := r.blind.Of(w.opened, closed), course.MeterSet{}
	if w.process.root == w.root {
		own = w.process.blind.Of(w.opened, closed)
	}
	if tree == (course.MeterSet{}) {
		return
	}
	d := w.inDoubt()
	d.blindTree.With(tree)
	d.blind.With(own)
}

// lost sets in a window of a report the numbers of records that found no room in it.
func (w *window) lost(out *model.Window) {
	d := w.doubts
	if d == nil || w.kind != kindCell && w.kind != kindSession {
		return
	}
	out.LostStatements, out.LostMarkers = int64(d.statements), int64(d.markers)
	if d.statements == 0 || w.kind != kindCell {
		return
	}
	out.Note = words.Join(out.Note, words.StatementsRefused(d.statements))
}
