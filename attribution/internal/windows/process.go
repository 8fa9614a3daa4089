package windows

import (
	"regexp"
	"strconv"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
	"ipytracer/model"
)

// CountOf returns N of In[N], -1 for none: IPython appends a cell to In before it compiles it, unless the cell is
// silent.
func (p *Process) CountOf(b *event.Boundary) int {
	if b.Inputs >= 0 {
		grew := b.Inputs > p.Inputs || p.reset(b.Inputs) && b.Inputs > 1
		p.Inputs = b.Inputs
		if grew {
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

// reset reports whether len(In) shows that In was emptied (%reset).
func (p *Process) reset(inputs int64) bool { return inputs >= 0 && inputs < p.Inputs }

// cellNow returns the cell that runs in a process, or else the last one that ran; nil for none.
func (p *Process) cellNow() *Window {
	if n := len(p.Open); n > 0 {
		return p.Open[n-1]
	}
	return p.LastCell
}

// Learn records, for a meter that became known, the number of windows that had closed by then.
func (p *Process) Learn(m event.Meter, closed uint64) {
	for i := range p.learnedAt {
		if p.learnedAt[i].meter == m {
			p.learnedAt[i].closed = closed
			return
		}
	}
	p.learnedAt = append(p.learnedAt, learning{m, closed})
}

// Reached takes in maxima of an ended process that arrive late: it reached them before its end.
func (p *Process) Reached(high *event.Readings, meters []event.Meter) {
	for _, m := range meters {
		if high[m] == 0 {
			continue
		}
		p.Gauges.Need(m).High.Push(p.left, high[m])
		f := p.Life.Need(m)
		f.Peak = max(f.Peak, high[m])
	}
}

// LateCount returns N of In[N] of a cell that was not seen to begin, as the tracer found it out.
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
	return p.Copied.Of(m)
}

// Own returns how much of a meter a process has at present, without what it shares with its parent.
func (ps *Processes) Own(p *Process, m event.Meter) event.Bytes {
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

// RisesTo reports whether a meter by which cells are ranked was at least as high in a window as in all of its process
// before, and records the new highs.
func (p *Process) RisesTo(w *Window) (highest bool) {
	for _, all := range [...]course.Figures{w.Own, w.Tree} {
		for _, f := range all {
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
	kernels   *kernels // nil unless it is one
	name      string   // its name among them: see process.kernel
	Pool      string   // the pool in which it waits for the next task at the end
}

// memory is the course of a process's meters.
type memory struct {
	Gauges       course.Gauges
	Life         course.Figures
	lives        course.Steps // 1 from its beginning, 0 from its end
	moved        uint64       // the last cut at which it moved
	left         uint64       // the cut at which it ended
	Counted      uint64       // the last cut after which a block moved, or memory was refused
	older, newer *Process     // in the order in which they moved
}

// heritage is the memory that a process has from its parent.
type heritage struct {
	Copied   course.Levels // memory it had at its birth by a fork, until it executes a program
	IsForked bool          // it still has that memory, and lives
	// it was forked before the attach: of its memory then, its parent's size bounds what it shares
	IsFound  bool
	Replaced uint64 // the cut at which it executed a program after a fork
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
	tops        course.Levels // the highest of any cell so far
	RanCells    int32         // cells that are over
	HadCell     bool          // a cell was ended at its result
}

// learning records the number of windows that had closed when a meter became known.
type learning struct {
	meter  event.Meter
	closed uint64
}

// last is the state of a process when it ended, and how it ended.
type last struct {
	cell             *Window     // the innermost that was open, nil for none
	id, line         int         // of its open statement, or of the cell
	Statement        *Window     // nil for none
	resident, mapped event.Bytes // the most in its last segment
	Ending           *event.Ending
}

// kernels are the processes of a session that run cells, or could. Where there are several, each has a name: two of
// them have an In[1].
type kernels struct {
	all   []*Process
	stale bool // names must be found again
}
