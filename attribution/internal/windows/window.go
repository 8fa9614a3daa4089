package windows

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// WindowKind says what a window is of.
type WindowKind uint8

const (
	KindSession WindowKind = iota
	KindExperiment
	KindCell
	KindStatement
	KindBetween // the time in which a process runs no cell; not reported as a window
	KindLife    // the life of a process that another process of its tree started; only for the report's lines
)

var KindNames = [...]string{model.Session, model.Experiment, model.Cell, model.Statement, "between", "life"}

// Window is a run of segments of one tree, seen from one process. A Window has the fields that other windows need. The
// other fields are in its Detail, which is nil while the window is archived: see [Table.Whole].
type Window struct {
	*Detail
	windowPlace
	Stretch
	CellFacts
	links
	Kind    WindowKind
	Parent  *Window
	Process *Process
	Dropped bool // it turned out to be no window
	Line    int
	Name    string
	Status  string
	Note    *Note
}

// windowPlace is the place of a window among the others.
type windowPlace struct {
	ID       int
	Slot     int    // place in Table.Slots, from 1; 0 for none
	number   int32  // place in Table.Staying, from 1; 0 for none
	Closing  uint64 // place in the order of closing, from 1
	archived uint64 // place of its detail in the archive, 0 for none
}

// Stretch is the segments of a window.
type Stretch struct {
	Root                      uint32
	IsOpen                    bool
	FirstSegment, LastSegment uint64
	Opened, Closed            event.Nanoseconds
}

// CellFacts are what is known of a cell.
type CellFacts struct {
	Cell       uint64
	Execution  int
	Count      int // In[N], -1 if there is none
	TID        int32
	File       string // the file name in its code
	Source     uint32 // the number of its text in texts
	Truncated  bool   // only the beginning of the text is known
	Lines      int    // number of lines of its text; 0 if not known
	LastLine   int    // the line of its last statement so far
	Failure    string // the type of the exception that ended it
	Silent     bool   // IPython did not store it
	Late       bool   // its beginning was not seen
	Missed     bool   // its end was not seen
	Doubted    bool   // a part of it was not seen
	Resultless bool   // its end was seen, but not its result
	Ending     cellEnding
}

// cellEnding is what the front end of a cell reported of its end.
type cellEnding uint8

const (
	endingOpen       cellEnding = iota // the cell runs, or nothing has to be reported
	EndingReported                     // the front end reported that the cell finished
	EndingUnreported                   // the front end should have reported that the cell finished, and did not
)

// links are the other windows that a window refers to.
type links struct {
	Statement     *Window // of a cell: the statement that runs
	Hooks         *Window // of a cell: the hooks after its result, while they run
	AtResult      *Window // of a cell, while hooks are open: the cell as it is if the end of the hooks is not reported
	Before, After *Window // of the time between cells: the cells around it
	Birth         *Birth  // in an audit: the place that blocks allocated here refer to
}

// Detail has the fields of a window that only a report needs.
type Detail struct {
	Measured
	Counts
	Since, Until uint64 // the cuts at which it opened and closed

	Paused []event.Meter // meters that were paused at some time in the window
	// PausedStacks are groups whose stacks were not walked at some time in the window, to keep the budget. An example
	// is event.Stacks.
	PausedStacks []event.Group
	Tallies      map[event.Meter]*stacks.Tallies
	talliesAt    uint64 // place of Tallies in the archive, 0 for none
	// IsSettled: the window closed long ago, and its tallies are summed up.
	IsSettled bool
	// Uncounted: too many other windows of the process were open, so the stacks that allocated in this one are not
	// known.
	Uncounted bool
	Refused   []model.Refusal
	// RefusedBy has, for each entry of Refused, the largest of its requests.
	RefusedBy []*Refusal
	foreign   model.Foreign
	Suspended model.Suspended
	Doubts    *doubts // nil for none
	// Opening has the memory of the process's container when the window opened. It is not needed once the window is
	// closed.
	Opening   event.Container
	Container *model.Container // without its bound; nil if it is not known
}

// Counts are the counts of the boundaries at which a window opened and closed.
type Counts struct {
	OpenStream, CloseStream uint64
	OpenCPU, CloseCPU       event.Nanoseconds
	OpenFrees, CloseFrees   event.Frees
	// OpenSwapped and CloseSwapped are memory of the process in swap; below 0 where it is not known.
	OpenSwapped, CloseSwapped event.Bytes
	// OpenCounters and CloseCounters are nil where nothing was counted.
	OpenCounters, CloseCounters *event.Counters
	// openStatements and openMarkers count the statements and markers that had been refused when the window opened.
	openStatements, openMarkers uint64
}

// IsOwn reports whether a cell is a request of its front end: neither a cell within a cell, nor a cell of another
// thread.
func (w *Window) IsOwn() bool {
	return w.TID == w.Process.Info.PID && (w.Parent == nil || w.Parent.Kind != KindCell)
}

// IsReported reports whether windows of a kind are in the report.
func (k WindowKind) IsReported() bool { return k != KindBetween && k != KindLife }

// Holds reports whether the window contains a segment of a tree.
func (w *Window) Holds(root uint32, segment uint64) bool {
	return w.Root == root && w.FirstSegment <= segment && (w.IsOpen || segment <= w.LastSegment)
}

// Limits of what is kept: a target can make windows without end.
const (
	maxStatements  = 400_000
	MaxExperiments = 100_000 // so that a flood of them leaves cells their room
	maxWindows     = 700_000
	// maxOpen is the largest number of cells and experiments of a tree that may be open at once. MaxCounted is the
	// largest number of windows of a process in which the stacks that allocate are counted.
	maxOpen    = 1 << 16
	MaxCounted = 256
	// MaxEnded is the largest number of closed experiments of a process that are kept for [Tracker.ExperimentsAfter].
	MaxEnded = 1 << 10
)

// stays reports whether other windows may refer to a window as long as there is a report to be made.
func (w *Window) stays() bool {
	return w.Kind == KindCell || w.Kind == KindSession || w.Kind == KindLife
}

// AddNote adds a note to those of a window.
func (w *Window) AddNote(kind words.NoteKind) { w.Note = w.Note.And(words.Note{Kind: kind}) }

// Unknown reports whether the values of a meter became known only after the window had closed.
func (w *Window) Unknown(m event.Meter) bool {
	return !w.IsOpen && slices.ContainsFunc(w.Process.learnedAt, func(l learning) bool {
		return l.meter == m && w.Closing <= l.closed
	})
}

// LineOf returns line, or 0 if the cell's text has fewer lines: the line then belongs to other code.
func (w *Window) LineOf(line int) int {
	if w != nil && w.Lines > 0 && line > w.Lines {
		return 0
	}
	return line
}

// Measured has the figures of a window, once it is over.
type Measured struct {
	Own, Tree  course.Figures
	Recomputed course.Levels // the process's own peaks, by the change stream
	Children   []child
	Unlisted   int // children that had no room
	// Shared is the memory that forked children got from their parent, and still have because they have not executed a
	// program. The tree counts shared memory once. Copies that children make by writing are in no counter. So while
	// memory is shared, the tree's figures are lower bounds.
	Shared  course.Levels
	Sharing bool
	// Crowded: some processes were not followed, so the memory that they share with their parents is not known.
	Crowded bool
	// unsure is the most by which meters were off at any time after a pause
	unsure [event.UnknownKinds]event.Bytes
}

// child has the figures of another process in a window.
type child struct {
	Process *Process
	Figures course.Figures
}

// Birth is the place in the notebook where a block was allocated.
type Birth struct {
	Cell   *Window // nil if no cell ran
	Line   int     // of the statement; 0 if none ran
	Status string  // of the statement, or else the cell; "" while it runs
}

// Failed reports whether an exception ended the statement.
func (b *Birth) Failed() bool { return b.Status == model.Error || b.Status == model.Interrupted }

// IsAudited reports whether an audit keeps windows of a kind. Of a statement an audit keeps only the births of blocks.
func (k WindowKind) IsAudited() bool { return k != KindStatement && k != KindLife }

// MissesStacks reports whether stacks of a meter were not walked at some time in the window.
func (w *Window) MissesStacks(m event.Meter) bool {
	return slices.ContainsFunc(m.Facts().StacksPaused, func(stacks event.Group) bool {
		return slices.Contains(w.PausedStacks, stacks)
	})
}

// Freed reports whether frees of blocks with unseen allocations change a window's figures. off bounds the error of the
// figures, in bytes, that such frees and pauses of the meter cause. sized is false if there is no bound.
func (w *Window) Freed(kind event.UnknownKind) (freed bool, off event.Bytes, sized bool) {
	off = w.unsure[kind]
	if w.IsOpen || w.CloseFrees.Unknown[kind] <= w.OpenFrees.Unknown[kind] {
		return false, off, true
	}
	slack := w.CloseFrees.Slack[kind] - w.OpenFrees.Slack[kind]
	return true, off + slack, slack > 0 && !kind.Facts().Boundless
}

// Left returns the bytes that a stack held when the process's last cell was over: frees at the process's exit do not
// count. If the process ran no cell, or runs one now, Left returns the bytes that the stack holds now.
func (w *Window) Left(y *stacks.Tally) event.Bytes {
	if p := w.Process; p.RanCells > 0 && len(p.Open) == 0 && y.Cells == p.RanCells {
		return max(0, y.Held-y.Since)
	}
	return max(0, y.Held)
}

// IsOfTop reports whether the window's process is the one whose tree the kernel half adds up: the process that was
// attached to or started, and not a process below it.
func (w *Window) IsOfTop() bool {
	top := w
	for top.Parent != nil {
		top = top.Parent
	}
	return top.Kind == KindSession && top.Process == w.Process
}

// RaiseEnds sets the end of each figure to its highest value: it is not certain that anything was freed after the peak.
func (w *Window) RaiseEnds() {
	lists := []course.Figures{w.Own, w.Tree}
	for i := range w.Children {
		lists = append(lists, w.Children[i].Figures)
	}
	for _, figures := range lists {
		for i := range figures {
			figures[i].End = figures[i].Highest()
		}
	}
}

// MarkOver marks a cell whose end was missed. At the time at, the front end waited for its next request, so no cell
// ran. A cell of the main thread that was open then is over. So is a cell whose end the front end did not report.
func (w *Window) MarkOver(at event.Nanoseconds) {
	if w.IsOwn() && w.Note.Is(words.StillRuns) && w.Opened < at {
		w.Missed, w.Note = true, NewNote(words.NoEnd)
	}
	w.Missed = w.Missed || w.Ending == EndingUnreported
}
