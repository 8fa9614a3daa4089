package attribution

import (
	"regexp"
	"strconv"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
	"ipytracer/model"
)

// countOf returns N of In[N], -1 for none: IPython appends a cell to In before it compiles it, unless the cell is
// silent.
func (p *process) countOf(b *event.Boundary) int {
	if b.Inputs >= 0 {
		grew := b.Inputs > p.inputs || p.reset(b.Inputs) && b.Inputs > 1
		p.inputs = b.Inputs
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
func (p *process) reset(inputs int64) bool { return inputs >= 0 && inputs < p.inputs }

// cellNow returns the cell that runs in a process, or else the last one that ran; nil for none.
func (p *process) cellNow() *window {
	if n := len(p.open); n > 0 {
		return p.open[n-1]
	}
	return p.lastCell
}

// learn records, for a meter that became known, the number of windows that had closed by then.
func (p *process) learn(m event.Meter, closed uint64) {
	for i := range p.learnedAt {
		if p.learnedAt[i].meter == m {
			p.learnedAt[i].closed = closed
			return
		}
	}
	p.learnedAt = append(p.learnedAt, learning{m, closed})
}

// reached takes in the maxima of a process from before its end, where the end came first.
func (p *process) reached(high *event.Readings, meters []event.Meter) {
	for _, m := range meters {
		if high[m] == 0 {
			continue
		}
		p.past.Need(m).High.Push(p.left, high[m])
		f := p.life.Need(m)
		f.Peak = max(f.Peak, high[m])
	}
}

// lateCount returns N of In[N] of a cell that was not seen to begin, as the tracer found it out.
func lateCount(p *process, b *event.Boundary) int {
	p.inputs = max(p.inputs, b.Inputs)
	return max(int(b.Inputs)-1, -1)
}

var terminalCell = regexp.MustCompile(`^<ipython-input-(\d{1,9})-`)

// shares returns how much of a meter a forked child still has from its parent, at most.
func (p *process) shares(m event.Meter) event.Bytes {
	if !p.isForked {
		return 0
	}
	return p.copied.Of(m)
}

// own returns how much of a meter a process has at present, without what it shares with its parent.
func (ps *processes) own(p *process, m event.Meter) event.Bytes {
	shared := p.shares(m)
	if parent := ps.byPID[p.parent]; p.isFound && parent != nil {
		shared = min(shared, parent.past.Value(m))
	}
	return max(p.past.Value(m)-shared, 0)
}

// isCopyIn reports whether a process shares memory with its parent at some time in a window.
func (p *process) isCopyIn(w *window) bool {
	return p.copied != nil && (p.isForked || p.left > w.since)
}

// figuresIn returns the figures of a process in a window of another process.
func (p *process) figuresIn(w *window, atStart bool) course.Figures {
	if since := p.replaced; since > w.since { // the memory that it was forked with is gone: it had none at its start
		return p.past.Figures(since-1, false)
	}
	return p.past.Figures(w.since, atStart)
}

// risesTo reports whether a meter by which cells are ranked was at least as high in a window as in all of its process
// before, and records the new highs.
func (p *process) risesTo(w *window) (highest bool) {
	for _, all := range [...]course.Figures{w.own, w.tree} {
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

// process is one traced process over its traced life.
type process struct {
	info        event.ProcessInfo
	index       int // in the order they came
	root        uint32
	parent      int32
	began, gone event.Nanoseconds
	ended       bool
	alive       bool
	adopted     bool // it had begun before there was room for it
	memory
	heritage
	ownWindows
	last      last // its state when it ended
	limits    []model.Limit
	blind     course.Unprobed
	crest     *stacks.Crest
	learnedAt []learning
	kernels   *kernels // nil unless it is one
	name      string   // its name among them: see process.kernel
	pool      string   // the pool in which it waits for the next task at the end
}

// memory is the course of a process's meters.
type memory struct {
	past         course.Gauges
	life         course.Figures
	lives        course.Steps // 1 from its beginning, 0 from its end
	moved        uint64       // the last cut at which it moved
	left         uint64       // the cut at which it ended
	counted      uint64       // the last cut after which a block moved, or memory was refused
	older, newer *process     // in the order in which they moved
}

// heritage is the memory that a process has from its parent.
type heritage struct {
	copied   course.Levels // memory it had at its birth by a fork, until it executes a program
	isForked bool          // it still has that memory, and lives
	isFound  bool          // it was forked before the attach: of its memory then, its parent's size bounds what it shares
	replaced uint64        // the cut at which it executed a program after a fork
}

// ownWindows are the windows of a process.
type ownWindows struct {
	inputs      int64
	open        []*window // cells that run, innermost last
	windows     []*window // all open windows in which the stacks that allocate are counted
	experiments experiments
	between     *window
	lastGap     *window // the last stretch of time in which it ran no cell
	lastCell    *window
	session     *window // of a root
	whole       *window // of a Python that another process of the tree started
	hasWindows  bool
	tops        course.Levels // the highest of any cell so far
	ranCells    int32         // cells that are over
	hadCell     bool          // a cell was ended at its result
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

// kernels are the processes of a session that run cells, or could. Where there are several, each has a name: two of
// them have an In[1].
type kernels struct {
	all   []*process
	stale bool // names must be found again
}
