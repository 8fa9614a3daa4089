package attribution

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

type windowKind uint8

const (
	kindSession windowKind = iota
	kindExperiment
	kindCell
	kindStatement
	kindBetween // not reported: the time in which a process runs no cell
	kindLife    // not reported: a process that another of its tree started; it is for the report's lines
)

var kindNames = [...]string{model.Session, model.Experiment, model.Cell, model.Statement, "between", "life"}

// window and process refer to each other, so both are here.

// window is a run of segments of one tree, seen from one process. Fields that other windows need are here; the rest is
// in its detail, which an archived window lacks: see [windowTable.whole].
type window struct {
	*detail
	archived uint64 // place in the archive, 0 for none
	id       int
	parent   *window
	process  *process
	root     uint32
	kind     windowKind
	isOpen   bool
	slot     int // place in all windows, from 1; 0 for none

	firstSegment, lastSegment uint64
	opened, closed            event.Nanoseconds
	closing                   uint64 // its place, from 1, in the order of closing

	execution int
	count     int  // In[N], -1 if there is none
	silent    bool // of a cell: IPython did not store it
	late      bool // of a cell: its beginning was not seen
	missed    bool // of a cell: its end was not seen
	doubted   bool // of a cell: a part of it was not seen
	told      bool // of a cell: its front end reported that it finished
	untold    bool // of a cell: its front end did not report that
	// resultless: of a cell: its end was seen, but not its result.
	resultless bool
	// dropped: it turned out to be no window.
	dropped   bool
	truncated bool
	tid       int32
	cell      uint64
	file      string // of a cell: the file name in its code
	line      int
	name      string
	number    int32  // place in those that are never archived whole, from 1; 0 for none
	source    uint32 // of a cell: the number of its text
	status    string
	failure   string // of a cell: the type of the exception that ended it
	note      *note
	lastLine  int     // of a cell: the line of its last statement so far
	lines     int     // of a cell: number of lines of its text; 0 where that is not known
	statement *window // of a cell: the statement that runs
	hooks     *window // of a cell: the hooks after its result, while they run
	atResult  *window // of a cell, while hooks are open: the cell as it is if the end of the hooks is not reported
	birth     *birth  // in an audit: the place that blocks allocated here refer to

	before, after *window // of the time between: the cells around it
}

// detail has the fields of a window that only a report needs.
type detail struct {
	measured
	since, until            uint64 // the cuts at which it opened and closed
	openStream, closeStream uint64
	openCPU, closeCPU       event.Nanoseconds
	openFrees, closeFrees   event.Frees
	// openCounters and closeCounters are nil where nothing was counted.
	openCounters, closeCounters *event.Counters

	shed []event.Meter // meters that were stepped down at some time in the window
	// unwalked are stacks that were not walked at some time in the window, to keep the budget: event.Stacks and the
	// like.
	unwalked []event.Group
	tallies  map[event.Meter]*stacks.Tallies
	// talliesAt is their place in the archive, 0 for none.
	talliesAt uint64
	// isSettled: it closed long ago, and its tallies are summed up.
	isSettled bool
	// uncounted: too many others of its process were open, so the stacks that allocated in it are not known.
	uncounted bool
	refused   []model.Refusal
	// refusedBy are the largest requests in refused.
	refusedBy []*refusal
	foreign   model.Foreign
	suspended model.Suspended

	doubts *doubts // nil for none
	// openStatements and openMarkers are the numbers of them that had been refused when it opened.
	openStatements, openMarkers uint64
}

// isOwn reports whether a cell is a request of its front end: no cell within a cell, nor one of another thread.
func (w *window) isOwn() bool {
	return w.tid == w.process.info.PID && (w.parent == nil || w.parent.kind != kindCell)
}

// isReported reports whether windows of a kind are in the report.
func (k windowKind) isReported() bool { return k != kindBetween && k != kindLife }

// holds reports whether a segment of a tree is one of the window's.
func (w *window) holds(root uint32, segment uint64) bool {
	return w.root == root && w.firstSegment <= segment && (w.isOpen || segment <= w.lastSegment)
}

// Limits of what is kept: a target can make windows without end.
const (
	maxStatements  = 400_000
	maxExperiments = 100_000 // so that a flood of them leaves cells their room
	maxWindows     = 700_000
	// maxOpen is the most cells and experiments of a tree that may be open at once; maxCounted is the most windows of a
	// process in which the stacks that allocate are counted.
	maxOpen    = 1 << 16
	maxCounted = 256
	// maxEnded is the most closed experiments of a process that are kept for [Tracker.ExperimentsAfter].
	maxEnded = 1 << 10
)

// stays reports whether other windows may refer to a window as long as there is a report to be made.
func (w *window) stays() bool {
	return w.kind == kindCell || w.kind == kindSession || w.kind == kindLife
}

func (w *window) addNote(kind words.NoteKind) { w.note = w.note.and(words.Note{Kind: kind}) }

// unknown reports whether a meter became known only after a window.
func (w *window) unknown(m event.Meter) bool {
	return !w.isOpen && slices.ContainsFunc(w.process.learnedAt, func(l learning) bool {
		return l.meter == m && w.closing <= l.closed
	})
}

// lineOf returns a line of a cell, 0 where it has no such line: a line that its text does not have is of other code.
func (w *window) lineOf(line int) int {
	if w != nil && w.lines > 0 && line > w.lines {
		return 0
	}
	return line
}

// measured has the figures of a window, once it is over.
type measured struct {
	own, tree  course.Figures
	recomputed course.Levels // the process's own peaks, by the change stream
	children   []child
	unlisted   int // children that had no room
	// shared is the memory that forked children had from their parent at birth and have not replaced by a program. The
	// tree counts it once, and copies they made of it by writing are in no counter, so while there is sharing it is a
	// lower bound.
	shared  course.Levels
	sharing bool
	// crowded: there were more processes than are followed, so what they share with their parents is not known.
	crowded bool
	// the most that meters may be off at any time since they were stepped down
	unsure [event.UnknownKinds]event.Bytes
}

// child has the figures of another process in a window.
type child struct {
	process *process
	figures course.Figures
}

// birth is the place in the notebook where a block was allocated.
type birth struct {
	cell   *window // nil if no cell ran
	line   int     // of the statement; 0 if none ran
	status string  // of the statement, or else the cell; "" while it runs
}

// failed reports whether an exception ended the statement.
func (b *birth) failed() bool { return b.status == model.Error || b.status == model.Interrupted }

// process is one traced process over its traced life.
type process struct {
	info        event.ProcessInfo
	index       int // in the order they came
	root        uint32
	parent      int32
	began, gone event.Nanoseconds
	ended       bool
	alive       bool
	past        course.Gauges
	life        course.Figures
	inputs      int64
	open        []*window // cells that run, innermost last
	windows     []*window // all open windows in which the stacks that allocate are counted
	experiments experiments
	between     *window
	lastGap     *window // the last stretch of time in which it ran no cell
	lastCell    *window
	hasWindows  bool
	tops        course.Levels // the highest of any cell so far
	ranCells    int32         // cells that are over
	hadCell     bool          // a cell was ended at its result
	last        last          // its state when it ended
	limits      []model.Limit
	blind       course.Unprobed
	session     *window // of a root
	crest       *stacks.Crest
	whole       *window // of a Python that another process of the tree started
	adopted     bool    // it had begun before there was room for it
	learnedAt   []learning
	kernels     *kernels // nil unless it is one
	name        string   // its name among them: see process.kernel
	pool        string   // the pool in which it waits for the next task at the end

	counted  uint64        // the last cut after which a block moved, or memory was refused
	lives    course.Steps  // 1 from its beginning, 0 from its end
	moved    uint64        // the last cut at which it moved
	left     uint64        // the cut at which it ended
	copied   course.Levels // memory it had at its birth by a fork, until it executes a program
	isForked bool          // it still has that memory, and lives
	// it was forked before the attach: of its memory then, its parent's size bounds what it shares
	isFound      bool
	replaced     uint64 // the cut at which it executed a program after a fork
	older, newer *process
}

// learning records the number of windows that had closed when a meter became known.
type learning struct {
	meter  event.Meter
	closed uint64
}

// last is the state of a process when it ended, and how it ended.
type last struct {
	cell             *window     // the innermost that was open, nil for none
	id, line         int         // of its open statement, or of the cell
	statement        *window     // nil for none
	resident, mapped event.Bytes // the most in its last segment
	ending           *event.Ending
}

// experiments are the open experiments of a process.
type experiments struct {
	byName map[string][]*window // innermost last
	open   int
	// refused has the names of experiments that were not opened, with their number, each innermost of its name;
	// crowded: some of these are not known.
	refused map[string]int
	crowded bool
	// ended has the ids of those that closed last, in the order in which they closed; endings is the number of all.
	ended   []int32
	endings int
}

// kernels are the processes of a session that run cells, or could. Where there are several, each has a name: two of
// them have an In[1].
type kernels struct {
	all   []*process
	stale bool // names must be found again
}

// isAudited reports whether an audit keeps windows of a kind. Of a statement, the births of its blocks remain.
func (k windowKind) isAudited() bool { return k != kindStatement && k != kindLife }

// missesStacks reports whether stacks of a meter were not walked at some time in the window.
func (w *window) missesStacks(m event.Meter) bool {
	return slices.ContainsFunc(m.Facts().Unwalked, func(stacks event.Group) bool {
		return slices.Contains(w.unwalked, stacks)
	})
}

// freed reports whether frees of blocks with unseen allocations change a window's figures. off is the bytes by which
// the figures are off for that and because a meter was stepped down. sized: off can be stated.
func (w *window) freed(kind event.UnknownKind) (freed bool, off event.Bytes, sized bool) {
	off = w.unsure[kind]
	if w.isOpen || w.closeFrees.Unknown[kind] <= w.openFrees.Unknown[kind] {
		return false, off, true
	}
	slack := w.closeFrees.Slack[kind] - w.openFrees.Slack[kind]
	return true, off + slack, slack > 0 && !kind.Facts().Boundless
}

// left returns the memory that a stack had when the process's last cell was over: frees at the process's exit do not
// count. Without a cell, or while one runs, it returns the memory that the stack has at the end.
func (w *window) left(y *stacks.Tally) event.Bytes {
	if p := w.process; p.ranCells > 0 && len(p.open) == 0 && y.Cells == p.ranCells {
		return max(0, y.Held-y.Since)
	}
	return max(0, y.Held)
}

// isOfTop reports whether the window's process is the one with the tree that the kernel half adds up: the process that
// was attached to or started, not one below it.
func (w *window) isOfTop() bool {
	top := w
	for top.parent != nil {
		top = top.parent
	}
	return top.kind == kindSession && top.process == w.process
}
