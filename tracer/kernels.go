package tracer

import (
	"cmp"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/tracer/internal/tracee"
)

// adoptPythons probes the Pythons among the descendants of a target that ran before the session, by their slots: the
// kernels of a Jupyter server. Kernels that it starts from now on are probed as they execute their interpreter. A
// process that was only forked gets no probes, as after the attach.
func (e *examiner) adoptPythons(root *tracee.Target, slots map[process.Identity]uint32) {
	byPID := func(a, b process.Identity) int { return cmp.Compare(a.PID, b.PID) }
	for _, id := range slices.SortedFunc(maps.Keys(slots), byPID) {
		pid := id.PID
		if !e.namedPython(pid) || e.onlyForked(pid) {
			continue
		}
		t := &tracee.Target{PID: pid, Root: root.Root, Child: true, Late: true, Slot: slots[id]}
		t.Limited = e.limits.guards != nil
		if err := e.adoptPython(t, id); err != nil {
			_ = t.Close()
			if !errors.Is(err, process.ErrNoProcess) && !errors.Is(err, process.ErrNotPython) {
				e.certificate.MissesPython(pid, "child %d runs a Python that could not be probed: %v", pid, err)
			}
		}
	}
}

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
	own, err := e.fs.Proc(pid).Cmdline()
	parents, err2 := e.fs.Proc(stat.ParentPID).Cmdline()
	return err == nil && err2 == nil && slices.Equal(own.Args, parents.Args)
}

// namedPython reports whether a process executes a program with a file name of python…, as every CPython's is. If that
// cannot be determined of a process that exists, the report says so.
func (e *examiner) namedPython(pid int) bool {
	exe, err := e.fs.Proc(pid).ExeName()
	if err != nil && !errors.Is(err, process.ErrNoProcess) && !errors.Is(err, process.ErrZombie) {
		e.certificate.MissesPython(pid,
			"which program pid %d runs is not known: %v: if it is a Python, its cells are not seen", pid, err)
	}
	return strings.HasPrefix(filepath.Base(exe), "python")
}
