// Package attribution turns events into windows: which memory belongs to which cell, statement, experiment or
// to the time between. It is pure: no I/O, no clocks, no goroutines; the same events give the same report.
//
// The kernel ledger cuts time into segments (see bpf/ledger.h). A window is a run of whole segments, so its
// peak is the largest of its segments' maxima, and windows may nest and overlap freely. Beside that, the peak
// of every window is computed a second time from the change stream; where the stream is complete the two must
// agree, and the certificate says whether they did.
package attribution

import (
	"fmt"
	"slices"

	"ipytracer/tracer/event"
)

// Tracker consumes events in the order of their Source. The zero value is not usable, see [New].
type Tracker struct {
	start               *event.Start
	finish              *event.Finish
	began               event.Nanoseconds // time of the first boundary
	last                event.Nanoseconds // time of the last
	processes           map[int32]*process
	order               []*process
	roots               map[uint32]*root
	windows             []*window
	cells               map[uint64]*window
	statements, dropped int // made so far; not kept
	nextID              int
	numbered            uint64 // the highest number of a boundary
	boundaries          uint64 // how many came: they may pass each other, none may be missing
	problems            []string
	unseen              int64 // cells that In has and no window
	stacksShed          bool  // they were not, at some time
	gpus                gpus
	allocations         allocations
	files               map[fileKey][]*window    // the cells that a file name stands for
	audit               *audit                   // nil unless for an audit
	listed              []*event.Variables       // the last of each process
	where               []*event.Residence       // likewise
	forked              map[int32]event.Readings // processes that have executed no program since their fork: what they were born with

	pending  *event.Boundary // its readings may still follow
	readings []*event.Reading
	behind   int       // changes that came after it
	done     []*window // cells that closed since the last Finished
	closing  []*window // closed, but not settled
}

// process is one traced process over its traced life.
type process struct {
	info        event.ProcessInfo
	root        uint32
	parent      int32
	began, gone event.Nanoseconds
	ended       bool
	alive       bool
	value       event.Readings // as last told
	life        figures
	inputs      int64
	open        []*window // cells that run, innermost last
	experiments []*window
	between     *window
	lastCell    *window
	ranCells    int32   // cells that are over
	session     *window // of a root
	whole       *window // of a Python that another process of the tree started
}

// root is the tree of one attached process.
type root struct {
	executions int
	stream     stream
	ordered    ordered
	open       []*window
	// highs of segments not yet ended, by segment, pid and meter, from the change stream.
	changes map[uint64]map[int32]*event.Readings
	ended   uint64          // the last segment that ended
	last    *event.Boundary // that ended it
	// learned are values that windows had from their beginning, asked what moved no meter, of segments not yet ended.
	learned []*event.Change
	asked   []event.Event
	tree    event.Readings
	// between are the changes that were made while a boundary was being drawn.
	between  []event.Change
	sides    sides
	shed     [event.MeterCount]bool // the meter is stepped down now
	reasons  map[shedReason]bool    // why; see sheds
	unlisted map[string]bool        // stacks that are not walked now
}

// shedReason is why a meter is stepped down: the Text of the boundary that says so.
type shedReason struct {
	meter event.Meter
	why   string
}

// maxBehind is how many changes may come between a boundary and its readings: more than a ring of 16 MiB holds, for the
// changes are read before each record of the boundaries' ring.
const maxBehind = 1 << 18

// maxBetween is how many of these are kept: they are rare.
const maxBetween = 1 << 16

// New returns a Tracker that has seen nothing.
func New() *Tracker {
	return &Tracker{
		processes: map[int32]*process{}, roots: map[uint32]*root{}, cells: map[uint64]*window{},
		forked: map[int32]event.Readings{}, nextID: 1,
		allocations: newAllocations(), files: map[fileKey][]*window{},
	}
}

// Add takes the next event in.
func (t *Tracker) Add(e event.Event) {
	switch e := e.(type) {
	case *event.Reading:
		// One of an earlier boundary, passed by another CPU's, counts with the later one: better than not at all.
		if t.pending != nil {
			t.readings = append(t.readings, e)
		}
		return
	case *event.Change:
		t.change(e)
		if t.behind++; t.behind > maxBehind { // by now they would have come
			t.Flush()
		}
		return
	case *event.Refusal, *event.Foreign:
		t.asked(e)
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
		t.where = append(slices.DeleteFunc(t.where, func(known *event.Residence) bool { return known.PID == e.PID }), e)
		return
	}
	t.Flush()
	switch e := e.(type) {
	case *event.Start:
		t.start = e
		for _, info := range e.Processes {
			t.introduce(info)
		}
	case *event.Process:
		t.introduce(e.ProcessInfo)
	case *event.CellSource:
		for i := len(t.windows) - 1; i >= 0; i-- { // it may come after the cell's end
			if w := t.windows[i]; w.kind == kindCell && w.cell == e.Cell {
				w.source, w.truncated = e.Text, e.Truncated
				break
			}
		}
	case *event.Boundary:
		t.settleClosed()
		t.pending = e
	case *event.Finish:
		t.finish = e
		t.endAll()
		t.compare(e.Shells)
	}
}

// Flush settles the last boundary. A live caller calls it when no more is to be read for now; the outcome does
// not depend on when.
func (t *Tracker) Flush() {
	if t.pending == nil {
		return
	}
	b, readings := t.pending, t.readings
	t.pending, t.readings, t.behind = nil, nil, 0
	t.settle(b, readings)
}

// introduce learns about a process, or learns more.
func (t *Tracker) introduce(info event.ProcessInfo) {
	p := t.process(info.PID, info.Root)
	p.info = info
	if p.inputs < 0 {
		p.inputs = info.Inputs
		if !info.Late { // what has been stored by now was stored while its cells were watched: In begins with one empty entry
			p.inputs = min(p.inputs, 1)
		}
	}
	if info.Python != "" && p.alive && p.parent != 0 && p.session == nil && p.whole == nil && t.audit == nil {
		p.whole = t.openWindow(p, t.now(p), kindLife, nil)
	}
}

func (t *Tracker) process(pid int32, root uint32) *process {
	p := t.processes[pid]
	if p == nil {
		p = &process{info: event.ProcessInfo{PID: pid, Root: root, Inputs: -1}, root: root, inputs: -1}
		t.processes[pid] = p
		t.order = append(t.order, p)
	}
	return p
}

func (t *Tracker) root(id uint32) *root {
	r := t.roots[id]
	if r == nil {
		r = &root{changes: map[uint64]map[int32]*event.Readings{}}
		t.roots[id] = r
	}
	return r
}

// change files one value of the stream under its segment.
func (t *Tracker) change(c *event.Change) {
	r := t.root(c.Root)
	r.stream.received(c.Stream)
	if c.Learned {
		t.gpus.mark(c.Meter)
		learned := *c
		r.learned = append(r.learned, &learned) // its segment's windows may not have opened yet
	}
	t.inOrder(r, c.Stream, c)
	if c.Between {
		if len(r.between) < maxBetween {
			r.between = append(r.between, *c)
		}
		return
	}
	if c.Segment <= r.ended {
		t.late(r, c)
		return
	}
	segment := r.changes[c.Segment]
	if segment == nil {
		segment = map[int32]*event.Readings{}
		r.changes[c.Segment] = segment
	}
	high := segment[c.PID]
	if high == nil {
		high = &event.Readings{}
		segment[c.PID] = high
	}
	high[c.Meter] = max(high[c.Meter], c.Value)
}

// late gives a change whose segment is over to the windows that hold the segment.
func (t *Tracker) late(r *root, c *event.Change) {
	for _, w := range t.windowsOf(r, c) {
		w.recomputed[c.Meter] = max(w.recomputed[c.Meter], c.Value)
	}
}

// apply carries out what the boundary says.
func (t *Tracker) apply(r *root, b *event.Boundary) {
	p := t.process(b.PID, b.Root)
	if t.audit != nil {
		t.audit.boundary(t, p, b)
	}
	switch b.Kind {
	case event.Attached:
		t.join(p, b)
		p.session = t.openWindow(p, b, kindSession, nil)
		t.startBetween(p, b)
	case event.Detached:
		t.closeProcess(p, b, stillRuns)
		for _, other := range t.order { // kernels of a server
			if other != p && other.root == p.root && other.alive {
				t.closeProcess(other, t.now(other), stillRuns)
			}
		}
	case event.ProcessStart:
		t.join(p, b)
		p.parent = b.Parent
		t.forked[b.PID] = b.Value
		for _, w := range r.open {
			w.share(b.PID, b.Value)
		}
	case event.ProcessExec:
		t.unmapAll(r, b)
		t.exec(p, b)
	case event.ProcessExit:
		p.ended, p.alive, p.gone = true, false, b.Time
		t.closeProcess(p, b, "the process ended")
		p.value = event.Readings{}
		delete(t.forked, b.PID)
		t.forgetRanges(b.PID)
	case event.CellOpen:
		t.openCell(r, p, b)
	case event.CellResult:
		t.cellResult(p, b)
	case event.CellClose:
		t.closeCell(p, b)
	case event.StatementOpen:
		t.openStatement(p, b)
	case event.StatementClose:
		t.closeStatement(b, outcomeStatus(b.Outcome))
	case event.ExperimentBegin:
		w := t.openWindow(p, b, kindExperiment, p.session)
		w.name = b.Text
		p.experiments = append(p.experiments, w)
	case event.ExperimentEnd:
		t.endExperiment(p, b)
	case event.MeterShed, event.MeterBack:
		t.shedding(r, b)
	}
}

func (t *Tracker) join(p *process, b *event.Boundary) {
	p.began, p.alive, p.root = b.Time, true, b.Root
	p.life = startFigures(b.Value)
	if b.Text != "" && p.info.Command == "" {
		p.info.Command = b.Text
	}
}

// exec: the same process with another program; what it was doing is over.
func (t *Tracker) exec(p *process, b *event.Boundary) {
	if !p.alive {
		t.join(p, b)
		p.parent = b.Parent
	}
	for len(p.open) > 0 {
		t.abandonCell(p, b, "the process executed another program")
	}
	if b.Text != "" {
		p.info.Command = b.Text
	}
	if t.isForked(b.PID) { // what it was forked with was its parent's
		delete(t.forked, b.PID)
		for _, w := range t.root(b.Root).open {
			delete(w.shares, b.PID)
		}
		p.life = startFigures(b.Value)
		p.life.peak = b.High
	}
	p.inputs = -1
	if p.session == nil && p.parent == 0 {
		p.session = t.openWindow(p, b, kindSession, nil)
		t.startBetween(p, b)
	}
}

func (t *Tracker) isForked(pid int32) bool {
	_, forked := t.forked[pid]
	return forked
}

// stillRuns is the note of a cell that a detach cut off.
const stillRuns = "still running when the session ended"

// endAll closes what a stream left open: a recording that was cut.
func (t *Tracker) endAll() {
	for _, p := range t.order {
		t.closeProcess(p, t.now(p), "the recording ends here")
	}
}

// now is a boundary at the end of the last segment, where the kernel drew none.
func (t *Tracker) now(p *process) *event.Boundary {
	b := &event.Boundary{Time: t.last, Root: p.root, PID: p.info.PID, Value: p.value}
	r := t.roots[p.root]
	if r == nil {
		return b
	}
	b.Stream, b.Segment, b.Tree = r.stream.made, r.ended, r.tree
	if last := r.last; last != nil {
		b.Unknown, b.Slack, b.UnknownDevice = last.Unknown, last.Slack, last.UnknownDevice
		b.UnknownHeap, b.HeapSlack, b.UnknownTorch, b.TorchSlack = last.UnknownHeap, last.HeapSlack, last.UnknownTorch, last.TorchSlack
	}
	return b
}

func (t *Tracker) problem(format string, args ...any) {
	if len(t.problems) < 100 {
		t.problems = append(t.problems, fmt.Sprintf(format, args...))
	}
}

func maxReadings(a, b event.Readings) event.Readings {
	for m := range a {
		a[m] = max(a[m], b[m])
	}
	return a
}
