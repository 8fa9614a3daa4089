package rows

import (
	"cmp"
	"slices"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/freeing"
	"ipytracer/model"
)

// Enders says what ends the processes that cells have started and that still run.
type Enders struct {
	Processes  *windows.Processes
	Namespaces *Namespaces
}

// Of returns what ends a process: a name of a kernel's above it, its pool, or else a signal. The same of the nearest
// process above it counts where it has neither name nor pool: with a worker its children end. reported is its pool, if
// one is known that the process itself has not reported.
func (en Enders) Of(process *windows.Process, reported string) model.EndedBy {
	const deepest = 64
	out := model.EndedBy{Helper: IsHelper(process.Info.Command), SamePIDs: en.samePIDs(process)}
	if out.Helper {
		return out
	}
	if of, ok := PoolOf(process.Info.Command, cmp.Or(reported, process.Pool)); ok {
		out.Pool = of.Name
	}
	for at, n := process, 0; at != nil && at.Parent != 0 && at.LastCell == nil && n < deepest; n++ {
		if out.Calls = en.calls(at.Info.PID); len(out.Calls) > 0 {
			return out
		}
		if reported == "" {
			reported = at.Pool
		}
		if of, ok := PoolOf(at.Info.Command, reported); ok {
			out.Pool = of.Name
			return out
		}
		at, reported = en.Processes.ByPID[at.Parent], ""
	}
	return out
}

// calls returns code for cells that ends a process, by names of the notebooks above the process.
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

// isEndMethod reports whether a recording names a method that the tracer knows.
func isEndMethod(m event.EndMethod) bool {
	return m == event.EndTerminate || m == event.EndShutdown || m == event.EndClose
}

// samePIDs reports whether the kernels above a process have the tracer's numbers of processes.
func (en Enders) samePIDs(p *windows.Process) bool {
	return slices.ContainsFunc(en.Namespaces.Listed, func(e *event.Variables) bool {
		return e.SamePIDs && en.Processes.IsBelow(p, en.Processes.ByPID[e.PID])
	})
}

// shared returns how much of each meter a process has from its parent, at most, if it was forked and has executed no
// other program; nil for none.
func (en Enders) shared(process *windows.Process) (out map[string]int64) {
	for _, l := range process.Copied {
		n := l.Bytes
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
