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
	windowPlace
	stretch
	cellFacts
	links
	kind    windowKind
	parent  *window
	process *process
	dropped bool // it turned out to be no window
	line    int
	name    string
	status  string
	note    *note
}

// windowPlace is the place of a window among the others.
type windowPlace struct {
	id       int
	slot     int    // place in all windows, from 1; 0 for none
	number   int32  // place in those that are never archived whole, from 1; 0 for none
	closing  uint64 // place, from 1, in the order of closing
	archived uint64 // place in the archive, 0 for none
}

// stretch is the segments of a window.
type stretch struct {
	root                      uint32
	isOpen                    bool
	firstSegment, lastSegment uint64
	opened, closed            event.Nanoseconds
}

// cellFacts are what is known of a cell.
type cellFacts struct {
	cell       uint64
	execution  int
	count      int // In[N], -1 if there is none
	tid        int32
	file       string // the file name in its code
	source     uint32 // the number of its text
	truncated  bool   // the text is cut
	lines      int    // number of lines of its text; 0 where that is not known
	lastLine   int    // the line of its last statement so far
	failure    string // the type of the exception that ended it
	silent     bool   // IPython did not store it
	late       bool   // its beginning was not seen
	missed     bool   // its end was not seen
	doubted    bool   // a part of it was not seen
	resultless bool   // its end was seen, but not its result
	ending     cellEnding
}

// cellEnding is what the front end of a cell reported of its end.
type cellEnding uint8

const (
	endingOpen       cellEnding = iota // the cell runs, or nothing has to be reported
	endingReported                     // the front end reported that the cell finished
	endingUnreported                   // it did not, and had to
)

// links are the other windows that a window refers to.
type links struct {
	statement     *window // of a cell: the statement that runs
	hooks         *window // of a cell: the hooks after its result, while they run
	atResult      *window // of a cell, while hooks are open: the cell as it is if the end of the hooks is not reported
	before, after *window // of the time between cells: the cells around it
	birth         *birth  // in an audit: the place that blocks allocated here refer to
}

// detail has the fields of a window that only a report needs.
type detail struct {
	measured
	counts
	since, until uint64 // the cuts at which it opened and closed

	shed []event.Meter // meters that were paused at some time in the window
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
	doubts    *doubts // nil for none
}

// counts are the counts of the boundaries at which a window opened and closed.
type counts struct {
	openStream, closeStream uint64
	openCPU, closeCPU       event.Nanoseconds
	openFrees, closeFrees   event.Frees
	// openCounters and closeCounters are nil where nothing was counted.
	openCounters, closeCounters *event.Counters
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

// endsAnywhere allows the meters of a closed window to have ended at any value: it is not certain that anything was
// freed after the peak.
func (w *window) endsAnywhere() {
	all := []course.Figures{w.own, w.tree}
	for i := range w.children {
		all = append(all, w.children[i].figures)
	}
	for _, one := range all {
		for i := range one {
			one[i].End = one[i].Highest()
		}
	}
}

// overAt marks the cell of a process with a front end that waited for the next request: a cell of its main thread, if
// it was open then, and any that its front end did not report as finished.
func (w *window) overAt(at event.Nanoseconds) {
	if w.isOwn() && w.note.is(words.StillRuns) && w.opened < at {
		w.missed, w.note = true, alone(words.NoEnd)
	}
	w.missed = w.missed || w.ending == endingUnreported
}
