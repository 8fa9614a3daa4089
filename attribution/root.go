package attribution

import (
	"math"
	"slices"
	"sort"

	"ipytracer/attribution/changes"
	"ipytracer/event"
	"ipytracer/model/words"
)

// root is the tree of one attached process.
type root struct {
	executions int
	stream     changes.Stream
	ordered    changes.Order
	away       map[int32]bool // whose device memory is on the host
	counted    []*window      // that are open and in which it is counted who allocates
	open       []*window      // in the order they opened; some that have closed may be among them
	closed     int            // how many
	past       past           // of the tree
	line       line
	drawnAt    event.Nanoseconds // when the last boundary was
	crowded    shedding          // more processes came than are followed
	unsure     [event.UnknownKinds]peaks
	recent     *process   // the process that moved last; see process.older
	living     []*process // those that live
	archived   uint64     // the last segment of any window that is archived
	// highs of segments not yet ended, by segment, pid and meter, from the change stream.
	changes map[uint64]map[int32]levels
	ahead   int             // how many of these there are, of a segment and pid each
	purged  uint64          // the last segment that had ended when old ones were forgotten
	ended   uint64          // the last segment that ended
	last    *event.Boundary // that ended it: its counts
	// learned are values that windows had from their beginning, asked what moved no meter, of segments not yet ended.
	learned []*event.Change
	// readings are those that came with a boundary of another tree, or are of a segment that is not over yet.
	readings []*event.Reading
	asked    []event.Event
	// between are the changes that were made while a boundary was being drawn.
	between  []event.Change
	sides    sides
	shed     map[event.Meter]shedding // the meters that were ever stepped down
	reasons  map[shedReason]bool      // why they are now; see sheds
	unwalked map[event.Group]shedding // stacks that were ever not walked
	blanks   []blank                  // when NumPy's arrays came and went unseen, the last ones
	freed    event.Frees              // of what was not seen to be made, so far
	doubtful
}

// shedding is whether something is stepped down, and the cut at which that was last said.
type shedding struct {
	now bool
	cut uint64
}

// shedReason is why a meter is stepped down: the group of the boundary that says so.
type shedReason struct {
	meter event.Meter
	why   event.Group
}

// sheds notes that the probes of some meters are out, for one reason or several, or back.
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

// unwalkedIn are the stacks that were not walked at some time in a window that is open.
func (r *root) unwalkedIn(w *window) (stacks []event.Group) {
	for group, s := range r.unwalked {
		if s.in(w.since) {
			stacks = append(stacks, group)
		}
	}
	slices.Sort(stacks)
	return stacks
}

// in says whether it was stepped down at some time since a cut.
func (s shedding) in(since uint64) bool { return s.now || s.cut > since }

// cutOf is a cut at which a window that holds a segment that is over was open, and none that opened after it.
func (r *root) cutOf(segment, now uint64) uint64 {
	i := sort.Search(len(r.open), func(i int) bool { return r.open[i].firstSegment > segment })
	for ; i < len(r.open); i++ {
		if w := r.open[i]; w.isOpen {
			return w.since
		}
	}
	return now
}

// isDown adds what is stepped down just now.
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

// refusals are what found no room in the kernel so far, in words.
func (r *root) refusals() (reasons []string) {
	refused := [event.RefusedKinds]string{
		event.RefusedBoundaries: event.LostBoundaries, event.RefusedStatements: event.LostStatements,
		event.RefusedMarkers:  event.LostMarkers,
		event.RefusedReadings: event.LostReadings,
	}
	for kind, n := range r.doubts.Refused {
		if n > 0 {
			reasons = append(reasons, words.Lost(refused[kind], n))
		}
	}
	if n := r.doubts.Untraced; n > 0 {
		reasons = append(reasons, words.Lost(event.LostProcesses, n))
	}
	return reasons
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

// takeChanges are the highs of a segment that ends. Those of segments whose end has not come for long are forgotten.
func (r *root) takeChanges(segment uint64) map[int32]levels {
	of := r.changes[segment]
	delete(r.changes, segment)
	r.ahead -= len(of)
	if r.ended < r.purged+2*maxCuts {
		return of
	}
	r.purged = r.ended
	for s, highs := range r.changes {
		if s+maxCuts < r.ended {
			r.ahead -= len(highs)
			delete(r.changes, s)
		}
	}
	return of
}

// follows puts a boundary behind the one before it of its tree: a CPU that is held up between reading the clock and
// cutting the tree may have read it before the other one did. Then its time is a nanosecond after that, and a window
// and what its meters did over time agree on what lies in it.
func (r *root) follows(b *event.Boundary) {
	if b.Time <= r.drawnAt {
		b.Time = min(r.drawnAt, math.MaxInt64-1) + 1
	}
}

// isOne gives a tree that is its attached process alone what that has. A process is in the tree until its last
// boundary; the kernel half takes out what it had a moment later, and reads a tree and its processes one after another.
// Where a process may have begun without a boundary it is not known who is alone.
func (r *root) isOne(b *event.Boundary, own *movement) {
	isKnown := r.crowded == (shedding{}) && b.Refused[event.RefusedBoundaries] == 0 && b.Kind != event.Attached
	if isKnown && len(r.living) == 1 && r.living[0].parent == 0 && r.living[0].info.PID == b.PID {
		b.Tree, b.TreeHigh = *own.value, *own.high
	}
}

// blank is a stretch of time in which a meter's blocks came and went unseen, up to the end of the search for them.
type blank struct {
	segment uint64 // the last one before it
	// by process: the cell that ran as it began, or else the last one before; not there for none
	after   map[int32]*window
	settled bool // the search is over
	stacks  map[foundStack]uint64
}

// foundStack stands for the stack of what was found in a process.
type foundStack struct {
	pid  int32
	text string
}
