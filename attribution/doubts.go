package attribution

import (
	"slices"

	"ipytracer/event"
	"ipytracer/model"
	"ipytracer/model/words"
)

// What the kernel had no room for, or had to guess, reaches the windows here. The kernel counts it by tree, and each
// boundary says the counts; so the windows that are open as one has grown are those that it touches. Where more cannot
// be told they are all marked. As with meters a tree keeps what was said, and a window asks for its part when it is
// over.

// doubts is what is not certain of a window's figures.
type doubts struct {
	missing [event.MissingKinds]event.Bytes // by how much meters may be off, at most at any time
	// statements and markers are beginnings and ends that found no room while it was open.
	statements, markers uint64
	// loose: where it begins or ends is not certain, so none of its figures is.
	loose bool
	// partly: processes of its tree were not taken in.
	partly bool
	// blind are meters that something could not be probed for, in the process and in its tree.
	blind, blindTree meterSet
}

// doubtful is what the boundaries have said of a tree.
type doubtful struct {
	doubts  event.Doubts              // so far
	missing [event.MissingKinds]peaks // by how much meters may be off
	partly  uint64                    // the last cut by which processes were not taken in
	loose   [looseKinds]uint64        // the last cuts at which windows were loosened
	drawn   uint64                    // the last cut
	left    uint64                    // the last cut at which windows closed
	unread  []uint64                  // cuts at which windows closed, and readings found no room
	blind   blindness
}

// What loosens windows: all of them, statements, experiments.
const (
	looseAll = iota
	looseStatements
	looseMarkers
	looseKinds
)

// maxUnread is how many cuts without their readings are kept. Of what closes after so many it is taken that theirs were
// refused too.
const maxUnread = 1 << 16

// meterSet is a set of meters.
type meterSet [(event.MeterCount + 63) / 64]uint64

func (s *meterSet) add(m event.Meter) { s[m/64] |= 1 << (m % 64) }
func (s *meterSet) with(other meterSet) {
	for i := range s {
		s[i] |= other[i]
	}
}
func (s *meterSet) has(m event.Meter) bool { return s[m/64]>>(m%64)&1 != 0 }

// inDoubt is what is not certain of a window, to be added to; most windows have nothing.
func (w *window) inDoubt() *doubts {
	if w.doubts == nil {
		w.doubts = &doubts{}
	}
	return w.doubts
}

// hasDoubts says whether a tree has lost or guessed anything so far.
func hasDoubts(d *event.Doubts) bool { return *d != event.Doubts{} }

// doubtOpened begins a window with what was in doubt before it.
func (w *window) doubtOpened(r *root, b *event.Boundary) {
	w.openStatements, w.openMarkers = r.doubts.Refused[event.RefusedStatements], r.doubts.Refused[event.RefusedMarkers]
	if b.Missing != [event.MissingKinds]event.Bytes{} || b.UntracedNow > 0 {
		d := w.inDoubt()
		d.missing, d.partly = b.Missing, b.UntracedNow > 0
	}
}

// doubtSegment notes what was lost or guessed by the end of a segment.
func (in *intake) doubtSegment(r *root, d *event.Doubts) {
	before := r.drawn
	r.drawn = in.session.cut
	if !hasDoubts(d) && !hasDoubts(&r.doubts) {
		return
	}
	refused := r.refusedSince(d)
	if d.UntracedNow > 0 || d.Untraced > r.doubts.Untraced {
		r.partly = in.session.cut
	}
	r.doubts.Untraced, r.doubts.UntracedNow = max(r.doubts.Untraced, d.Untraced), d.UntracedNow
	for kind, size := range d.Missing {
		all := &r.missing[kind]
		if all.push(in.session.cut, size); len(*all) > crowded+2*len(r.open) {
			all.thin(r.cuts())
		}
	}
	r.loosenOpen(in.session.cut, &refused)
	// those were of the boundary before this one
	if refused[event.RefusedReadings] > 0 && r.left == before && before > 0 {
		if r.unread = append(r.unread, before); len(r.unread) > maxUnread {
			r.unread = r.unread[:maxUnread]
		}
	}
}

// isUnread says whether what a boundary could say of other processes may have found no room.
func (r *root) isUnread(cut uint64) bool {
	i, found := slices.BinarySearch(r.unread, cut)
	return found || i >= maxUnread
}

// loosenOpen loosens the windows that are open, for what found no room. Those that opened before this was done for the
// same reason are loose already.
func (r *root) loosenOpen(cut uint64, refused *[event.RefusedKinds]uint64) {
	for kind, n := range [looseKinds]uint64{
		refused[event.RefusedBoundaries] + refused[event.RefusedReadings], refused[event.RefusedStatements],
		refused[event.RefusedMarkers],
	} {
		if n == 0 {
			continue
		}
		for _, w := range slices.Backward(r.open) {
			if !w.isOpen { // it is to be taken out, and has forgotten when it began
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

// refusedSince is what found no room since the boundary before. Two CPUs' boundaries may pass each other.
func (r *root) refusedSince(d *event.Doubts) (refused [event.RefusedKinds]uint64) {
	for kind, n := range d.Refused {
		if before := r.doubts.Refused[kind]; n > before {
			refused[kind], r.doubts.Refused[kind] = n-before, n
		}
	}
	return refused
}

// lacks takes in what it says of a window's ends that something found no room while it was open.
func (w *window) lacks(refused *[event.RefusedKinds]uint64) {
	switch {
	case refused[event.RefusedBoundaries]+refused[event.RefusedReadings] > 0:
		w.loosen(words.Refused)
	case w.kind == kindStatement && w.name == "" && refused[event.RefusedStatements] > 0,
		w.kind == kindExperiment && refused[event.RefusedMarkers] > 0:
		w.loosen(words.EndRefused)
	}
}

// counts counts it.
func (d *doubts) counts(refused *[event.RefusedKinds]uint64) {
	d.statements += refused[event.RefusedStatements]
	d.markers += refused[event.RefusedMarkers]
}

// loosen says that nobody knows where a window begins or ends.
func (w *window) loosen(why string) {
	d := w.inDoubt()
	if !d.loose {
		w.addNote(why)
	}
	d.loose = true
}

// off is by how many bytes a meter's figures may be off because of what found no room or was guessed; unknown: nobody
// can say.
func (d *doubts) off(m event.Meter) (bytes event.Bytes, unknown bool) {
	if d == nil {
		return 0, false
	}
	for kind, size := range d.missing {
		if size > 0 && slices.Contains(m.Facts().Missing, event.MissingKind(kind)) {
			bytes += size
			unknown = unknown || size >= event.Unbounded
		}
	}
	return bytes, unknown || d.loose || d.blind.has(m.Template())
}

// inTree says whether a meter's figures of a window's tree are lower bounds, because not all of the tree was seen.
func (d *doubts) inTree(m event.Meter) bool {
	return d != nil && (d.partly || d.blindTree.has(m.Template()))
}

// lost tells in a window of a report what found no room in it.
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
