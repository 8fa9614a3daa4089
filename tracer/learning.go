package tracer

import (
	"strings"

	"ipytracer/event"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/tracee"
)

// learn reads the state that exists only once the interpreter, or IPython in it, has started.
func (e *examiner) learn(t *tracee.Target) bool {
	p := t.Python
	p.Learning.Begin()
	interpreter, err := p.Live.Address()
	if err != nil {
		return false
	}
	news := !p.Ready
	p.Ready = true
	e.expectLibraries(t)
	if addr, n, err := p.Live.InputList(); err == nil {
		if p.Live.IsEmbedded() {
			addr, n = 0, 0
		}
		if news = news || p.Inputs != addr; p.Inputs == 0 && p.Stored == 0 {
			p.Stored = n
			if !t.Late { // In began with one empty entry, and all its present entries are from later
				p.Stored = 1
			}
		}
		p.Inputs, p.Count = addr, n
		p.Shown, _ = p.Live.LastException()
		p.Ipython, _ = p.Live.IPythonVersion()
		p.Front = p.Live.Frontend()
		p.Terminal = p.Live.AtTerminal()
		p.Ipython = strings.ToValidUTF8(p.Ipython, "?")
		p.Notebook = tracee.NotebookOf(e.fs, t.PID, p.Live)
	}
	if !news {
		return false
	}
	if err := e.tellPython(t, interpreter); err != nil {
		e.log.Warn("the Python offsets could not be written", "pid", t.PID, "error", err)
		return false
	}
	if t.Announced { // the Start event describes an older state of the process
		e.queue.add(&event.Process{ProcessInfo: t.Info()})
	}
	return true
}

// tellPython gives the ledger the offsets by which to read the target's Python.
func (e *examiner) tellPython(t *tracee.Target, interpreter uint64) error {
	python := t.Offsets(interpreter, !e.options.NoStacks)
	switch {
	case e.options.NoStacks, e.options.PythonOnly:
	case e.options.Native:
		python.Native = ledger.NativeAll
	default:
		python.Native = ledger.NativeThreads
	}
	return e.ledger.SetPython(t.Slot, python)
}
