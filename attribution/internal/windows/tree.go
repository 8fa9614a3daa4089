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
	Away    map[int32]bool                   // pids of processes with device memory on the host
	Gauges  course.Gauges                    // of the whole tree
	Summits course.Tree                      // the tree's highest moments
	Unsure  [event.UnknownKinds]course.Peaks // by how much meters may be off since a pause
	Freed   event.Frees                      // frees so far of blocks whose allocation was not seen
	DrawnAt event.Nanoseconds                // time of the last boundary
	Ended   uint64                           // the last segment that ended
	Last    *event.Boundary                  // has the counts of the boundary that ended the last segment
	recent  *Process                         // the process that moved last: the head of the list memory.older
	Living  []*Process                       // the processes that have not ended
}

// OpenWindows are the windows of a tree that are open.
type OpenWindows struct {
	Executions int
	Counted    []*Window // open windows that count the stacks that allocate
	Open       []*Window // in the order they opened; may contain closed windows
	Closed     int       // number of closed windows in Open
	Archived   uint64    // the last segment of any archived window
}

// arrivals are the changes of a tree that have come, and those that wait for their segment.
type arrivals struct {
	Stream  course.Stream
	Ordered course.Order
	// Changes has the highs, from the change stream, of segments that have not ended, by segment, pid and meter.
	Changes map[uint64]map[int32]course.Levels
	Ahead   int    // pairs of segment and pid in Changes
	purged  uint64 // the tree's Ended when old segments were last removed from Changes
	// Learned are values that became known in a segment that has not ended: windows have had them since they began.
	Learned []*event.Change
	// Asked are the requests made in segments that have not ended.
	Asked []event.Event
	// Readings came with a boundary of another tree, or belong to a segment that has not ended.
	Readings []*event.Reading
	// Straddling are the changes that were made while a boundary was being drawn.
	Straddling []event.Change
	Chains     course.Chains
}

// pauses are the times in which probes of a tree were detached.
type pauses struct {
	Paused       map[event.Meter]Pause // the meters that were ever paused
	reasons      map[pauseReason]bool  // why meters are paused now: see [Tree.SetPaused]
	PausedStacks map[event.Group]Pause // groups whose stacks were not walked at some time
	arrayPauses  []ArrayPause          // the last times in which NumPy's arrays came and went unseen
	Crowded      Pause                 // the times in which some processes were not followed
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

// SetPaused records at a cut that group why paused, or resumed, these meters. A meter is paused while any group has
// paused it.
func (r *Tree) SetPaused(cut uint64, why event.Group, paused bool, meters ...event.Meter) {
	if r.reasons == nil {
		r.reasons, r.Paused = map[pauseReason]bool{}, map[event.Meter]Pause{}
	}
	for _, m := range meters {
		if paused {
			r.reasons[pauseReason{m, why}] = true
		} else {
			delete(r.reasons, pauseReason{m, why})
		}
		hasReason := false
		for reason := range r.reasons {
			hasReason = hasReason || reason.meter == m
		}
		r.Paused[m] = Pause{hasReason, cut}
	}
}

// PausedStacksIn returns the groups whose stacks were not walked at some time in an open window.
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

// CutOf returns a cut for a change in a segment that is over. At that cut, the open windows that hold the segment were
// open, and windows that opened after the segment were not. now is the present cut.
func (r *Tree) CutOf(segment, now uint64) uint64 {
	i := sort.Search(len(r.Open), func(i int) bool { return r.Open[i].FirstSegment > segment })
	for ; i < len(r.Open); i++ {
		if w := r.Open[i]; w.IsOpen {
			return w.Since
		}
	}
	return now
}

// Refusals counts the records so far that found no room in the kernel half.
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
	highs := r.Changes[segment]
	delete(r.Changes, segment)
	r.Ahead -= len(highs)
	if r.Ended < r.purged+2*course.MaxCuts {
		return highs
	}
	r.purged = r.Ended
	for s, overdue := range r.Changes {
		if s+course.MaxCuts < r.Ended {
			r.Ahead -= len(overdue)
			delete(r.Changes, s)
		}
	}
	return highs
}

// EnsureLater makes a boundary's time later than that of the boundary before it in the tree. A CPU may be held up
// between reading the clock and cutting the tree, so a later boundary may have an earlier time. Its time then becomes a
// nanosecond after the boundary before it: a window and the timeline of its meters must agree on what lies in the
// window.
func (r *Tree) EnsureLater(b *event.Boundary) {
	if b.Time <= r.DrawnAt {
		b.Time = min(r.DrawnAt, math.MaxInt64-1) + 1
	}
}

// CopyIfAlone copies the figures of the attached process to a boundary's tree, if the tree has no other process. The
// kernel half's own figures of the tree may still contain an ended process, and it reads a tree and its processes one
// after another. If a process may have begun without a boundary, it is not known whether the attached one is alone.
func (r *Tree) CopyIfAlone(b *event.Boundary, own *course.SegmentEnd) {
	livingKnown := r.Crowded == (Pause{}) && b.Refused[event.RefusedBoundaries] == 0 && b.Kind != event.Attached
	if !livingKnown || len(r.Living) != 1 {
		return
	}
	if only := r.Living[0]; only.Parent == 0 && only.Info.PID == b.PID {
		b.Tree, b.TreeHigh = *own.Value, *own.High
	}
}

// ArrayPause is a stretch of time in which NumPy's arrays came and went unseen. It ends with the search for these
// arrays.
type ArrayPause struct {
	Segment uint64 // the last segment before the pause
	// after has, by pid, the cell that ran as the pause began, or else the last cell before the pause
	after   map[int32]*Window
	settled bool                  // the search is over
	stacks  map[foundStack]uint64 // numbers of the made-up stacks of found arrays
}

// foundStack identifies the stack that stands for blocks that were found in a process.
type foundStack struct {
	pid  int32
	text string
}

// AddPaused adds to names the meters and the groups of stacks that are paused now.
func (r *Tree) AddPaused(names map[string]bool) {
	for m, s := range r.Paused {
		if s.Now {
			names[m.String()] = true
		}
	}
	for group, s := range r.PausedStacks {
		if s.Now {
			names[words.Group(group)] = true
		}
	}
}
