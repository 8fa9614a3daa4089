package attribution

import (
	"slices"

	"ipytracer/event"
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

// hasDoubts says whether a tree has lost or guessed anything so far.
func hasDoubts(d *event.Doubts) bool { return *d != event.Doubts{} }

// counts counts it.
func (d *doubts) counts(refused *[event.RefusedKinds]uint64) {
	d.statements += refused[event.RefusedStatements]
	d.markers += refused[event.RefusedMarkers]
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
