package attribution

import (
	"regexp"
	"strconv"

	"ipytracer/event"
	"ipytracer/model"
)

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

// countOf is In[N]: IPython appends a cell to In before it compiles it, unless the cell is silent.
func (p *process) countOf(b *event.Boundary) int {
	if b.Inputs >= 0 {
		grew := b.Inputs > p.inputs || p.reset(b.Inputs) && b.Inputs > 1
		p.inputs = b.Inputs
		if grew {
			return int(b.Inputs) - 1
		}
		return -1
	}
	if m := terminalCell.FindStringSubmatch(b.Text); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return -1
}

// reset says whether len(In) shows that In was emptied (%reset).
func (p *process) reset(inputs int64) bool { return inputs >= 0 && inputs < p.inputs }

// cellNow is the cell that runs in a process, or else the last one that did; nil for none.
func (p *process) cellNow() *window {
	if n := len(p.open); n > 0 {
		return p.open[n-1]
	}
	return p.lastCell
}

// learn notes that a meter became known when so many windows had closed.
func (p *process) learn(m event.Meter, closed uint64) {
	for i := range p.learnedAt {
		if p.learnedAt[i].meter == m {
			p.learnedAt[i].closed = closed
			return
		}
	}
	p.learnedAt = append(p.learnedAt, learning{m, closed})
}

// reached takes in what a process that has ended had at its highest before that, where its end has come first.
func (p *process) reached(high *event.Readings, meters []event.Meter) {
	for _, m := range meters {
		if high[m] == 0 {
			continue
		}
		p.past.need(m).high.push(p.left, high[m])
		f := p.life.need(m)
		f.peak = max(f.peak, high[m])
	}
}

// lateCount is In[N] of a cell that was not seen to begin: what the tracer has found out.
func lateCount(p *process, b *event.Boundary) int {
	p.inputs = max(p.inputs, b.Inputs)
	return max(int(b.Inputs)-1, -1)
}

var terminalCell = regexp.MustCompile(`^<ipython-input-(\d{1,9})-`)

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

// shares is how much of a meter a forked child still has from its parent, at most.
func (p *process) shares(m event.Meter) event.Bytes {
	if !p.isForked {
		return 0
	}
	return p.copied.of(m)
}

// isCopyIn says whether a process shares memory with its parent at some time in a window.
func (p *process) isCopyIn(w *window) bool {
	return p.copied != nil && (p.isForked || p.left > w.since)
}

// figuresIn are what a process did in a window of another.
func (p *process) figuresIn(w *window, atStart bool) figures {
	if since := p.replaced; since > w.since { // what it was forked with is gone: it had nothing at its start
		return p.past.figures(since-1, false)
	}
	return p.past.figures(w.since, atStart)
}

// kernels are the processes of a session that run cells, or could. Where there are several, each has a name: two of
// them have an In[1].
type kernels struct {
	all   []*process
	stale bool // names are to be found anew
}
