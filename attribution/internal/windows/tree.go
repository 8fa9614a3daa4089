package windows

import (
	"math"
	"slices"
	"sort"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
	"ipytracer/internal/words"
)

// Tree is the tree of one attached process.
type Tree struct {
	OpenWindows
	arrivals
	pauses
	doubtCounts
	Away    map[int32]bool // processes with device memory on the host
	Gauges  course.Gauges  // of the tree
	Summits course.Tree    // of it
	Unsure  [event.UnknownKinds]course.Peaks
	Freed   event.Frees       // frees so far of blocks that were not seen to be allocated
	DrawnAt event.Nanoseconds // time of the last boundary
	Ended   uint64            // the last segment that ended
	Last    *event.Boundary   // the boundary that ended it: its counts
	recent  *Process          // the process that moved last; see memory.older
	Living  []*Process        // the processes that live
}

// OpenWindows are the windows of a tree that are open.
type OpenWindows struct {
	Executions int
	Counted    []*Window // open windows that count the stacks that allocate
	Open       []*Window // in the order they opened; some that have closed may be among them
	Closed     int       // windows of open that have closed
	Archived   uint64    // the last segment of any window that is archived
}

// arrivals are the changes of a tree that have come, and those that wait for their segment.
type arrivals struct {
	Stream  course.Stream
	Ordered course.Order
	// Changes has the highs, from the change stream, of segments that have not ended, by segment, pid and meter.
	Changes map[uint64]map[int32]course.Levels
	Ahead   int    // pairs of segment and pid in changes
	purged  uint64 // value of ended when old segments were last removed from changes
	// Learned are values that windows have had since they began. Asked are the requests. Both are of segments that have
	// not ended yet.
	Learned []*event.Change
	Asked   []event.Event
	// Readings are readings that came with a boundary of another tree, or are of a segment that is not over yet.
	Readings []*event.Reading
	// Straddling are the changes that were made while a boundary was being drawn.
	Straddling []event.Change
	Chains     course.Chains
}

// pauses are the times in which probes of a tree were detached.
type pauses struct {
	Paused       map[event.Meter]Pause // the meters that were ever paused
	reasons      map[pauseReason]bool  // why they are paused now; see sheds
	PausedStacks map[event.Group]Pause // stacks that were not walked at some time
	arrayPauses  []ArrayPause          // the last times in which NumPy's arrays came and went unseen
	Crowded      Pause                 // more processes came than are followed
}

// Pause says whether something is paused, and at which cut that last changed.
type Pause struct {
	Now bool
	Cut uint64
}

// pauseReason is why a meter is paused: the group of the boundary that says so.
type pauseReason struct {
	meter event.Meter
	why   event.Group
}

// SetPaused notes that the probes of some meters are detached for a reason, or attached again. A meter may have several
// reasons.
func (r *Tree) SetPaused(cut uint64, why event.Group, down bool, meters ...event.Meter) {
	if r.reasons == nil {
		r.reasons, r.Paused = map[pauseReason]bool{}, map[event.Meter]Pause{}
	}
	for _, m := range meters {
		if down {
			r.reasons[pauseReason{m, why}] = true
		} else {
			delete(r.reasons, pauseReason{m, why})
		}
		now := false
		for reason := range r.reasons {
			now = now || reason.meter == m
		}
		r.Paused[m] = Pause{now, cut}
	}
}

// PausedStacksIn returns the stacks that were not walked at some time in an open window.
func (r *Tree) PausedStacksIn(w *Window) (stacks []event.Group) {
	for group, s := range r.PausedStacks {
		if s.in(w.Since) {
			stacks = append(stacks, group)
		}
	}
	slices.Sort(stacks)
	return stacks
}

// in reports whether the meter or stack was paused at some time since a cut.
func (s Pause) in(since uint64) bool { return s.Now || s.Cut > since }

// CutOf returns a cut for a segment that is over. At the cut every open window that holds the segment was open, and no
// window that opened after the segment.
func (r *Tree) CutOf(segment, now uint64) uint64 {
	i := sort.Search(len(r.Open), func(i int) bool { return r.Open[i].FirstSegment > segment })
	for ; i < len(r.Open); i++ {
		if w := r.Open[i]; w.IsOpen {
			return w.Since
		}
	}
	return now
}

// Refusals returns the records that found no room in the kernel so far.
func (r *Tree) Refusals() (lost []event.Loss) {
	refused := [event.RefusedKinds]string{
		event.RefusedBoundaries: event.LostBoundaries, event.RefusedStatements: event.LostStatements,
		event.RefusedMarkers:  event.LostMarkers,
		event.RefusedReadings: event.LostReadings,
	}
	for kind, n := range r.Doubts.Refused {
		if n > 0 {
			lost = append(lost, event.Loss{Reason: refused[kind], Count: n})
		}
	}
	if n := r.Doubts.Untraced; n > 0 {
		lost = append(lost, event.Loss{Reason: event.LostProcesses, Count: n})
	}
	return lost
}

// WhyPaused returns the group that is shown as the reason why a meter is paused.
func (r *Tree) WhyPaused(m event.Meter) (why event.Group) {
	for reason := range r.reasons {
		if reason.meter == m {
			why = max(why, reason.why)
		}
	}
	return why
}

// TakeChanges removes and returns the highs of a segment that ends. It drops the highs of segments that have not ended
// for a long time.
func (r *Tree) TakeChanges(segment uint64) map[int32]course.Levels {
	of := r.Changes[segment]
	delete(r.Changes, segment)
	r.Ahead -= len(of)
	if r.Ended < r.purged+2*course.MaxCuts {
		return of
	}
	r.purged = r.Ended
	for s, highs := range r.Changes {
		if s+course.MaxCuts < r.Ended {
			r.Ahead -= len(highs)
			delete(r.Changes, s)
		}
	}
	return of
}

// Follows makes a boundary's time later than that of the boundary before it in the tree. A CPU may be held up between
// reading the clock and cutting the tree: it may have read the clock before the CPU that drew the earlier boundary. The
// time is then set a nanosecond after the earlier boundary, so that a window and the timeline of its meters agree on
// what lies in the window.
func (r *Tree) Follows(b *event.Boundary) {
	if b.Time <= r.DrawnAt {
		b.Time = min(r.DrawnAt, math.MaxInt64-1) + 1
	}
}

// IsOne copies the figures of the attached process to its tree, if that process is alone in it. A process is in the
// tree until its last boundary; the kernel half subtracts its memory a moment later, and reads a tree and its processes
// one after another. Where a process may have begun without a boundary it is not known which process is alone.
func (r *Tree) IsOne(b *event.Boundary, own *course.SegmentEnd) {
	isKnown := r.Crowded == (Pause{}) && b.Refused[event.RefusedBoundaries] == 0 && b.Kind != event.Attached
	if isKnown && len(r.Living) == 1 && r.Living[0].Parent == 0 && r.Living[0].Info.PID == b.PID {
		b.Tree, b.TreeHigh = *own.Value, *own.High
	}
}

// ArrayPause is a stretch of time in which a meter's blocks came and went unseen. It ends with the search for these
// blocks.
type ArrayPause struct {
	Segment uint64 // the last segment before it
	// after has, by process, the cell that ran as the pause began, or else the last cell before; no entry where there
	// is none
	after   map[int32]*Window
	settled bool // the search is over
	stacks  map[foundStack]uint64
}

// foundStack identifies the stack that stands for blocks that were found in a process.
type foundStack struct {
	pid  int32
	text string
}

// AddPaused adds the names of the meters and stacks that are paused now.
func (r *Tree) AddPaused(down map[string]bool) {
	for m, s := range r.Paused {
		if s.Now {
			down[m.String()] = true
		}
	}
	for group, s := range r.PausedStacks {
		if s.Now {
			down[words.Group(group)] = true
		}
	}
}
