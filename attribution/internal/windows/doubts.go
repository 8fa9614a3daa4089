package windows

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
)

// The kernel half counts by tree the events that it had no room for, or had to guess. Each boundary carries the counts.
// If a count has grown, the windows that are open at the boundary are marked: all of them, unless the kind of event
// tells which ones are affected. A tree keeps the counts, and a window reads its part of them when it closes.

// doubts are the parts of a window's figures that are not certain.
type doubts struct {
	missing [event.MissingKinds]event.Bytes // the most by which meters were off at any time
	// statements and markers count the beginnings and ends of statements and experiments that found no room while the
	// window was open.
	statements, markers uint64
	// Loose: the window's beginning or end is not certain, so none of its figures is certain.
	Loose bool
	// partly: some processes of the window's tree were not followed.
	partly bool
	// unprobed are the meters for which a library of the process was not probed; unprobedTree, of the tree.
	unprobed, unprobedTree course.MeterSet
}

// doubtCounts are the counts of a tree, from its boundaries.
type doubtCounts struct {
	Doubts   event.Doubts                     // so far
	Missing  [event.MissingKinds]course.Peaks // by how much meters may be off
	Partly   uint64                           // the last cut at which some processes were not followed
	loose    [looseKinds]uint64               // the last cuts at which windows were loosened
	Drawn    uint64                           // the tree's last cut
	Left     uint64                           // the last cut at which windows closed
	Unread   []uint64                         // cuts at which windows closed and readings found no room
	unprobed course.Unprobed
}

// The windows that [Tree.LoosenOpen] loosens.
const (
	looseAll        = iota // all windows
	looseStatements        // statements
	looseMarkers           // experiments
	looseKinds
)

// MaxUnread bounds the cuts without readings that a tree keeps. When it is reached, readings count as refused for all
// windows that close later.
const MaxUnread = 1 << 16

// HasDoubts reports whether a tree has lost or guessed anything so far.
func HasDoubts(d *event.Doubts) bool { return *d != event.Doubts{} }

// addRefused adds the refused beginnings and ends of statements and experiments.
func (d *doubts) addRefused(refused *[event.RefusedKinds]uint64) {
	d.statements += refused[event.RefusedStatements]
	d.markers += refused[event.RefusedMarkers]
}

// Off bounds the error of a meter's figures, in bytes, that events without room and guessed events cause. unknown is
// true if there is no bound.
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

// IsTreeBound reports whether a meter's figures of a window's tree are lower bounds: not all of the tree was seen.
func (d *doubts) IsTreeBound(m event.Meter) bool {
	return d != nil && (d.partly || d.unprobedTree.Has(m.Template()))
}
