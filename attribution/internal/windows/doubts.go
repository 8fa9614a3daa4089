package windows

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
)

// Events that the kernel had no room for, or had to guess, reach the windows here. The kernel counts them by tree, and
// each boundary carries the counts: when a count has grown, the windows that are open are affected. Where more cannot
// be decided, all of them are marked. As for meters, a tree keeps the counts, and a window reads its part when it is
// over.

// doubts are the parts of a window's figures that are not certain.
type doubts struct {
	missing [event.MissingKinds]event.Bytes // by how much meters may be off, at most at any time
	// statements and markers count beginnings and ends that found no room while the window was open.
	statements, markers uint64
	// Loose: the window's beginning or end is not certain, so none of its figures is.
	Loose bool
	// partly: processes of the window's tree were not taken in.
	partly bool
	// unprobed are meters that something could not be probed for, in the process and in its tree.
	unprobed, unprobedTree course.MeterSet
}

// doubtCounts are the counts of a tree, from its boundaries.
type doubtCounts struct {
	Doubts   event.Doubts                     // so far
	Missing  [event.MissingKinds]course.Peaks // by how much meters may be off
	Partly   uint64                           // the last cut by which processes were not taken in
	loose    [looseKinds]uint64               // the last cuts at which windows were loosened
	Drawn    uint64                           // the last cut
	Left     uint64                           // the last cut at which windows closed
	Unread   []uint64                         // cuts at which windows closed and readings found no room
	unprobed course.Unprobed
}

// The windows that are loosened: all of them, statements, experiments.
const (
	looseAll = iota
	looseStatements
	looseMarkers
	looseKinds
)

// MaxUnread is the most cuts without readings that are kept. For windows that close after that, the readings are taken
// to be refused, too.
const MaxUnread = 1 << 16

// HasDoubts reports whether a tree has lost or guessed anything so far.
func HasDoubts(d *event.Doubts) bool { return *d != event.Doubts{} }

// counts adds the beginnings and ends that were refused.
func (d *doubts) counts(refused *[event.RefusedKinds]uint64) {
	d.statements += refused[event.RefusedStatements]
	d.markers += refused[event.RefusedMarkers]
}

// Off returns the bytes by which a meter's figures may be off, because of events that found no room or were guessed.
// unknown: the number cannot be stated.
func (d *doubts) Off(m event.Meter) (bytes event.Bytes, unknown bool) {
	if d == nil {
		return 0, false
	}
	for kind, size := range d.missing {
		if size > 0 && slices.Contains(m.Facts().Missing, event.MissingKind(kind)) {
			bytes += size
			unknown = unknown || size >= event.Unbounded
		}
	}
	return bytes, unknown || d.Loose || d.unprobed.Has(m.Template())
}

// InTree reports whether a meter's figures of a window's tree are lower bounds, because not all of the tree was seen.
func (d *doubts) InTree(m event.Meter) bool {
	return d != nil && (d.partly || d.unprobedTree.Has(m.Template()))
}
