package tracer

import (
	"strings"
	"time"

	"ipytracer/tracer/host/process"
	"ipytracer/tracer/python/cpython"
)

// python is the interpreter of a target.
type python struct {
	file   *process.MappedFile
	memory *process.Memory
	binary *cpython.Binary
	live   *cpython.Interpreter
	sites  cpython.Sites
	inputs uint64 // address of In, 0 until found
	count  int64  // its length when last read
	stored int64  // its length as of the newest cell that was heard of, 0 if not known
	// unseen are the cells that In had by the time the probes were in, of which no window is known, until the next cell
	// begins: that tells.
	unseen int64
	ready  bool // the main interpreter's address is known
	// codeFrees: it is seen when a code object is freed.
	codeFrees bool
	// modules is its sys.path as of when libraries were expected there.
	modules  []string
	expected bool
	learning learning
	shown    cpython.Exception // the exception shown last
	stale    bool              // a later cell had begun when that was read: it may be that one's
	ipython  string
	front    string
	notebook string // that it says it runs
	terminal bool   // its shell is a terminal's
}

// complete says whether everything that can be learned has been, or was tried long enough.
func (p *python) complete() bool { return p.ready && p.inputs != 0 || p.learning.isOver() }

// learning is how long one has tried to learn of an interpreter what is only there once it, or IPython in it, has
// started.
type learning struct{ first, last time.Time }

// An interpreter that starts is looked into 200 times a second at most, however fast records come, and for 12 s: most
// Pythons never become an IPython. A cell that begins later is looked at all the same.
const (
	betweenLessons = 5 * time.Millisecond
	lessonsFor     = 12 * time.Second
)

// begin notes that a look is taken now.
func (l *learning) begin() {
	l.last = time.Now()
	if l.first.IsZero() {
		l.first = l.last
	}
}

func (l *learning) isDue() bool { return time.Since(l.last) >= betweenLessons }

func (l *learning) isOver() bool { return !l.first.IsZero() && time.Since(l.first) > lessonsFor }

func (p *python) close() {
	if p.file != nil {
		p.file.File.Close()
	}
	if p.memory != nil {
		p.memory.Close()
	}
}

func (p *python) version() string {
	v := p.binary.Version()
	if v.Micro < 0 {
		if full, err := p.live.PythonVersion(); err == nil && strings.HasPrefix(full, v.String()) {
			return strings.ToValidUTF8(full, "?")
		}
	}
	return v.String()
}

// oneMore is what len(In) was when a cell began, from what it is by now: later cells may have begun. IPython stores at
// most one for each.
func (p *python) oneMore(now int64) int64 {
	if p.stored <= 0 {
		return now
	}
	return min(now, p.stored+1)
}

// ran is how many cells IPython has stored of a process that began within the session.
func (p *python) ran(late bool) int64 {
	if late || p.inputs == 0 {
		return 0
	}
	n, err := p.live.ListLen(p.inputs)
	if err != nil {
		return 0
	}
	return max(0, n-1)
}
