package instruments

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"ipytracer/internal/host/process"
	"ipytracer/internal/python/cpython"
	"ipytracer/tracer/internal/tracee"
)

// Open opens the interpreter of a process.
func (i *Interpreters) Open(pid int) (_ *tracee.Python, err error) {
	p := &tracee.Python{}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	var found interpreter
	if p.File, err = i.FS.Image(pid).InterpreterFile(func(file *process.MappedFile) (is bool) {
		found, is = i.lookThrough(pid, file)
		return is
	}); err != nil {
		return nil, err
	}
	if found.Err != nil {
		return nil, fmt.Errorf("pid %d: %w", pid, found.Err)
	}
	if st, err := i.FS.Proc(pid).Status(); err == nil && st.Shadowed {
		return nil, fmt.Errorf("pid %d: %w", pid, errShadowed)
	}
	p.Binary, p.Sites = found.binary, found.sites
	if p.Marimo = i.FS.OfMarimo(pid); !p.Marimo {
		p.Sites.Marimo = nil
	}
	if p.Memory, err = i.FS.Proc(pid).OpenMemory(); err != nil {
		return nil, memoryClosed(pid, err)
	}
	bias, ok := p.Binary.Bias(p.File.Mapping.Start, p.File.Mapping.Offset)
	if !ok {
		return nil, fmt.Errorf("pid %d: %w: its interpreter is mapped in an unknown way", pid, process.ErrNotPython)
	}
	if p.Live, err = cpython.NewInterpreter(p.Binary, bias, p.Memory); err != nil {
		return nil, fmt.Errorf("pid %d: %w", pid, err)
	}
	return p, nil
}

// interpreter is the result of the analysis of an interpreter's file. It is kept because the analysis takes some
// hundredths of a second, and a child may have ended by then.
type interpreter struct {
	binary *cpython.Binary
	sites  cpython.Sites
	Err    error // it cannot be probed
}

// Interpreters are the analysed interpreters of a session, by file.
type Interpreters struct {
	FS       process.FS
	Analyses *Analyses // nil: nothing is kept for other sessions
	Known    map[readFile]interpreter
}

// errShadowed refuses a process with shadow stacks. Where Linux carries out a call under a uprobe, it does not write
// the return address to the shadow stack (emulate_push_stack of its uprobes, until 7.1 at least): the process would be
// killed at the return.
var errShadowed = &cpython.UnsupportedError{
	Reason: "its threads have shadow stacks, which Linux's uprobes do not keep; docs/KNOWN_ISSUES.md says how to " +
		"start it without",
}

// maxInterpreters is the largest number of interpreters that a session remembers.
const maxInterpreters = 16

// InterpreterAnalysis analyses an interpreter's file, and keeps the result.
var InterpreterAnalysis = Analysis[cpython.Facts]{
	Subject: "interpreter",
	Find:    InterpreterFacts,
	Places:  func(f cpython.Facts) []uint64 { return f.Sites.Offsets() },
}

// InterpreterFacts analyses a file. The error matches cpython.ErrUnsupported for an interpreter that cannot be probed.
func InterpreterFacts(r io.ReaderAt) (cpython.Facts, error) {
	binary, err := cpython.Open(r)
	if err != nil {
		return cpython.Facts{}, err
	}
	sites, err := binary.Sites()
	if err != nil {
		return cpython.Facts{}, err
	}
	return binary.Facts(sites), nil
}

// lookThrough analyses a file that may be an interpreter's, once for each state of the file.
func (i *Interpreters) lookThrough(pid int, file *process.MappedFile) (found interpreter, is bool) {
	key := identify(file)
	if known, ok := i.Known[key]; ok {
		return known, true
	}
	facts, err := InterpreterAnalysis.Of(i.Analyses, pid, file, file.File)
	if err != nil {
		return interpreter{Err: err}, errors.Is(err, cpython.ErrUnsupported)
	}
	if found.binary, err = cpython.Recall(facts); err != nil {
		return interpreter{Err: err}, true
	}
	found.sites = facts.Sites
	if len(i.Known) < maxInterpreters {
		if i.Known == nil {
			i.Known = map[readFile]interpreter{}
		}
		i.Known[key] = found
	}
	return found, true
}

// Close releases the results that are kept for other sessions.
func (i *Interpreters) Close() {
	i.Analyses.close()
	i.Known = nil
}

func IsPython(r io.ReaderAt) bool {
	_, err := cpython.Open(r)
	return err == nil
}

// memoryClosed returns why a process's memory cannot be read.
func memoryClosed(pid int, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return &process.Error{PID: pid, Kind: process.ErrNotPermitted, Cause: err}
	}
	return fmt.Errorf("pid %d: open its memory: %w", pid, err)
}
