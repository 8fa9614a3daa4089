package tracer

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/cpython"
	"ipytracer/tracer/internal/instruments"
	"ipytracer/tracer/internal/running"
	"ipytracer/tracer/internal/tracee"
)

// probe gives the ledger the offsets of the target's Python and places the probes of every group.
func (e *examiner) probe(t *tracee.Target) error {
	e.equip(t)
	if !e.options.NoStacks { // before the ledger has the offsets
		if err := t.Resume(ledger.GroupCode); err != nil {
			return err
		}
	}
	if !e.learn(t) { // the interpreter has not started, but most offsets do not depend on that
		if err := e.tellPython(t, 0); err != nil {
			return err
		}
	}
	if why := instruments.CellsUnseen(t.Python.Sites); why != "" && t.Late && !t.Child && t.Python.Inputs != 0 {
		return fmt.Errorf("pid %d: %w", t.PID,
			&cpython.UnsupportedError{Version: t.Python.Binary.Version(), Reason: why + ": its cells cannot be seen"})
	}
	ran := &running.RunningCells{FS: e.fs, Kernel: e.ledger.CellNumbers, Log: e.log, Report: &e.certificate,
		Cells: &e.code.Cells}
	found := ran.Open(t)
	if t.Late { // the user is waiting, and the interpreter has a sys.path
		e.expectLibraries(t)
	}
	for _, i := range t.Instruments {
		if err := i.Place(); err != nil {
			return err
		}
	}
	e.expectLibraries(t)
	e.settleInstruments(t)
	e.relist(t)
	ran.Check(t, found)
	e.code.Cells.Past.Read(t)
	return nil
}

// look checks whether a process has become a Python, and if so probes it.
func (e *examiner) look(t *tracee.Target) {
	t.Patience--
	t.Looked = time.Now()
	p, err := e.probes.Interpreters.Open(t.PID)
	if err != nil {
		if t.Patience == 0 && t.Child && !e.probes.Placer.HasEnded(t) { // it has a name like a Python's
			e.overlooked.found(t.PID)
			e.certificate.MissesPython(t.PID,
				"pid %d is named like a Python and could not be looked into: %v: its cells are not seen", t.PID, err)
		}
		return
	}
	t.Python = p
	t.Patience = 0
	if err := e.probe(t); err != nil {
		if !e.probes.Placer.HasEnded(t) { // if it has ended, overlooked reports it
			e.overlooked.found(t.PID)
			e.certificate.MissesPython(t.PID, "pid %d runs Python %v but could not be probed: %v", t.PID,
				p.Binary.Version(), err)
		}
		p.Close()
		t.Python = nil
		return
	}
	if p.Unseen = p.Ran(t.Late); p.Unseen > 0 {
		e.code.Cells.Past.Read(t)
	}
	if t.Announced || t.Child { // it ran, unprobed, until now
		e.certificate.Late = append(e.certificate.Late, fmt.Sprintf("%s in pid %d",
			strings.ToValidUTF8(p.File.Mapping.Path, "?"), t.PID))
	}
	t.Announced = true
	e.overlooked.found(t.PID)
	e.queue.add(&event.Process{ProcessInfo: t.Info()})
}

// learn reads the state that exists only once the interpreter, or IPython in it, has started. It reports whether it
// gave the ledger new facts.
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
		p.IPython, _ = p.Live.IPythonVersion()
		p.Front = p.Live.Frontend()
		p.Terminal = p.Live.AtTerminal()
		p.IPython = strings.ToValidUTF8(p.IPython, "?")
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

// adoptPythons probes the Pythons that were running below a target before the session, such as the kernels of a Jupyter
// server. slots has the slot of each process below the target. A process that was only forked gets no probes. Pythons
// that begin during the session are probed when they execute their interpreter.
func (e *examiner) adoptPythons(root *tracee.Target, slots map[process.Identity]uint32) {
	byPID := func(a, b process.Identity) int { return cmp.Compare(a.PID, b.PID) }
	for _, id := range slices.SortedFunc(maps.Keys(slots), byPID) {
		pid := id.PID
		if !e.namedPython(pid) || e.onlyForked(pid) {
			continue
		}
		t := &tracee.Target{PID: pid, Root: root.Root, Child: true, Late: true, Slot: slots[id]}
		t.Limited = e.limits.guards != nil
		err := e.adoptPython(t, id)
		if err == nil {
			continue
		}
		_ = t.Close()
		isMissed := !errors.Is(err, process.ErrNoProcess) && !errors.Is(err, process.ErrNotPython)
		if isMissed {
			e.certificate.MissesPython(pid, "child %d runs a Python that could not be probed: %v", pid, err)
		}
	}
}

// adoptPython probes one Python, and takes it in as a target.
func (e *examiner) adoptPython(t *tracee.Target, id process.Identity) (err error) {
	if t.Handle, err = e.fs.OpenIdentity(id); err != nil {
		return err
	}
	if t.Python, err = e.probes.Interpreters.Open(t.PID); err != nil {
		return err
	}
	if err := e.probe(t); err != nil {
		t.CloseProbes()
		return err
	}
	t.Announced = true
	e.targets.All = append(e.targets.All, t)
	e.queue.add(&event.Process{ProcessInfo: t.Info()})
	return nil
}

// onlyForked reports whether a process still runs the command line of its parent.
func (e *examiner) onlyForked(pid int) bool {
	stat, err := e.fs.Proc(pid).Stat()
	if err != nil {
		return false // it has ended; opening it fails later
	}
	own, ownErr := e.fs.Proc(pid).Cmdline()
	parents, parentsErr := e.fs.Proc(stat.ParentPID).Cmdline()
	return ownErr == nil && parentsErr == nil && slices.Equal(own.Args, parents.Args)
}

// namedPython reports whether the file name of a process's program begins with python, as every CPython's does. If the
// process exists and its program is not known, the report says so.
func (e *examiner) namedPython(pid int) bool {
	exe, err := e.fs.Proc(pid).ExeName()
	if err != nil && !errors.Is(err, process.ErrNoProcess) && !errors.Is(err, process.ErrZombie) {
		e.certificate.MissesPython(pid,
			"which program pid %d runs is not known: %v: if it is a Python, its cells are not seen", pid, err)
	}
	return strings.HasPrefix(filepath.Base(exe), "python")
}
