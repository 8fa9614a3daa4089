package audit

import (
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// closing is a statement that ended.
type closing struct {
	birth  *windows.Birth
	closed event.Nanoseconds
}

// maxRecent is the most windows that a change can be late.
const maxRecent = 64

// vforkLag is the longest time between the moment at which a parent resumes after vfork and the exec of its child:
// Linux wakes the parent when the child's old memory is released, and reports the new program after that.
const vforkLag = event.Nanoseconds(100e6)

// births records in which statement, cell or time between cells blocks are allocated and processes started.
type births struct {
	processes *windows.Processes
	recent    [maxRecent]*windows.Window // the last windows that an audit keeps
	opened    int                        // the number of such windows
	started   map[int32]*windows.Birth   // where its first ancestor was started, by process
	statement map[int32]closing          // the last that ended, by process
}

func newBirths(p *windows.Processes) *births {
	return &births{processes: p, started: map[int32]*windows.Birth{}, statement: map[int32]closing{}}
}

// open gives a window that has opened the birth that its blocks will refer to.
func (bs *births) open(w *windows.Window, line int) {
	switch w.Kind {
	case windows.KindCell:
		w.Birth = &windows.Birth{Cell: w}
	case windows.KindStatement:
		w.Birth = &windows.Birth{Cell: w.Parent, Line: line}
	case windows.KindBetween:
		w.Birth = &windows.Birth{}
	}
	if w.Kind.IsAudited() {
		bs.remember(w)
	}
}

// becomeBetween makes a statement that was none the time between cells.
func (bs *births) becomeBetween(w *windows.Window) {
	*w.Birth = windows.Birth{}
	bs.remember(w)
}

// remember records a window for changes that come late.
func (bs *births) remember(w *windows.Window) {
	bs.recent[bs.opened%maxRecent] = w
	bs.opened++
}

// innermost returns the innermost statement, cell or time between cells of a process in which a change was made.
func (bs *births) innermost(r *windows.Tree, c *event.Change) (found *windows.Window) {
	if c.Segment <= r.Ended {
		return bs.innermostBefore(c)
	}
	p := bs.processes.ByPID[c.PID]
	if p == nil {
		return nil
	}
	for _, w := range p.Windows {
		if w.Birth != nil && w.Root == c.Root && w.FirstSegment <= c.Segment &&
			(found == nil || w.FirstSegment >= found.FirstSegment) {
			found = w
		}
	}
	return found
}

// innermostBefore is innermost for a change that comes late: it searches the windows that opened last.
func (bs *births) innermostBefore(c *event.Change) *windows.Window {
	for i := bs.opened - 1; i >= max(0, bs.opened-maxRecent); i-- {
		w := bs.recent[i%maxRecent]
		if w.Birth != nil && !w.Dropped && w.Process.Info.PID == c.PID && w.Holds(c.Root, c.Segment) {
			return w
		}
	}
	return nil
}

// start records which statement started a process, directly or through the process that started it.
func (bs *births) start(b *event.Boundary) {
	birth := bs.started[b.Parent]
	if p := bs.processes.ByPID[b.Parent]; p != nil {
		for _, w := range p.Windows {
			if w.Root == b.Root && w.Birth != nil && w.Kind != windows.KindBetween {
				birth = w.Birth
			}
		}
	}
	if birth != nil {
		bs.started[b.PID] = birth
	} else {
		delete(bs.started, b.PID)
	}
}

// closeStatement records the statement of a process that ended last.
func (bs *births) closeStatement(pid int32, last closing) { bs.statement[pid] = last }

// execute records which statement started a child of vfork. The kernel half sees such a child only from its exec on,
// and then the statement may have ended.
func (bs *births) execute(b *event.Boundary) {
	bs.start(b)
	started, last := bs.started[b.PID], bs.statement[b.Parent]
	if (started == nil || started.Line == 0) && last.birth != nil && b.Time-last.closed <= vforkLag {
		bs.started[b.PID] = last.birth
	}
}
