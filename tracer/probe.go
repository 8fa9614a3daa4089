package tracer

import (
	"fmt"

	"ipytracer/tracer/ledger"
	"ipytracer/tracer/python/cpython"
)

// probe tells the ledger how to read the target's Python and places every group.
func (e *examiner) probe(t *target) error {
	e.equip(t)
	if !e.options.NoStacks { // before the ledger is told that it is there
		if err := t.stepUp(ledger.GroupCode); err != nil {
			return err
		}
	}
	if !e.learn(t) { // the interpreter has not started: the offsets that do not depend on it are there already
		if err := e.tellPython(t, 0); err != nil {
			return err
		}
	}
	if why := blind(t.python.sites); why != "" && t.late && !t.child && t.python.inputs != 0 {
		return fmt.Errorf("pid %d: %w", t.pid,
			&cpython.UnsupportedError{Version: t.python.binary.Version(), Reason: why + ": its cells cannot be seen"})
	}
	running := &runningCells{e.fs, e.ledger.cellNumbers, e.log, e.certificate, e.cells}
	found := running.open(t)
	if t.late { // who attaches is waiting, and the interpreter has a sys.path
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
