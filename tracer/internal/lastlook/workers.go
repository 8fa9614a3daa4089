package lastlook

import (
	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/python/holders"
	"ipytracer/tracer/internal/tracee"
)

// numberAsHere translates the pids in a list of variables to those that the tracer sees, if the process is in a pid
// namespace of its own. It leaves out processes that do not descend from the process.
func (l *Look) numberAsHere(e *event.Variables) {
	status, err := l.FS.Proc(int(e.PID)).Status()
	if e.SamePIDs = err == nil && len(status.NSPIDs) == 1; e.SamePIDs {
		return
	}
	var pids map[int32]int32
	for i := range e.Variables {
		v := &e.Variables[i]
		if len(v.PIDs) > 0 && pids == nil {
			pids = l.numbersBelow(int(e.PID))
		}
		inside := v.PIDs
		v.PIDs = nil
		for _, pid := range inside {
			if known := pids[pid]; known != 0 {
				v.PIDs = append(v.PIDs, known)
			}
		}
	}
}

// numbersBelow returns the pids of the descendants of a process: for each pid in a descendant's own pid namespace, the
// pid that the tracer sees.
func (l *Look) numbersBelow(pid int) map[int32]int32 {
	here := map[int32]int32{}
	for _, id := range l.below(pid) {
		if status, err := l.FS.Proc(id.PID).Status(); err == nil && len(status.NSPIDs) > 0 {
			here[int32(status.NSPIDs[len(status.NSPIDs)-1])] = int32(id.PID)
		}
	}
	return here
}

// maxWorkers bounds the children that are examined.
const maxWorkers = 256

// below returns the descendants of a process, but no more than are examined.
func (l *Look) below(pid int) []process.Identity {
	descendants, err := l.FS.Descendants(pid)
	if err != nil {
		l.Log.Debug("children are not known", "pid", pid, "error", err)
	}
	return descendants[:min(len(descendants), maxWorkers)]
}

// findWorkers returns the children of the traced processes that are workers of a pool and wait for the next task: the
// command line of a forked process does not show that.
func (l *Look) findWorkers(left processorTime) (found []*event.Holders) {
	for _, t := range l.Targets {
		if !t.IsRoot() && !l.One || t.Gone || t.Python == nil {
			continue
		}
		for _, id := range l.below(t.PID) {
			if left.isOver() {
				return found
			}
			pid := id.PID
			p, err := l.Interpreters.Open(pid)
			if err != nil {
				l.Log.Debug("a child is no Python, or has ended", "pid", pid, "error", err)
				continue
			}
			pool, err := holders.Worker(left, p.Live)
			p.Close()
			l.Log.Debug("what a child waits for", "pid", pid, "pool", pool, "error", err)
			if err != nil || pool == "" {
				continue
			}
			found = append(found, &event.Holders{Time: tracee.Now(), Root: t.Root, PID: int32(pid), Complete: true,
				Pool: pool})
		}
	}
	return found
}
