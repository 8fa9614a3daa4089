package tracee

import (
	"strings"
	"time"

	"ipytracer/internal/host/process"
	"ipytracer/internal/python/cpython"
)

// Python is the interpreter of a target.
type Python struct {
	File   *process.MappedFile
	Memory *process.Memory
	Binary *cpython.Binary
	Live   *cpython.Interpreter
	Sites  cpython.Sites
	Inputs uint64 // address of In, 0 until found
	Count  int64  // the length of In when last read
	Stored int64  // the length of In as of the newest cell known, 0 if not known
	// Unseen is the number of cells without a window that In had when the probes were attached. The beginning of the
	// next cell settles it.
	Unseen int64
	Ready  bool // the main interpreter's address is known
	// CodeFrees: the freeing of code objects is seen.
	CodeFrees bool
	// Modules is its sys.path at the time when libraries were expected there.
	Modules  []string
	Expected bool
	Learning Learning
	Shown    cpython.Exception // the exception shown last
	Stale    bool              // a later cell had begun when shown was read: the exception may be from that one
	IPython  string
	Front    string
	Notebook string // the notebook that it says it runs
	Terminal bool   // its shell is at a terminal
	Marimo   bool   // its command line is one of marimo, which may run cells in it
}

// Complete reports whether all state of the interpreter is known, or the time to learn it is over.
func (p *Python) Complete() bool { return p.Ready && p.Inputs != 0 || p.Learning.isOver() }

// Learning records since when the session has tried to learn a Python's state. Some state exists only once the
// interpreter, or IPython in it, has started.
type Learning struct{ First, last time.Time }

// An interpreter that starts is examined at most 200 times a second, however fast records come, and for 12 s: most
// Python processes never run IPython. After that it is examined only when a cell begins.
const (
	betweenLessons = 5 * time.Millisecond
	lessonsFor     = 12 * time.Second
)

// Begin notes the time of a look.
func (l *Learning) Begin() {
	l.last = time.Now()
	if l.First.IsZero() {
		l.First = l.last
	}
}

func (l *Learning) IsDue() bool { return time.Since(l.last) >= betweenLessons }

func (l *Learning) isOver() bool { return !l.First.IsZero() && time.Since(l.First) > lessonsFor }

func (p *Python) Close() {
	if p.File != nil {
		p.File.File.Close()
	}
	if p.Memory != nil {
		p.Memory.Close()
	}
}

func (p *Python) Version() string {
	v := p.Binary.Version()
	if v.Micro < 0 {
		if full, err := p.Live.PythonVersion(); err == nil && strings.HasPrefix(full, v.String()) {
			return strings.ToValidUTF8(full, "?")
		}
	}
	return v.String()
}

// OneMore returns len(In) at the beginning of a cell, from the present len(In). Later cells may have begun, and IPython
// stores at most one entry for each cell.
func (p *Python) OneMore(now int64) int64 {
	if p.Stored <= 0 {
		return now
	}
	return min(now, p.Stored+1)
}

// Ran returns the number of cells that IPython has stored in a process that began within the session.
func (p *Python) Ran(late bool) int64 {
	if late || p.Inputs == 0 {
		return 0
	}
	n, err := p.Live.ListLen(p.Inputs)
	if err != nil {
		return 0
	}
	return max(0, n-1)
}

// Waits reports whether a process waits for the next request, by its status. While it waits, ipykernel ignores SIGINT,
// and a terminal's prompt handles SIGWINCH (the prompt of --simple-prompt does not).
func (p *Python) Waits(status *process.Status) (waits, known bool) {
	const interrupt, windowChange = 1 << (2 - 1), 1 << (28 - 1)
	switch p.Front {
	case cpython.FrontendKernel:
		return status.Ignored&interrupt != 0, true
	case cpython.FrontendTerminal:
		return status.Caught&windowChange != 0, true
	}
	return false, false
}

// A kernel does not know which notebook it runs. The program that starts the kernel may have set it: a Jupyter server
// puts the notebook's path into the environment (JPY_SESSION_NAME), VS Code into a variable in the notebook. The user
// can set both. So they are only a name for people to read.

const (
	sessionVariable = "JPY_SESSION_NAME"
	codesVariable   = "__vsc_ipynb_file__"

	maxNotebook = 1024 // bytes of a path; a longer one is not kept
)

// NotebookOf returns the path of the notebook that a process says it runs; "" for none.
func NotebookOf(fs process.FS, pid int, live *cpython.Interpreter) string {
	if path := live.Text("__main__", codesVariable); isPath(path) {
		return strings.ToValidUTF8(path, "\ufffd")
	}
	found, err := fs.Proc(pid).Variables(sessionVariable)
	if path := found[sessionVariable]; err == nil && isPath(path) {
		return strings.ToValidUTF8(path, "\ufffd")
	}
	return ""
}

func isPath(path string) bool { return path != "" && len(path) <= maxNotebook }
