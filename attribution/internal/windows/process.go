package windows

import (
	"regexp"
	"strconv"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
	"ipytracer/model"
)

// CountOf returns N of the cell In[N] that opens at a boundary, -1 for none. IPython appends a cell to In before it
// compiles the cell, except for a silent cell.
func (p *Process) CountOf(b *event.Boundary) int {
	if b.Inputs >= 0 {
		isNew := b.Inputs > p.Inputs || p.wasReset(b.Inputs) && b.Inputs > 1
		p.Inputs = b.Inputs
		if isNew {
			return int(b.Inputs) - 1
		}
		return -1
	}
	if m := terminalCell.FindStringSubmatch(b.File); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return -1
}

// wasReset reports whether len(In) shows that In was emptied (%reset).
func (p *Process) wasReset(inputs int64) bool { return inputs >= 0 && inputs < p.Inputs }

// cellNow returns the cell that runs in a process, or else the last one that ran; nil for none.
func (p *Process) cellNow() *Window {
	if n := len(p.Open); n > 0 {
		return p.Open[n-1]
	}
	return p.LastCell
}

// MarkLearned records that a meter became known when closed windows had closed.
func (p *Process) MarkLearned(m event.Meter, closed uint64) {
	for i := range p.learnedAt {
		if p.learnedAt[i].meter == m {
			p.learnedAt[i].closed = closed
			return
		}
	}
	p.learnedAt = append(p.learnedAt, learning{m, closed})
}

// RaiseLate takes in maxima that arrive after the end of a process, which reached them before its end.
func (p *Process) RaiseLate(high *event.Readings, meters []event.Meter) {
	for _, m := range meters {
		if high[m] == 0 {
			continue
		}
		p.Gauges.Need(m).High.Push(p.left, high[m])
		f := p.Life.Need(m)
		f.Peak = max(f.Peak, high[m])
	}
}

// LateCount returns N of In[N] for a cell whose beginning was not seen, -1 for none. The tracer read N from the
// process.
func LateCount(p *Process, b *event.Boundary) int {
	p.Inputs = max(p.Inputs, b.Inputs)
	return max(int(b.Inputs)-1, -1)
}

var terminalCell = regexp.MustCompile(`^<ipython-input-(\d{1,9})-`)

// shares returns how much of a meter a forked child still has from its parent, at most.
func (p *Process) shares(m event.Meter) event.Bytes {
	if !p.IsForked {
		return 0
	}
	return p.Uncopied(course.Level{Bytes: p.Copied.Of(m), Meter: m}, p.Gauges.Value(event.Copied))
}

// Uncopied returns how much of what a process was born with it can still share, if it has copied so many bytes. What it
// copies once it has forked itself may be what it shares with its own children.
func (p *Process) Uncopied(born course.Level, copied event.Bytes) event.Bytes {
	if born.Meter != event.Resident && born.Meter != event.ResidentAnon {
		return born.Bytes
	}
	if p.hasForked {
		copied = min(copied, p.copiedAlone)
	}
	return max(born.Bytes-copied, 0)
}

// DropHeritage records that the memory that a process was forked with is gone.
func (p *Process) DropHeritage() {
	p.Copied, p.IsForked, p.hasForked, p.copiedAlone = nil, false, false, 0
}

// Forks records that a process has forked another one.
func (p *Process) Forks() {
	if !p.hasForked {
		p.hasForked, p.copiedAlone = true, p.Gauges.Value(event.Copied)
	}
}

// sharedIn returns how much of what a process was born with it can share in a window. What it copied before is its own.
func (p *Process) sharedIn(w *Window) (out course.Levels) {
	copied := p.Gauges.Figures(w.Since, true).Of(event.Copied).Start
	if copied == 0 {
		return p.Copied
	}
	for _, l := range p.Copied {
		out = append(out, course.Level{Bytes: p.Uncopied(l, copied), Meter: l.Meter})
	}
	return out
}

// OwnValue returns the present value of a meter without the memory that the process shares with its parent.
func (ps *Processes) OwnValue(p *Process, m event.Meter) event.Bytes {
	shared := p.shares(m)
	if parent := ps.ByPID[p.Parent]; p.IsFound && parent != nil {
		shared = min(shared, parent.Gauges.Value(m))
	}
	return max(p.Gauges.Value(m)-shared, 0)
}

// isCopyIn reports whether a process shares memory with its parent at some time in a window.
func (p *Process) isCopyIn(w *Window) bool {
	return p.Copied != nil && (p.IsForked || p.left > w.Since)
}

// figuresIn returns the figures of a process in a window of another process.
func (p *Process) figuresIn(w *Window, atStart bool) course.Figures {
	if since := p.Replaced; since > w.Since { // the memory that it was forked with is gone: it had none at its start
		return p.Gauges.Figures(since-1, false)
	}
	return p.Gauges.Figures(w.Since, atStart)
}

// RaiseTops records the highs of a window. It reports whether any meter by which cells are ranked was at least as high
// as in all windows of the process before.
func (p *Process) RaiseTops(w *Window) (highest bool) {
	for _, figures := range [...]course.Figures{w.Own, w.Tree} {
		for _, f := range figures {
			if f.Meter != event.Resident && f.Meter < event.CPUMeters {
				continue
			}
			if top := f.Highest(); top > 0 && top >= p.tops.Of(f.Meter) {
				p.tops.Raise(f.Meter, top)
				highest = true
			}
		}
	}
	return highest
}

// Process is one traced process over its traced life.
type Process struct {
	Info        event.ProcessInfo
	Index       int // in the order they came
	Root        uint32
	Parent      int32
	Began, Gone event.Nanoseconds
	Ended       bool
	Alive       bool
	Adopted     bool // it had begun before there was room for it
	memory
	heritage
	ownWindows
	Last      last // its state when it ended
	Limits    []model.Limit
	unprobed  course.Unprobed
	Crest     *stacks.Crest
	learnedAt []learning
	container containerCourse
	// SwappedNow is its memory in swap at its last boundary; below 0 if that is not known.
	SwappedNow event.Bytes
	HasMoved   bool     // to another container, at some time
	kernels    *kernels // nil unless the process is a kernel
	name       string   // its name among the kernels: see [Process.Kernel]
	Pool       string   // the pool in which it waits for the next task at the end
}

// memory is the course of a process's meters.
type memory struct {
	Gauges       course.Gauges
	Life         course.Figures
	lives        course.Steps // 1 from its beginning, 0 from its end
	moved        uint64       // the last cut at which it moved
	left         uint64       // the cut at which it ended
	Counted      uint64       // the last cut after which a block moved, or memory was refused
	older, newer *Process     // neighbours in the list of processes in the order of moved
}

// heritage is the memory that a process has from its parent.
type heritage struct {
	Copied   course.Levels // memory it had at its birth by a fork, until it executes a program
	IsForked bool          // the process lives and still has that memory
	// IsFound: the process was forked before the attach, so part of Copied may be its own. The parent's value bounds
	// the shared part.
	IsFound  bool
	Replaced uint64 // the cut at which it executed a program after a fork

	hasForked   bool
	copiedAlone event.Bytes // what it had copied when it first forked another process
}

// ownWindows are the windows of a process.
type ownWindows struct {
	Inputs      int64
	Open        []*Window // cells that run, innermost last
	Windows     []*Window // all open windows in which the stacks that allocate are counted
	Experiments Experiments
	Between     *Window
	LastBetween *Window // the last stretch of time in which it ran no cell
	LastCell    *Window
	Session     *Window // of a root
	Lifetime    *Window // of a Python that another process of the tree started
	HasWindows  bool
	tops        course.Levels // the highest values of any cell so far
	RanCells    int32         // number of cells that are over
	HadCell     bool          // a cell was ended at its result
}

// learning records the number of windows that had closed when a meter became known.
type learning struct {
	meter  event.Meter
	closed uint64
}

// last is the state of a process when it ended, and how it ended.
type last struct {
	cell             *Window     // the innermost open cell, nil for none
	id, line         int         // of the open statement, or else of the cell
	Statement        *Window     // the open statement, nil for none
	resident, mapped event.Bytes // the highest values in its last segment
	Ending           *event.Ending
}

// kernels are the processes of a session that run cells, or could. If there are several, each has a name, because each
// has an In[1].
type kernels struct {
	all   []*Process
	stale bool // names must be found again
}

// containerCourse is the course of the memory of a process's container, at the process's boundaries.
type containerCourse struct {
	last    event.Container
	segment uint64       // the segment that ended with last
	moved   uint64       // the cut at which the process was found in another container
	reset   uint64       // the cut at which Linux's highest value was found to be lower than before
	usage   course.Peaks // at boundaries, and where the process gave memory back
}
