package attribution

import (
	"slices"

	"ipytracer/event"
	"ipytracer/model"
	"ipytracer/model/words"
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

var kindNames = [...]string{model.Session, model.Experiment, model.Cell, model.Statement, "between", "life"}

// A process has its windows, and a window its process: so both are here.

// window is a run of segments of one tree, seen from one process. What others ask of it is here; the rest is in its
// detail, which an archived window has not: see [windowTable.whole].
type window struct {
	*detail
	archived uint64 // where in the archive it is, 0 for nowhere
	id       int
	kind     windowKind
	parent   *window
	process  *process
	root     uint32
	isOpen   bool
	slot     int   // where it is in all windows, from 1; 0 for nowhere
	number   int32 // of those that are never archived whole, from 1; 0 for none

	firstSegment, lastSegment uint64
	opened, closed            event.Nanoseconds
	closing                   uint64 // the how manyth it was to close

	execution int
	count     int  // In[N], -1 if there is none
	silent    bool // of a cell: IPython did not store it
	late      bool // of a cell: it was not seen to begin
	missed    bool // of a cell: it was not seen to end
	doubted   bool // of a cell: what was seen of it cannot be all
	told      bool // of a cell: its front end said when it was done with it
	untold    bool // of a cell: it did not
	// resultless: of a cell that was seen to end, but not to have its result.
	resultless bool
	// dropped: it turned out to be none.
	dropped   bool
	truncated bool
	tid       int32
	cell      uint64
	file      string // of a cell: what its code says it is from
	line      int
	name      string
	source    uint32 // of a cell: the number of its text
	status    string
	failure   string // of a cell: the type of the exception that ended it
	note      string
	lastLine  int     // of a cell: the line of its last statement so far
	lines     int     // of a cell: how many its text has; 0 where that is not known
	statement *window // of a cell: the statement that runs
	hooks     *window // of a cell: what follows its result, while it does
	atResult  *window // of a cell, while hooks are open: the cell as it is if nobody says when they are over
	birth     *birth  // in an audit: what blocks that are made here refer to

	before, after *window // of the time between: the cells around it
}

// detail is what only a report asks of a window.
type detail struct {
	measured
	since, until            uint64 // the cuts at which it opened and closed
	openStream, closeStream uint64
	openCPU, closeCPU       event.Nanoseconds
	openFrees, closeFrees   event.Frees
	// openCounters and closeCounters are nil where nothing was counted.
	openCounters, closeCounters *event.Counters

	shed []event.Meter // meters that were stepped down at some time in the window
	// unlisted are stacks that were not walked at some time in the window, to keep the budget: event.Stacks and its
	// like.
	unwalked []event.Group
	tallies  map[event.Meter]*tallies
	// talliesAt is where they are in the archive, 0 for nowhere.
	talliesAt uint64
	// isSettled: it closed long ago, and its tallies are summed up.
	isSettled bool
	// uncounted: so many others of its process were open that who allocated in it is not known.
	uncounted bool
	refused   []model.Refusal
	// refusedBy are the stacks of the largest requests in refused.
	refusedBy []uint64
	foreign   model.Foreign
	suspended model.Suspended

	doubts *doubts // nil for none
	// openStatements and openMarkers are how many of them had been refused when it opened.
	openStatements, openMarkers uint64
}

// isOwn says whether a cell is a request of its front end's: no cell within a cell, nor one of another thread.
func (w *window) isOwn() bool {
	return w.tid == w.process.info.PID && (w.parent == nil || w.parent.kind != kindCell)
}

// isReported says whether a window is one of the contract's.
func (k windowKind) isReported() bool { return k != kindBetween && k != kindLife }

// holds says whether a segment of a tree is one of the window's.
func (w *window) holds(root uint32, segment uint64) bool {
	return w.root == root && w.firstSegment <= segment && (w.isOpen || segment <= w.lastSegment)
}

// Limits of what is kept: a target can make windows without end.
const (
	maxStatements  = 400_000
	maxExperiments = 100_000 // so that a flood of them leaves cells their room
	maxWindows     = 700_000
	// maxOpen is how many cells and experiments of a tree may be open at once, maxCounted in how many windows of a
	// process it is counted who allocates.
	maxOpen    = 1 << 16
	maxCounted = 256
)

// stays says whether other windows may refer to a window as long as there is a report to be made.
func (w *window) stays() bool {
	return w.kind == kindCell || w.kind == kindSession || w.kind == kindLife
}

func (w *window) addNote(note string) { w.note = words.Join(w.note, note) }

// unknown says whether a meter became known only after a window.
func (w *window) unknown(m event.Meter) bool {
	return !w.isOpen && slices.ContainsFunc(w.process.learnedAt, func(l learning) bool {
		return l.meter == m && w.closing <= l.closed
	})
}

// lineOf is a line of a cell, 0 where it has none such: one that its text has not is of something else.
func (w *window) lineOf(line int) int {
	if w != nil && w.lines > 0 && line > w.lines {
		return 0
	}
	return line
}

// measured is what the meters say of a window, once it is over.
type measured struct {
	own, tree  figures
	recomputed levels // the process's own peaks, by the change stream
	children   []child
	unlisted   int // children that had no room
	// shared is what forked children had from their parent at birth and have not replaced by a program: the tree counts
	// it once, and copies they made of it by writing are in no counter, so while there is sharing it is a lower bound.
	shared  levels
	sharing bool
	// crowded: there were more processes than are followed, so what they share with their parents is not known.
	crowded bool
	// by how much meters may be off since they were stepped down, at most at any time
	unsure [event.UnknownKinds]event.Bytes
}

// child is what another process did in a window.
type child struct {
	process *process
	figures figures
}

// birth is where in the notebook a block was made.
type birth struct {
	cell   *window // nil if no cell ran
	line   int     // of the statement; 0 if none ran
	status string  // of the statement, or else the cell; "" while it runs
}

// failed says whether an exception ended the statement.
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

// last is what a process was doing when it ended, and how it ended.
type last struct {
	cell             *window // the innermost that was open, nil for none
	id, line         int     // of its statement that was, or of the cell
	inStatement      bool
	resident, mapped event.Bytes // the most in its last segment
	ending           *event.Ending
}

// experiments are those of a process that are open.
type experiments struct {
	byName map[string][]*window // innermost last
	open   int
	// refused are the names of those that were not opened, innermost of their name, with how many; crowded: some of
	// these are not known.
	refused map[string]int
	crowded bool
	closed  int // the id of the one that closed last, 0 for none
}

// kernels are the processes of a session that run cells, or could. Where there are several, each has a name: two of
// them have an In[1].
type kernels struct {
	all   []*process
	stale bool // names are to be found anew
}
