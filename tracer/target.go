package tracer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"time"

	"ipytracer/event"
	"ipytracer/tracer/host/process"
	"ipytracer/tracer/python/cpython"
)

// target is an attached process, or a Python child of one.
type target struct {
	pid    int
	root   uint32
	child  bool
	slot   uint32
	handle *process.Handle
	python *python
	gone   bool
	late   bool // it ran before the session
	// before are the addresses of arrays from before the session that lived as NumPy's meter was paused first; nil: not
	// known.
	before map[uint64]bool
	// announced: its ProcessInfo has been handed out.
	announced bool
	limited   bool // by this session
	// instruments are nil until it is equipped; numpy is one of them.
	instruments []instrument
	numpy       *numpyInstrument
	// identified: the ledger knows which GPUs it uses.
	identified bool
	natives    nativeSpace
	// unlisted: it has loaded or unloaded a library since its mappings were looked through.
	unlisted bool
	listed   event.Nanoseconds // when its mappings were gone through last
	// patience is how many more times a process that may yet become a Python is looked at.
	patience int
	looked   time.Time // when it was last
}

// pythonPatience times the time between two looks is 3 s: by then an interpreter has mapped its library.
const (
	pythonPatience = 150
	betweenLooks   = 20 * time.Millisecond
)

func (t *target) isRoot() bool { return !t.child }

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

func isPython(r io.ReaderAt) bool {
	_, err := cpython.Open(r)
	return err == nil
}

// recognize opens the interpreters of the targets, each of which must be a Python.
func (s *Session) recognize(ctx context.Context) error {
	var gone error
	for _, t := range slices.Clone(s.targets.all) {
		var err error
		if t.python, err = s.interpreters.open(t.pid); err == nil {
			err = t.lives() // or it was another one that was looked at
		}
		switch {
		case err != nil && ctx.Err() != nil: // what it did not find may be there
			return context.Cause(ctx)
		case s.targets.tolerates(err):
			s.targets.drop(t)
			gone = err
		case err != nil:
			return err
		default:
			s.examiner.readAhead(t)
		}
	}
	if len(s.targets.all) == 0 {
		return gone
	}
	return nil
}

// lives fails with [process.ErrNoProcess] once a target has ended: from then on its pid may be another process's.
// Whatever was done by its pid before this was done to the target.
func (t *target) lives() error {
	ended, err := t.handle.Exited()
	if err == nil && ended {
		err = &process.Error{PID: t.pid, Kind: process.ErrNoProcess}
	}
	return err
}

// closeProbes takes its probes out, and waits until they are.
func (t *target) closeProbes() {
	var closing sync.WaitGroup
	t.closeInstruments(&closing)
	closing.Wait()
}

func (t *target) close() error {
	var errs []error
	if t.python != nil {
		t.python.close()
	}
	if t.handle != nil {
		errs = append(errs, t.handle.Close())
	}
	return errors.Join(errs...)
}

func cpus() int { return runtime.NumCPU() }

// used is the CPU time of the target, 0 if it cannot be told.
func (t *target) used() event.Nanoseconds {
	if t.handle == nil {
		return 0
	}
	d, err := t.handle.CPUTime()
	if err != nil {
		return 0
	}
	return event.Nanoseconds(d / time.Nanosecond)
}

// memoryClosed says why a process's memory cannot be read.
func memoryClosed(pid int, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return &process.Error{PID: pid, Kind: process.ErrNotPermitted, Cause: err}
	}
	return fmt.Errorf("pid %d: open its memory: %w", pid, err)
}
