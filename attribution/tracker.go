package attribution

import (
	"strings"

	"ipytracer/event"
	"ipytracer/model"
)

// Tracker consumes events in the order of their Source. The zero value is not usable, see [New].
type Tracker struct {
	session    *session
	limits     *limits
	gpus       *gpus
	processes  *processes
	stacks     *stackTable
	texts      *texts
	archive    *archive
	table      *windowTable
	files      *cellFiles
	symbolizer *symbolizer
	figurer    *figurer
	lister     *lister
	presenter  *presenter
	problems   *problems
	stepDowns  *stepDowns

	cells        map[uint64]*window
	told         map[uint64]*window // cells that closed a short while ago
	askedDropped uint64             // requests that moved no meter, and are in no window
	unseen       int64              // cells that In has and no window
	allocations  *allocations
	audit        *audit             // nil unless for an audit
	listed       []*event.Variables // the last of each process
	early        []*event.Variables // likewise, of while the session ran
	where        []*event.Residence // likewise
	divided      *divided

	pending    *event.Boundary // its readings may still follow
	drawn      event.Boundary  // the same, in memory of its own: whoever adds an event may use its own again
	readings   []*event.Reading
	waiting    int           // readings that wait for a boundary of their own tree: see gather
	behind     int           // changes that came after it
	about      []event.Event // what came after it and tells something of what is there
	done       []*window     // cells that closed since the last Finished
	closing    []*window     // closed, but not settled
	settled    []*window     // settled, but not archived
	found      []*window     // for those that are looked for again and again
	holding    []*window     // likewise, those that hold a change's segment
	over       []*window     // sessions and lives that closed
	marked     *baseline     // nil for none
	timeline   *timeline
	invariants invariants
}

// process is one traced process over its traced life.
type process struct {
	info        event.ProcessInfo
	index       int // in the order they came
	root        uint32
	parent      int32
	began, gone event.Nanoseconds
	ended       bool
	alive       bool
	past        past
	line        line
	life        figures
	inputs      int64
	open        []*window // cells that run, innermost last
	windows     []*window // all that are open and in which it is counted who allocates
	experiments experiments
	between     *window
	lastGap     *window // the last stretch of time in which it ran no cell
	lastCell    *window
	hasWindows  bool
	tops        levels // the highest of any cell so far
	ranCells    int32  // cells that are over
	last        last   // what it was doing when it ended
	limits      []model.Limit
	blind       blindness
	session     *window // of a root
	whole       *window // of a Python that another process of the tree started
	adopted     bool    // it had begun before there was room for it
	learnedAt   []learning
	kernels     *kernels // nil unless it is one
	name        string   // among them: see process.kernel

	counted      uint64 // the last cut behind which a block moved, or memory was refused
	lives        steps  // 1 from where it began, 0 from where it ended
	moved        uint64 // the last cut at which it did
	left         uint64 // the cut at which it ended
	copied       levels // what it was born with by a fork, until it executes a program
	isForked     bool   // it has that still, and lives
	replaced     uint64 // the cut at which it executed a program after a fork
	older, newer *process
}

// learning is that a meter became known when so many windows had closed.
type learning struct {
	meter  event.Meter
	closed uint64
}

// root is the tree of one attached process.
type root struct {
	executions int
	stream     stream
	ordered    ordered
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
	unwalked map[string]shedding      // stacks that were ever not walked
	blanks   []blank                  // when NumPy's arrays came and went unseen, the last ones
	freed    event.Frees              // of what was not seen to be made, so far
	doubtful
}

// shedding is whether something is stepped down, and the cut at which that was last said.
type shedding struct {
	now bool
	cut uint64
}

// shedReason is why a meter is stepped down: the Text of the boundary that says so.
type shedReason struct {
	meter event.Meter
	why   string
}

// maxBehind is how many changes may come between a boundary and its readings: more than a ring of 16 MiB holds, for the
// changes are read before each record of the boundaries' ring.
const maxBehind = 1 << 18

// maxAbout is how many events that tell something may come between a boundary and its readings.
const maxAbout = 64

// maxBetween is how many of these are kept: they are rare.
const maxBetween = 1 << 16

// New returns a Tracker that has seen nothing.
func New() *Tracker {
	s, l, g, a := &session{}, &limits{}, newGPUs(), &archive{}
	stacks := newStackTable()
	p := newProcesses(s, l)
	t := &Tracker{
		session: s, limits: l, gpus: g, processes: p, stacks: stacks, texts: newTexts(l), archive: a,
		table: newWindowTable(s, p, stacks, a),
		files: &cellFiles{stacks: stacks, byName: map[fileKey][]*window{}}, problems: &problems{},
		stepDowns:   &stepDowns{},
		allocations: newAllocations(stacks), divided: &divided{stacks: stacks}, timeline: &timeline{},
		cells: map[uint64]*window{}, told: map[uint64]*window{},
	}
	lent := &lent{}
	t.symbolizer = &symbolizer{stacks: stacks, files: t.files, processes: p}
	t.figurer = &figurer{session: s, gpus: g, lent: lent}
	t.lister = &lister{allocations: t.allocations, stacks: stacks, symbolizer: t.symbolizer, table: t.table,
		processes: p, divided: t.divided}
	t.presenter = &presenter{
		session: s, processes: p, stacks: stacks, gpus: g, table: t.table, texts: t.texts, symbolizer: t.symbolizer,
		figurer: t.figurer, lister: t.lister, lent: lent,
	}
	return t
}

// Add takes the next event in. A boundary or a change may be another one's memory when it returns.
func (t *Tracker) Add(e event.Event) {
	switch e := e.(type) {
	case *event.Reading:
		// One of an earlier boundary, passed by another CPU's, counts with the later one, or with a later one still:
		// see gather.
		if t.pending == nil {
			t.wait(t.processes.rootOf(e, nil), e)
		} else if t.limits.room(&t.limits.Readings, len(t.readings) < maxReadings) {
			t.readings = append(t.readings, e)
		}
		return
	case *event.Change:
		t.change(e)
		// By now they would have come, or there is no room for more that waits for the boundary.
		if t.behind++; t.behind > maxBehind || t.pending != nil && t.allocations.waits >= maxWaits {
			t.Flush()
		}
		return
	case *event.Refusal, *event.Foreign:
		t.asked(e)
		return
	case *event.Lull:
		t.Flush()
		return
	case *event.Stack:
		t.addStack(e)
		return
	case *event.Holders:
		if t.audit != nil {
			t.audit.heldBy(e)
		}
		t.allocations.askedBy(e)
		return
	case *event.Variables:
		t.list(e)
		return
	case *event.Residence:
		t.resides(e)
		return
	}
	if isAbout(e) && t.pending != nil && len(t.about) < maxAbout {
		t.about = append(t.about, e)
		return
	}
	t.Flush()
	t.take(e)
}

// isAbout says whether an event tells something of what is there: it may come between a boundary and its readings, and
// waits for them. It opens and closes no window, so it does not matter when its time comes.
func isAbout(e event.Event) bool {
	switch e.(type) {
	case *event.CellSource, *event.Limits, *event.Ending:
		return true
	}
	return false
}

// take takes in an event when the boundary before it is settled.
func (t *Tracker) take(e event.Event) {
	switch e := e.(type) {
	case *event.Start:
		t.session.start = e
		for _, info := range e.Processes {
			t.introduce(info)
		}
	case *event.Process:
		t.introduce(e.ProcessInfo)
	case *event.CellSource:
		t.source(e)
	case *event.Boundary:
		t.settleClosed()
		t.drawn = *e
		t.pending = &t.drawn
	case *event.Limits:
		t.processes.limited(e)
	case *event.Ending:
		t.processes.ending(e)
	case *event.Settled:
		finish(t, &e.Finish)
		t.handOnAll()
	case *event.Finish:
		finish(t, e)
	}
}

// finish takes in how the session has ended. Where that is said again it takes the first one's place: that had less.
func finish(t *Tracker, f *event.Finish) {
	isOver := t.session.finish != nil
	t.session.finish = f
	t.table.inTheEnd.unsaid(f.Lost, t.table.closings)
	t.processes.blindTo(f.Blind)
	if !isOver {
		t.endAll()
		t.compare(f.Shells)
	}
}

// source gives a cell its text. It may come a while after the cell's end.
func (t *Tracker) source(e *event.CellSource) {
	w := t.cells[e.Cell]
	if w == nil {
		w = t.told[e.Cell]
	}
	if w == nil || w.slot == 0 {
		return
	}
	text, whole := t.texts.keep(e.Text)
	w.source, w.truncated = text, e.Truncated || !whole
	if w.lines = 0; !w.truncated && e.Text != "" {
		typed := strings.TrimRight(e.Text, "\r\n")
		w.lines = 1 + strings.Count(typed, "\n") + strings.Count(typed, "\r") - strings.Count(typed, "\r\n")
	}
}

// lineOf is a line of a cell, 0 where it has none such: one that its text has not is of something else.
func (w *window) lineOf(line int) int {
	if w != nil && w.lines > 0 && line > w.lines {
		return 0
	}
	return line
}

// Flush settles the last boundary, as an [event.Lull] does. A reading of it that comes only after that counts with the
// next boundary of its tree, which makes peaks of other processes too low: a live session reads until none is to come
// (ledger.Poll).
func (t *Tracker) Flush() {
	if t.pending == nil {
		return
	}
	b, readings, about := t.pending, t.readings, t.about
	t.pending, t.readings, t.about, t.behind = nil, nil, nil, 0
	t.settle(b, readings)
	for _, e := range about {
		t.take(e)
	}
}

func (pb *problems) add(text string) {
	if len(pb.texts) < 100 {
		pb.texts = append(pb.texts, text)
	}
}
