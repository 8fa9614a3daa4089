package attribution

import (
	"slices"

	"ipytracer/report"
	"ipytracer/tracer/event"
)

type windowKind uint8

const (
	kindSession windowKind = iota
	kindExperiment
	kindCell
	kindStatement
	kindBetween // no window of the contract: the time in which a process runs no cell
	kindLife    // nor is this: a process that another of its tree started; it is for the report's lines
)

var kindNames = [...]string{report.Session, report.Experiment, report.Cell, report.Statement, "between", "life"}

// figures are the three readings from which everything a window reports is derived.
type figures struct{ start, peak, end event.Readings }

func startFigures(value event.Readings) figures { return figures{value, value, value} }

func (f *figures) see(value, high event.Readings) {
	f.peak = maxReadings(f.peak, high)
	f.end = value
}

// window is a run of segments of one tree, seen from one process.
type window struct {
	id      int
	kind    windowKind
	parent  *window
	process *process
	root    uint32
	isOpen  bool

	firstSegment, lastSegment uint64
	openStream, closeStream   uint64
	opened, closed            event.Nanoseconds
	openCPU, closeCPU         event.Nanoseconds
	openUnknown, closeUnknown uint64
	openDevice, closeDevice   uint64 // frees of device or page-locked memory of unknown size
	openSlack, closeSlack     event.Bytes
	unsure, unsureTorch       event.Bytes // by how much NumPy's meter, and PyTorch's, may be off, at most at any time
	openHeap, closeHeap       event.Bytes // an upper bound of what frees of malloc's blocks of unknown size were worth

	openUnknownHeap, closeUnknownHeap   uint64      // how many
	openTorch, closeTorch               event.Bytes // the same for tensors on the CPU
	openUnknownTorch, closeUnknownTorch uint64

	own, tree  figures
	recomputed event.Readings
	children   map[int32]*figures
	// shares is what forked children had from their parent at birth and have not replaced by a program: the tree
	// counts it once, and copies they made of it by writing are in no counter.
	shares map[int32]event.Readings
	silent bool
	shed   [event.MeterCount]bool // the meter was stepped down at some time in the window
	// unlisted are stacks that were not walked at some time in the window, to keep the budget: event.Stacks and its like.
	unlisted map[string]bool
	tallies  map[event.Meter]*tallies
	// isSettled: it closed long ago, and its tallies are summed up.
	isSettled bool
	// unknown: the meter became known only after the window.
	unknown [event.MeterCount]bool
	refused []report.Refusal
	// refusedBy are the stacks of the largest requests in refused.
	refusedBy []uint64
	foreign   report.Foreign

	execution int
	count     int  // In[N], -1 if there is none
	late      bool // of a cell: it was not seen to begin
	missed    bool // of a cell: it was not seen to end
	doubted   bool // of a cell: what was seen of it cannot be all
	tid       int32
	told      bool // of a cell: its front end said when it was done with it
	untold    bool // of a cell: it did not
	// resultless: of a cell that was seen to end, but not to have its result.
	resultless bool
	cell       uint64
	file       string // of a cell: what its code says it is from
	line       int
	name       string
	source     string
	truncated  bool
	status     string
	note       string
	statement  *window // of a cell: the statement that runs
	lastLine   int     // of a cell: the line of its last statement so far
	hooks      *window // of a cell: what follows its result, while it does
	atResult   *window // of a cell, while hooks are open: the cell as it is if nobody says when they are over
	birth      *birth  // in an audit: what blocks that are made here refer to

	before, after *window // of the time between: the cells around it
}

func (w *window) unlist(text string) {
	if w.unlisted == nil {
		w.unlisted = map[string]bool{}
	}
	w.unlisted[text] = true
}

// isOwn says whether a cell is a request of its front end's: no cell within a cell, nor one of another thread.
func (w *window) isOwn() bool {
	return w.tid == w.process.info.PID && (w.parent == nil || w.parent.kind != kindCell)
}

// isReported says whether a window is one of the contract's.
func (w *window) isReported() bool { return w.kind != kindBetween && w.kind != kindLife }

// holds says whether a segment of a tree is one of the window's.
func (w *window) holds(root uint32, segment uint64) bool {
	return w.root == root && w.firstSegment <= segment && (w.isOpen || segment <= w.lastSegment)
}

// openWindow begins a window at a boundary: it holds every segment after the one that ends there.
func (t *Tracker) openWindow(p *process, b *event.Boundary, kind windowKind, parent *window) *window {
	w := &window{
		kind: kind, parent: parent, process: p, root: b.Root, isOpen: true, firstSegment: b.Segment + 1, count: -1,
		openStream: b.Stream, opened: b.Time, openCPU: b.CPUTime, openUnknown: b.Unknown, openSlack: b.Slack, openDevice: b.UnknownDevice, openHeap: b.HeapSlack,
		openUnknownHeap: b.UnknownHeap, openUnknownTorch: b.UnknownTorch, openTorch: b.TorchSlack, unsure: b.Unsure, unsureTorch: b.UnsureTorch,
		own: startFigures(b.Value), tree: startFigures(b.Tree), recomputed: b.Value, status: report.OK,
	}
	w.id = t.nextID // the time between cells is no window of a report: it has the number of what comes next
	if w.isReported() {
		t.nextID++
	}
	for _, other := range t.order {
		if other != p && other.root == b.Root && other.alive {
			f := startFigures(other.value)
			w.child(other.info.PID, &f)
			if birth, forked := t.forked[other.info.PID]; forked {
				w.share(other.info.PID, birth)
			}
		}
	}
	r := t.root(b.Root)
	w.shed = r.shed
	if t.audit != nil {
		w.line = int(b.Line)
		t.audit.openBirth(w)
	}
	for text, now := range r.unlisted {
		if now {
			w.unlist(text)
		}
	}
	t.keep(w)
	r.open = append(r.open, w)
	return w
}

// Limits of what is kept: a target can make windows without end.
const (
	maxStatements = 200_000
	maxWindows    = 500_000
)

// keep remembers a window for the report, or counts it where there are too many.
func (t *Tracker) keep(w *window) {
	if w.kind == kindStatement {
		t.statements++
		if t.audit != nil { // what it made remembers it
			return
		}
	}
	if len(t.windows) >= maxWindows || w.kind == kindStatement && t.statements > maxStatements {
		t.dropped++
		return
	}
	t.windows = append(t.windows, w)
}

func (w *window) child(pid int32, f *figures) {
	if w.children == nil {
		w.children = map[int32]*figures{}
	}
	w.children[pid] = f
}

func (w *window) share(pid int32, birth event.Readings) {
	if w.shares == nil {
		w.shares = map[int32]event.Readings{}
	}
	w.shares[pid] = birth
}

// see takes in a segment that ends.
func (w *window) see(b *event.Boundary, moved moves, changes map[int32]*event.Readings, forked map[int32]event.Readings) {
	pid := w.process.info.PID
	w.tree.see(b.Tree, b.TreeHigh)
	if m, ok := moved[pid]; ok {
		w.own.see(m.value, m.high)
		w.recomputed = maxReadings(w.recomputed, m.value)
	}
	if high := changes[pid]; high != nil {
		w.recomputed = maxReadings(w.recomputed, *high)
	}
	for other, m := range moved {
		if other == pid {
			continue
		}
		f := w.children[other]
		_, copies := forked[other]
		if f == nil || b.Kind == event.ProcessExec && other == b.PID && copies {
			// Born within the window, or what it was forked with is gone: it had nothing at its start.
			f = &figures{}
			w.child(other, f)
		}
		f.see(m.value, m.high)
		if other == b.PID && b.Kind == event.ProcessExit {
			f.end = event.Readings{}
		}
	}
}

// closeWindow ends a window at a boundary whose segment it has seen.
func (t *Tracker) closeWindow(w *window, b *event.Boundary) {
	if !w.isOpen {
		return
	}
	w.end(b)
	t.leave(w)
}

// end notes where a window ends: at a boundary whose segment it has seen.
func (w *window) end(b *event.Boundary) {
	w.isOpen = false
	if w.birth != nil {
		w.birth.status = w.status
	}
	w.lastSegment, w.closeStream = b.Segment, b.Stream
	w.closed, w.closeCPU = b.Time, b.CPUTime
	w.closeUnknownHeap = b.UnknownHeap
	w.closeUnknownTorch, w.closeTorch = b.UnknownTorch, b.TorchSlack
	w.closeUnknown, w.closeSlack, w.closeDevice, w.closeHeap = b.Unknown, b.Slack, b.UnknownDevice, b.HeapSlack
}

// leave takes a window out of those that are open.
func (t *Tracker) leave(w *window) {
	r := t.root(w.root)
	if i := slices.Index(r.open, w); i >= 0 {
		r.open = slices.Delete(r.open, i, i+1)
	}
	if w.kind != kindSession && w.kind != kindLife { // their tallies are the report's lines
		t.closing = append(t.closing, w)
	}
}
