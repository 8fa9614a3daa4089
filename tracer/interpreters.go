package tracer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"ipytracer/internal/host/process"
	"ipytracer/internal/python/cpython"
)

// open opens the interpreter of a process.
func (i *interpreters) open(pid int) (_ *python, err error) {
	p := &python{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	var found interpreter
	if p.file, err = i.fs.Image(pid).InterpreterAmong(func(file *process.MappedFile) (is bool) {
		found, is = i.lookThrough(pid, file)
		return is
	}); err != nil {
		return nil, err
	}
	if found.err != nil {
		return nil, fmt.Errorf("pid %d: %w", pid, found.err)
	}
	p.binary, p.sites = found.binary, found.sites
	if p.memory, err = i.fs.Proc(pid).OpenMemory(); err != nil {
		return nil, memoryClosed(pid, err)
	}
	bias, ok := p.binary.Bias(p.file.Mapping.Start, p.file.Mapping.Offset)
	if !ok {
		return nil, fmt.Errorf("pid %d: %w: its interpreter is mapped in an unknown way", pid, process.ErrNotPython)
	}
	if p.live, err = cpython.NewInterpreter(p.binary, bias, p.memory); err != nil {
		return nil, fmt.Errorf("pid %d: %w", pid, err)
	}
	return p, nil
}

// interpreter is the result of analysing an interpreter's file: that takes some hundredths of a second, in which a
// child may have ended.
type interpreter struct {
	binary *cpython.Binary
	sites  cpython.Sites
	err    error // it cannot be probed
}

// interpreters are the analysed interpreters of a session, by file.
type interpreters struct {
	fs       process.FS
	analyses *analyses // nil: nothing is kept for other sessions
	known    map[readFile]interpreter
}

// maxInterpreters is the most interpreters that a session remembers.
const maxInterpreters = 16

// interpreterAnalysis analyses an interpreter's file, and keeps the result.
var interpreterAnalysis = analysis[cpython.Facts]{
	subject: "interpreter",
	find:    interpreterFacts,
	places:  func(f cpython.Facts) []uint64 { return f.Sites.Offsets() },
}

// interpreterFacts analyses a file. The error matches cpython.ErrUnsupported for an interpreter that cannot be probed.
func interpreterFacts(r io.ReaderAt) (cpython.Facts, error) {
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
func (i *interpreters) lookThrough(pid int, file *process.MappedFile) (found interpreter, is bool) {
	key := identify(file)
	if known, ok := i.known[key]; ok {
		return known, true
	}
	facts, err := interpreterAnalysis.of(i.analyses, pid, file, file.File)
	if err != nil {
		return interpreter{err: err}, errors.Is(err, cpython.ErrUnsupported)
	}
	if found.binary, err = cpython.Recall(facts); err != nil {
		return interpreter{err: err}, true
	}
	found.sites = facts.Sites
	if len(i.known) < maxInterpreters {
		if i.known == nil {
			i.known = map[readFile]interpreter{}
		}
		i.known[key] = found
	}
	return found, true
}

// close releases the results that are kept for other sessions.
func (i *interpreters) close() {
	i.analyses.close()
	i.known = nil
}

func isPython(r io.ReaderAt) bool {
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
