package tracer

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"ipytracer/tracer/event"
	"ipytracer/tracer/process"
)

// adoptPythons probes the Pythons among the descendants of a target that ran before the session, by their slots: the kernels of a
// Jupyter server. Those that it starts from now on are probed as they execute their interpreter. A process that was only
// forked is left alone, as it is later.
func (s *Session) adoptPythons(root *target, slots map[int]uint32) {
	for _, pid := range slices.Sorted(maps.Keys(slots)) {
		if !namedPython(pid) || s.onlyForked(pid) {
			continue
		}
		t := &target{pid: pid, root: root.root, child: true, late: true, slot: slots[pid], limited: s.limits.guards != nil}
		if err := s.adoptPython(t); err != nil {
			_ = t.close()
			if !errors.Is(err, process.ErrNoProcess) && !errors.Is(err, process.ErrNotPython) {
				s.unseen++
				s.misses(pid, 0, []event.Meter{event.NumPy, event.Torch}, "child %d runs a Python that could not be probed: %v", pid, err)
			}
		}
	}
}

func (s *Session) adoptPython(t *target) (err error) {
	if t.handle, err = s.fs.Open(t.pid); err != nil {
		return err
	}
	if t.python, err = s.open(t.pid); err != nil {
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
	stat, err := s.fs.Stat(pid)
	if err != nil {
		return false // it has ended; who opens it will see
	}
	own, err := s.fs.Cmdline(pid)
	parents, err2 := s.fs.Cmdline(stat.ParentPID)
	return err == nil && err2 == nil && slices.Equal(own.Args, parents.Args)
}

// withoutDescendants drops the processes that are traced with another one of the list, and repetitions.
func (s *Session) withoutDescendants(pids []int) (out []int, err error) {
	covered := map[int]bool{}
	for _, pid := range pids {
		all, err := s.fs.Descendants(pid)
		if err != nil {
			return nil, fmt.Errorf("descendants of %d: %w", pid, err)
		}
		for _, d := range all {
			covered[d.PID] = true
		}
	}
	for _, pid := range pids {
		if !covered[pid] && !slices.Contains(out, pid) {
			out = append(out, pid)
		}
	}
	return out, nil
}
