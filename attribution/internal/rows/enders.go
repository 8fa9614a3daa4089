package rows

import (
	"cmp"
	"slices"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/freeing"
	"ipytracer/model"
)

// Enders finds what ends processes that cells have started and that still run.
type Enders struct {
	Processes  *windows.Processes
	Namespaces *Namespaces
}

// Of returns what ends a process: a call of a name in a kernel above it, the shutdown of its pool, or else a signal. A
// process without name and pool ends with the nearest process above it that has one, as the children of a worker do.
// reported is the process's pool as far as others know it, "" if they do not.
func (en Enders) Of(process *windows.Process, reported string) model.EndedBy {
	const deepest = 64
	out := model.EndedBy{Helper: IsHelper(process.Info.Command), SamePIDs: en.samePIDs(process)}
	if out.Helper {
		return out
	}
	if pool, ok := PoolOf(process.Info.Command, cmp.Or(reported, process.Pool)); ok {
		out.Pool = pool.Name
	}
	for above, n := process, 0; above != nil && above.Parent != 0 && above.LastCell == nil && n < deepest; n++ {
		if out.Calls = en.calls(above.Info.PID); len(out.Calls) > 0 {
			return out
		}
		if reported == "" {
			reported = above.Pool
		}
		if pool, ok := PoolOf(above.Info.Command, reported); ok {
			out.Pool = pool.Name
			return out
		}
		above, reported = en.Processes.ByPID[above.Parent], ""
	}
	return out
}

// calls returns code for a cell that ends a process, with a name of a notebook above it; nil if no name refers to it.
func (en Enders) calls(pid int32) []string {
	process := en.Processes.ByPID[pid]
	for _, e := range en.Namespaces.Listed {
		if !en.Processes.IsBelow(process, en.Processes.ByPID[e.PID]) {
			continue
		}
		for i := range e.Variables {
			v := &e.Variables[i]
			if name := freeing.NameOf(v); name != "" && slices.Contains(v.PIDs, pid) && isEndMethod(v.EndedBy) {
				return []string{name + "." + string(v.EndedBy) + "()"}
			}
		}
	}
	return nil
}

// isEndMethod reports whether the tracer knows a method: a recording may name any.
func isEndMethod(m event.EndMethod) bool {
	return m == event.EndTerminate || m == event.EndShutdown || m == event.EndClose
}

// samePIDs reports whether a kernel above a process sees the same pids as the tracer.
func (en Enders) samePIDs(p *windows.Process) bool {
	return slices.ContainsFunc(en.Namespaces.Listed, func(e *event.Variables) bool {
		return e.SamePIDs && en.Processes.IsBelow(p, en.Processes.ByPID[e.PID])
	})
}

// shared returns, by meter, the most bytes that a process shares with its parent once it has copied so many: memory
// that it got by a fork, before it executes another program. nil for none.
func (en Enders) shared(process *windows.Process, copied event.Bytes) (out map[string]int64) {
	for _, l := range process.Copied {
		n := process.Uncopied(l, copied)
		if parent := en.Processes.ByPID[process.Parent]; process.IsFound && parent != nil && parent.Alive {
			n = min(n, parent.Gauges.Value(l.Meter))
		}
		if n > 0 {
			if out == nil {
				out = map[string]int64{}
			}
			out[l.Meter.String()] = int64(n)
		}
	}
	return out
}
