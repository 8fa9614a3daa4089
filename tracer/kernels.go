package tracer

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"ipytracer/event"
	"ipytracer/tracer/host/process"
)

// adoptPythons probes the Pythons among the descendants of a target that ran before the session, by their slots: the kernels of a
// Jupyter server. Those that it starts from now on are probed as they execute their interpreter. A process that was only
// forked is left alone, as it is later.
func (s *Session) adoptPythons(root *target, slots map[process.Identity]uint32) {
	byPID := func(a, b process.Identity) int { return cmp.Compare(a.PID, b.PID) }
	for _, id := range slices.SortedFunc(maps.Keys(slots), byPID) {
		pid := id.PID
		if !s.namedPython(pid) || s.onlyForked(pid) {
			continue
		}
		t := &target{pid: pid, root: root.root, child: true, late: true, slot: slots[id], limited: s.limits.guards != nil}
		if err := s.adoptPython(t, id); err != nil {
			_ = t.close()
			if !errors.Is(err, process.ErrNoProcess) && !errors.Is(err, process.ErrNotPython) {
				s.missesPython(pid, "child %d runs a Python that could not be probed: %v", pid, err)
			}
		}
	}
}

func (s *Session) adoptPython(t *target, id process.Identity) (err error) {
	if t.handle, err = s.fs.OpenIdentity(id); err != nil {
		return err
	}
	if t.python, err = s.interpreters.open(t.pid); err != nil {
		return err
	}
	if err := s.probe(t); err != nil {
		t.closeProbes()
		return err
	}
	t.announced = true
	s.targets = append(s.targets, t)
	s.queue = append(s.queue, &event.Process{ProcessInfo: t.info()})
	return nil
}

// onlyForked says whether a process runs the command line of its parent still.
func (s *Session) onlyForked(pid int) bool {
	stat, err := s.fs.Proc(pid).Stat()
	if err != nil {
		return false // it has ended; who opens it will see
	}
	own, err := s.fs.Proc(pid).Cmdline()
	parents, err2 := s.fs.Proc(stat.ParentPID).Cmdline()
	return err == nil && err2 == nil && slices.Equal(own.Args, parents.Args)
}

// withoutDescendants drops the processes that are traced with another one of the list, and repetitions.
func (s *Session) withoutDescendants(who []process.Identity) (out []process.Identity, err error) {
	covered := map[int]bool{}
	for _, id := range who {
		all, err := s.fs.Descendants(id.PID)
		if err != nil {
			return nil, fmt.Errorf("descendants of %d: %w", id.PID, err)
		}
		for _, d := range all {
			covered[d.PID] = true
		}
	}
	for _, id := range who {
		if !covered[id.PID] && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out, nil
}

// namedPython says whether a process executes a program whose file is named python…, as every CPython's is. Where that cannot be told of a
// process that is there, the report says so.
func (s *Session) namedPython(pid int) bool {
	exe, err := s.fs.Proc(pid).ExeName()
	if err != nil && !errors.Is(err, process.ErrNoProcess) && !errors.Is(err, process.ErrZombie) {
		s.missesPython(pid, "which program pid %d runs is not known: %v: if it is a Python, its cells are not seen", pid, err)
	}
	return strings.HasPrefix(filepath.Base(exe), "python")
}
