package agent

import (
	"ipytracer/event"
	"ipytracer/model"
	"ipytracer/tracer"
)

// Workers of Dask are followed like kernels. A worker is a process with the arguments of `dask worker`; it is traced
// with all processes that it starts. An experiment of a worker, or of a process below a kernel, is a task if its name
// says so.

// maxHeldTasks is the most tasks that wait for a kernel's names.
const maxHeldTasks = 256

// keepTasks begins to follow workers and to answer their questions, unless the configuration says dask.off.
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

// takeTasks moves the tasks of a kernel that have ended from its monitor to k.tasks.
func takeTasks(a *Agent, k *kernel) {
	if a.tasks == nil {
		return
	}
	all, lost := k.monitor.Experiments()
	for _, n := range lost {
		a.metrics.unseen.Add(float64(n))
	}
	k.tasks = append(k.tasks, a.tasks.Ended(k.Slot, all, lost, k.monitor.Origin())...)
	if k.hasEnded {
		a.tasks.Leave(k.Slot)
	}
}

// answerTasks answers the questions of workers.
func answerTasks(a *Agent) {
	if a.tasks != nil {
		a.tasks.Answer()
	}
}
