package tracer

import (
	"strings"

	"ipytracer/event"
	"ipytracer/internal/ledger"
)

// learn reads the state that exists only once the interpreter, or IPython in it, has started.
func (e *examiner) learn(t *target) bool {
	p := t.python
	p.learning.begin()
	interpreter, err := p.live.Address()
	if err != nil {
		return false
	}
	news := !p.ready
	p.ready = true
	e.expectLibraries(t)
	if addr, n, err := p.live.InputList(); err == nil {
		if p.live.IsEmbedded() {
			addr, n = 0, 0
		}
		if news = news || p.inputs != addr; p.inputs == 0 && p.stored == 0 {
			p.stored = n
			if !t.late { // In began with one empty entry, and all its present entries are from later
				p.stored = 1
			}
		}
		p.inputs, p.count = addr, n
		p.shown, _ = p.live.LastException()
		p.ipython, _ = p.live.IPythonVersion()
		p.front = p.live.Frontend()
		p.terminal = p.live.AtTerminal()
		p.ipython = strings.ToValidUTF8(p.ipython, "?")
		p.notebook = notebookOf(e.fs, t.pid, p.live)
	}
	if !news {
		return false
	}
	if err := e.tellPython(t, interpreter); err != nil {
		e.log.Warn("the Python offsets could not be written", "pid", t.pid, "error", err)
		return false
	}
	if t.announced { // the Start event describes an older state of the process
		e.queue.add(&event.Process{ProcessInfo: t.info()})
	}
	return true
}

// tellPython gives the ledger the offsets by which to read the target's Python.
func (e *examiner) tellPython(t *target, interpreter uint64) error {
	python := t.offsets(interpreter, !e.options.NoStacks)
	switch {
	case e.options.NoStacks, e.options.PythonOnly:
	case e.options.Native:
		python.Native = ledger.NativeAll
	default:
		python.Native = ledger.NativeThreads
	}
	return e.ledger.SetPython(t.slot, python)
}
