package tracer

import (
	"fmt"
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/cpython"
	"ipytracer/tracer/internal/places"
)

// probe gives the ledger the offsets of the target's Python and places the probes of every group.
func (e *examiner) probe(t *target) error {
	e.equip(t)
	if !e.options.NoStacks { // before the ledger has the offsets
		if err := t.stepUp(ledger.GroupCode); err != nil {
			return err
		}
	}
	if !e.learn(t) { // the interpreter has not started: the offsets that do not depend on it are known already
		if err := e.tellPython(t, 0); err != nil {
			return err
		}
	}
	if why := places.Blind(t.python.sites); why != "" && t.late && !t.child && t.python.inputs != 0 {
		return fmt.Errorf("pid %d: %w", t.pid,
			&cpython.UnsupportedError{Version: t.python.binary.Version(), Reason: why + ": its cells cannot be seen"})
	}
	running := &runningCells{e.fs, e.ledger.cellNumbers, e.log, e.certificate, e.cells}
	found := running.open(t)
	if t.late { // the user is waiting, and the interpreter has a sys.path
		e.expectLibraries(t)
	}
	for _, i := range t.instruments {
		if err := i.place(); err != nil {
			return err
		}
	}
	e.expectLibraries(t)
	e.settleInstruments(t)
	e.relist(t)
	running.check(t, found)
	e.cells.past.read(t)
	return nil
}

// look checks whether a process has become a Python, and if so probes it.
func (e *examiner) look(t *target) {
	t.patience--
	t.looked = time.Now()
	p, err := e.interpreters.open(t.pid)
	if err != nil {
		if t.patience == 0 && t.child && !e.placer.hasEnded(t) { // it has a name like a Python's
			e.overlooked.found(t.pid)
			e.missesPython(t.pid,
				"pid %d is named like a Python and could not be looked into: %v: its cells are not seen", t.pid, err)
		}
		return
	}
	t.python = p
	t.patience = 0
	if err := e.probe(t); err != nil {
		if e.placer.hasEnded(t) { // it ended before it could be examined
			p.close()
			t.python = nil
			return
		}
		e.overlooked.found(t.pid)
		e.missesPython(t.pid, "pid %d runs Python %v but could not be probed: %v", t.pid, p.binary.Version(), err)
		p.close()
		t.python = nil
		return
	}
	if p.unseen = p.ran(t.late); p.unseen > 0 {
		e.cells.past.read(t)
	}
	if t.announced || t.child { // it ran, unprobed, until now
		e.late = append(e.late, fmt.Sprintf("%s in pid %d", strings.ToValidUTF8(p.file.Mapping.Path, "?"), t.pid))
	}
	t.announced = true
	e.overlooked.found(t.pid)
	e.queue.add(&event.Process{ProcessInfo: t.info()})
}
