package attribution

import (
	"ipytracer/event"
)

// closing is a statement that ended.
type closing struct {
	birth  *birth
	closed event.Nanoseconds
}

// latest is the most windows that a change can be late.
const latest = 64

// vforkLag is the longest time from when a parent resumes after vfork until its child is seen to execute its program:
// the kernel lets the parent go when the child's old memory is released, and reports the new program after that.
const vforkLag = event.Nanoseconds(100e6)

// births records in which statement, cell or time between cells blocks are allocated and processes started.
type births struct {
	processes *processes
	recent    [latest]*window   // the last windows that an audit keeps
	opened    int               // the number of such windows
	started   map[int32]*birth  // where its first ancestor was started, by process
	statement map[int32]closing // the last that ended, by process
}

func newBirths(p *processes) *births {
	return &births{processes: p, started: map[int32]*birth{}, statement: map[int32]closing{}}
}

// open gives a window that has opened the birth that its blocks will refer to.
func (bs *births) open(w *window, line int) {
	switch w.kind {
	case kindCell:
		w.birth = &birth{cell: w}
	case kindStatement:
		w.birth = &birth{cell: w.parent, line: line}
	case kindBetween:
		w.birth = &birth{}
	}
	if w.kind.isAudited() {
		bs.remember(w)
	}
}

// turn makes a statement that was none the time between cells.
func (bs *births) turn(w *window) {
	*w.birth = birth{}
	bs.remember(w)
}

// remember records a window for changes that come late.
func (bs *births) remember(w *window) {
	bs.recent[bs.opened%latest] = w
	bs.opened++
}

// innermost returns the innermost statement, cell or time between cells of the process at a change.
func (bs *births) innermost(r *root, c *event.Change) (found *window) {
	if c.Segment <= r.ended {
		return bs.innermostBefore(c)
	}
	p := bs.processes.byPID[c.PID]
	if p == nil {
		return nil
	}
	for _, w := range p.windows {
		if w.birth != nil && w.root == c.Root && w.firstSegment <= c.Segment &&
			(found == nil || w.firstSegment >= found.firstSegment) {
			found = w
		}
	}
	return found
}

// innermostBefore returns the innermost window, among the last cells, for a change that comes late.
func (bs *births) innermostBefore(c *event.Change) *window {
	for i := bs.opened - 1; i >= max(0, bs.opened-latest); i-- {
		w := bs.recent[i%latest]
		if w.birth != nil && !w.dropped && w.process.info.PID == c.PID && w.holds(c.Root, c.Segment) {
			return w
		}
	}
	return nil
}

// start records which statement started a process, directly or through the process that started it.
func (bs *births) start(b *event.Boundary) {
	from := bs.started[b.Parent]
	if p := bs.processes.byPID[b.Parent]; p != nil {
		for _, w := range p.windows {
			if w.root == b.Root && w.birth != nil && w.kind != kindBetween {
				from = w.birth
			}
		}
	}
	if from != nil {
		bs.started[b.PID] = from
	} else {
		delete(bs.started, b.PID)
	}
}

// close records the statement of a process that ended last.
func (bs *births) close(pid int32, one closing) { bs.statement[pid] = one }

// execute records where a child of vfork was started: it begins with its program.
func (bs *births) execute(b *event.Boundary) {
	bs.start(b)
	now, last := bs.started[b.PID], bs.statement[b.Parent]
	if (now == nil || now.line == 0) && last.birth != nil && b.Time-last.closed <= vforkLag {
		bs.started[b.PID] = last.birth
	}
}
