package attribution

import (
	"math"
	"slices"
	"sort"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
	"ipytracer/internal/words"
)

// root is the tree of one attached process.
type root struct {
	openWindows
	arrivals
	pauses
	doubtful
	away    map[int32]bool // processes with device memory on the host
	past    course.Gauges  // of the tree
	summits course.Tree    // of it
	unsure  [event.UnknownKinds]course.Peaks
	freed   event.Frees       // frees so far of blocks that were not seen to be allocated
	drawnAt event.Nanoseconds // time of the last boundary
	ended   uint64            // the last segment that ended
	last    *event.Boundary   // the boundary that ended it: its counts
	recent  *process          // the process that moved last; see memory.older
	living  []*process        // the processes that live
}

// openWindows are the windows of a tree that are open.
type openWindows struct {
	executions int
	counted    []*window // open windows that count the stacks that allocate
	open       []*window // in the order they opened; some that have closed may be among them
	closed     int       // windows of open that have closed
	archived   uint64    // the last segment of any window that is archived
}

// arrivals are the changes of a tree that have come, and those that wait for their segment.
type arrivals struct {
	stream  course.Stream
	ordered course.Order
	// changes has the highs, from the change stream, of segments that have not ended, by segment, pid and meter.
	changes map[uint64]map[int32]course.Levels
	ahead   int    // pairs of segment and pid in changes
	purged  uint64 // value of ended when old segments were last removed from changes
	// learned are values that windows had from their beginning, and asked are the requests; both of segments not yet
	// ended.
	learned []*event.Change
	asked   []event.Event
	// readings are those that came with a boundary of another tree, or are of a segment that is not over yet.
	readings []*event.Reading
	// between are the changes that were made while a boundary was being drawn.
	between []event.Change
	sides   course.Chains
}

// pauses are the times in which probes of a tree were detached.
type pauses struct {
	shed     map[event.Meter]shedding // the meters that were ever paused
	reasons  map[shedReason]bool      // why they are paused now; see sheds
	unwalked map[event.Group]shedding // stacks that were not walked at some time
	blanks   []blank                  // the last times in which NumPy's arrays came and went unseen
	crowded  shedding                 // more processes came than are followed
}

// shedding is whether something is stepped down, and the cut at which that last changed.
type shedding struct {
	now bool
	cut uint64
}

// shedReason is why a meter is stepped down: the group of the boundary that says so.
type shedReason struct {
	meter event.Meter
	why   event.Group
}

// sheds notes that the probes of some meters are detached for a reason, or attached again. A meter may have several
// reasons.
func (r *root) sheds(cut uint64, why event.Group, down bool, meters ...event.Meter) {
	if r.reasons == nil {
		r.reasons, r.shed = map[shedReason]bool{}, map[event.Meter]shedding{}
	}
	for _, m := range meters {
		if down {
			r.reasons[shedReason{m, why}] = true
		} else {
			delete(r.reasons, shedReason{m, why})
		}
		now := false
		for reason := range r.reasons {
			now = now || reason.meter == m
		}
		r.shed[m] = shedding{now, cut}
	}
}

// unwalkedIn returns the stacks that were not walked at some time in an open window.
func (r *root) unwalkedIn(w *window) (stacks []event.Group) {
	for group, s := range r.unwalked {
		if s.in(w.since) {
			stacks = append(stacks, group)
		}
	}
	slices.Sort(stacks)
	return stacks
}

// in reports whether the meter or stack was stepped down at some time since a cut.
func (s shedding) in(since uint64) bool { return s.now || s.cut > since }

// cutOf returns a cut at which every open window that holds a segment that is over was open, and none that opened after
// that segment.
func (r *root) cutOf(segment, now uint64) uint64 {
	i := sort.Search(len(r.open), func(i int) bool { return r.open[i].firstSegment > segment })
	for ; i < len(r.open); i++ {
		if w := r.open[i]; w.isOpen {
			return w.since
		}
	}
	return now
}

// refusals returns the records that found no room in the kernel so far.
func (r *root) refusals() (lost []event.Loss) {
	refused := [event.RefusedKinds]string{
		event.RefusedBoundaries: event.LostBoundaries, event.RefusedStatements: event.LostStatements,
		event.RefusedMarkers:  event.LostMarkers,
		event.RefusedReadings: event.LostReadings,
	}
	for kind, n := range r.doubts.Refused {
		if n > 0 {
			lost = append(lost, event.Loss{Reason: refused[kind], Count: n})
		}
	}
	if n := r.doubts.Untraced; n > 0 {
		lost = append(lost, event.Loss{Reason: event.LostProcesses, Count: n})
	}
	return lost
}

// whyShed returns the group that is shown as the reason why a meter is stepped down.
func (r *root) whyShed(m event.Meter) (why event.Group) {
	for reason := range r.reasons {
		if reason.meter == m {
			why = max(why, reason.why)
		}
	}
	return why
}

// takeChanges removes and returns the highs of a segment that ends. It drops those of segments that have not ended for
// long.
func (r *root) takeChanges(segment uint64) map[int32]course.Levels {
	of := r.changes[segment]
	delete(r.changes, segment)
	r.ahead -= len(of)
	if r.ended < r.purged+2*course.MaxCuts {
		return of
	}
	r.purged = r.ended
	for s, highs := range r.changes {
		if s+course.MaxCuts < r.ended {
			r.ahead -= len(highs)
			delete(r.changes, s)
		}
	}
	return of
}

// follows moves a boundary's time behind that of the boundary before it of its tree. A CPU that is held up between
// reading the clock and cutting the tree may have read the clock before the other CPU did. The time is then set a
// nanosecond after the earlier boundary, so that a window and the timeline of its meters agree on what lies in it.
func (r *root) follows(b *event.Boundary) {
	if b.Time <= r.drawnAt {
		b.Time = min(r.drawnAt, math.MaxInt64-1) + 1
	}
}

// isOne copies the figures of the attached process to its tree, if that process is alone in it. A process is in the
// tree until its last boundary; the kernel half subtracts its memory a moment later, and reads a tree and its processes
// one after another. Where a process may have begun without a boundary it is not known which process is alone.
func (r *root) isOne(b *event.Boundary, own *course.Movement) {
	isKnown := r.crowded == (shedding{}) && b.Refused[event.RefusedBoundaries] == 0 && b.Kind != event.Attached
	if isKnown && len(r.living) == 1 && r.living[0].parent == 0 && r.living[0].info.PID == b.PID {
		b.Tree, b.TreeHigh = *own.Value, *own.High
	}
}

// blank is a stretch of time in which a meter's blocks came and went unseen, up to the end of the search for them.
type blank struct {
	segment uint64 // the last segment before it
	// by process: the cell that ran as the blank began, or else the last one before; no entry for none
	after   map[int32]*window
	settled bool // the search is over
	stacks  map[foundStack]uint64
}

// foundStack identifies the stack that stands for blocks that were found in a process.
type foundStack struct {
	pid  int32
	text string
}

// isDown adds the names of the meters and stacks that are stepped down now.
func (r *root) isDown(down map[string]bool) {
	for m, s := range r.shed {
		if s.now {
			down[m.String()] = true
		}
	}
	for group, s := range r.unwalked {
		if s.now {
			down[words.Group(group)] = true
		}
	}
}
