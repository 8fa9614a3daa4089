package attribution

import (
	"cmp"
	"slices"

	"ipytracer/event"
	"ipytracer/internal/freeing"
	"ipytracer/model"
)

// enders says what ends the processes that cells have started and that still run.
type enders struct {
	processes  *processes
	namespaces *namespaces
}

// of returns what ends a process: a name of a kernel's above it, its pool, or else a signal. The same of the nearest
// process above it counts where it has neither name nor pool: with a worker its children end. told is its pool, if one
// is known that the process itself has not told.
func (en enders) of(p *process, told string) model.EndedBy {
	const deepest = 64
	out := model.EndedBy{Helper: isHelper(p.info.Command), SamePIDs: en.samePIDs(p)}
	if out.Helper {
		return out
	}
	if of, ok := poolOf(p.info.Command, cmp.Or(told, p.pool)); ok {
		out.Pool = of.name
	}
	for at, n := p, 0; at != nil && at.parent != 0 && at.lastCell == nil && n < deepest; n++ {
		if out.Calls = en.calls(at.info.PID); len(out.Calls) > 0 {
			return out
		}
		if told == "" {
			told = at.pool
		}
		if of, ok := poolOf(at.info.Command, told); ok {
			out.Pool = of.name
			return out
		}
		at, told = en.processes.byPID[at.parent], ""
	}
	return out
}

// calls returns the calls that end a process, of names in the notebooks above it.
func (en enders) calls(pid int32) []string {
	p := en.processes.byPID[pid]
	for _, e := range en.namespaces.listed {
		if !en.processes.isBelow(p, en.processes.byPID[e.PID]) {
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
func (en enders) samePIDs(p *process) bool {
	return slices.ContainsFunc(en.namespaces.listed, func(e *event.Variables) bool {
		return e.SamePIDs && en.processes.isBelow(p, en.processes.byPID[e.PID])
	})
}

// shared returns how much of each meter a process has from its parent, at most, if it was forked and has executed no
// other program; nil for none.
func (en enders) shared(p *process) (out map[string]int64) {
	for _, l := range p.copied {
		n := l.Bytes
		if parent := en.processes.byPID[p.parent]; p.isFound && parent != nil && parent.alive {
			n = min(n, parent.past.Value(l.Meter))
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
