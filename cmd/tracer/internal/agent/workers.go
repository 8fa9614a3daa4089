package agent

import (
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
