package agent

import (
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/event"
	"ipytracer/model"
	"ipytracer/tracer"
)

// Workers of Dask are followed as kernels are: what has the arguments of `dask worker` is attached to, with the
// processes that it starts. Experiments of these, and of the processes below kernels, are tasks if their names say so.

// maxHeldTasks is the most tasks that wait for a kernel's names.
const maxHeldTasks = 256

// keepTasks has workers followed, and their questions answered, unless that is off.
func keepTasks(a *Agent, o *tracer.Options) {
	if a.options.Config.Dask.Off {
		return
	}
	a.tasks = newTaskKeeper(taskOptions{
		Version: a.options.Version,
		Running: func(root uint32, pid int) []model.Window {
			if k := a.kernels[root]; k != nil {
				return k.monitor.RunningExperiments(pid)
			}
			return nil
		},
		Account: func(root uint32) string {
			if k := a.kernels[root]; k != nil {
				return k.facts.account.group
			}
			return ""
		},
	})
	o.Companion = a.tasks
}

// isWanted reports whether a process that was found is to be followed. A kernel is before it has loaded IPython.
func isWanted(p *inventory.Python) bool {
	return p.IPython != "" || (p.Worker || p.Kernel) && p.Python != ""
}

// followTasks has the tasks of a kernel or a worker counted from now on.
func followTasks(a *Agent, k *kernel, p *inventory.Python) {
	if a.tasks == nil {
		return
	}
	k.monitor.KeepExperiments(Prefix)
	if p.Worker && p.IPython == "" {
		k.Worker, k.Frontend = true, telemetry.Worker
		a.tasks.Follow(k.Slot, k.PID)
	}
}

// noteTasks takes in an event of the tree with a root.
func noteTasks(a *Agent, root uint32, e event.Event) {
	if a.tasks == nil {
		return
	}
	kernel := 0
	if k := a.kernels[root]; k != nil {
		kernel = k.PID
	}
	a.tasks.Note(e, kernel)
}

// takeTasks takes the tasks of a kernel that have ended.
func takeTasks(a *Agent, k *kernel) {
	if a.tasks == nil {
		return
	}
	all, lost := k.monitor.Experiments()
	for _, n := range lost {
		a.metrics.unseen.Add(float64(n))
	}
	k.tasks = append(k.tasks, a.tasks.Ended(k.Slot, all, lost, k.monitor.Origin())...)
	if k.over {
		a.tasks.Leave(k.Slot)
	}
}

// answerTasks answers the questions of workers.
func answerTasks(a *Agent) {
	if a.tasks != nil {
		a.tasks.Answer()
	}
}

// handOnTasks counts the tasks of a kernel, and hands them to the sinks.
func (a *Agent) handOnTasks(k *kernel) {
	done := k.tasks
	k.tasks = nil
	for i := range done {
		one := &done[i]
		a.metrics.task(k.Owner, &one.Window)
		t := &telemetry.Task{Kernel: k.Kernel, Window: &one.Window}
		t.Prefix, t.Cell, t.Parent = one.Prefix, one.Cell, one.Parent
		t.Began, t.Ended = k.times(t.Window)
		for _, s := range a.sinks {
			s.Task(t)
		}
	}
}

// submitted gives a cell that has submitted tasks the ids that these name as their parent.
func submitted(a *Agent, k *kernel, c *telemetry.Cell) {
	if a.tasks == nil {
		return
	}
	began := k.monitor.Origin() + event.Nanoseconds(c.Window.StartNS)
	of := a.tasks.Submitted(c.Window.PID, began, began+event.Nanoseconds(c.Window.DurationNS))
	if of != (telemetry.TraceContext{}) {
		c.SpanID, c.TraceID = of.SpanID, of.TraceID
	}
}
