package tracer

import (
	"strings"
	"time"

	"ipytracer/internal/host/process"
	"ipytracer/internal/python/cpython"
)

// python is the interpreter of a target.
type python struct {
	file   *process.MappedFile
	memory *process.Memory
	binary *cpython.Binary
	live   *cpython.Interpreter
	sites  cpython.Sites
	inputs uint64 // address of In, 0 until found
	count  int64  // the length of In when last read
	stored int64  // the length of In as of the newest cell known, 0 if not known
	// unseen is the number of cells without a window that In had when the probes were attached. The beginning of the
	// next cell settles it.
	unseen int64
	ready  bool // the main interpreter's address is known
	// codeFrees: the freeing of code objects is seen.
	codeFrees bool
	// modules is its sys.path at the time when libraries were expected there.
	modules  []string
	expected bool
	learning learning
	shown    cpython.Exception // the exception shown last
	stale    bool              // a later cell had begun when shown was read: the exception may be from that one
	ipython  string
	front    string
	notebook string // the notebook that it says it runs
	terminal bool   // its shell is at a terminal
}

// complete reports whether all state of the interpreter is known, or the time to learn it is over.
func (p *python) complete() bool { return p.ready && p.inputs != 0 || p.learning.isOver() }

// learning records since when the session has tried to learn the state that exists only once the interpreter, or
// IPython in it, has started.
type learning struct{ first, last time.Time }

// An interpreter that starts is examined at most 200 times a second, however fast records come, and for 12 s: most
// Python processes never run IPython. After that it is examined only when a cell begins.
const (
	betweenLessons = 5 * time.Millisecond
	lessonsFor     = 12 * time.Second
)

// begin notes the time of a look.
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

// oneMore returns len(In) at the beginning of a cell, from its present value: later cells may have begun. IPython
// stores at most one entry for each.
func (p *python) oneMore(now int64) int64 {
	if p.stored <= 0 {
		return now
	}
	return min(now, p.stored+1)
}

// ran returns the number of cells that IPython has stored in a process that began within the session.
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
