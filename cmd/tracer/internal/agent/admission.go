package agent

import (
	"context"
	"errors"
	"ipytracer/cmd/tracer/internal/agent/engines"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer"
	"time"
)

// found puts a kernel into the queue of arrivals, if its user may have one more. If there is no slot left, the account
// with the most kernels may have to give one up.
func (a *Agent) found(p inventory.Python) {
	c, now := a.config.Load(), time.Now()
	found := arrival{p, factsOf(a.fs, &a.book, p.PID, p.UID)}
	holder := found.holder()
	counts := a.countSlots(holder)
	joins := holder.mayTake(counts, c)
	var surplus uint32 // the root of the kernel to give up
	givesUp := false
	if !joins && !holder.worker && counts.own < c.PerUser {
		surplus, givesUp = a.surplus(counts.group)
		joins = givesUp
	}
	joins = joins && a.joinRate.allow(holder.group, now)
	if givesUp {
		joins = joins && a.setHeir(p.PID, surplus, now)
	}
	if !joins {
		a.metrics.refuse()
		a.scout.retryLater(p.PID)
		return
	}
	a.addArrival(found)
	if givesUp {
		a.log.Info("a kernel is given up: its account has the most kernels, and another account needs a place",
			"pid", p.PID, "kernel", surplus)
		a.metrics.refuse()
		tracer.Leave(a.session, surplus)
	}
	a.admitArrivals()
}

// admitArrivals asks the kernels whose turn it is to join the session.
func (a *Agent) admitArrivals() {
	for _, pid := range a.admit(a.session.Join) {
		a.scout.retryLater(pid)
	}
}

// addKernel begins to follow a kernel.
func (a *Agent) addKernel(e *event.Process, p arrival) {
	k := newKernel(a.newMonitor(), a.start, e.ProcessInfo, p.facts)
	a.nameKernel(k)
	if !k.settled {
		time.AfterFunc(maxNameWait, a.nameAll)
	}
	hasRunCells := e.Inputs > 1
	if hasRunCells && e.Started >= a.began {
		a.metrics.miss()
	}
	a.kernels[e.Root] = k
	followTasks(a, k, &p.Python)
	if a.options.Config.withSources() {
		k.monitor.KeepSources(engines.MaxSource, maxSources)
	}
	a.metrics.addKernel(k)
}

// joined is called by the session once it has attached to a kernel, or could not.
func (a *Agent) joined(id process.Identity, root uint32, err error) {
	holder := a.endJoin(id.PID)
	defer a.admitArrivals()
	switch {
	case err == nil:
		a.takeSlot(root, holder)
		return
	case errors.Is(err, tracer.ErrNoRoom):
		a.scout.retryLater(id.PID)
	}
	a.takeArrival(id.PID)
	switch {
	case saysEnded(err):
		a.metrics.miss()
	case !errors.Is(err, tracer.ErrFollowed):
		a.metrics.refuse()
		a.log.Warn("a kernel is not traced", "pid", id.PID, "error", err)
	}
}

// released is called by the session once a root and all its processes have ended.
func (a *Agent) released(root uint32) {
	a.freeSlot(root)
	a.admitArrivals()
}

// saysEnded reports whether an error says that a process has ended.
func saysEnded(err error) bool {
	return errors.Is(err, process.ErrNoProcess) || errors.Is(err, process.ErrZombie) ||
		errors.Is(err, ledger.ErrNoProcess)
}

// holderOfLook returns who is charged for the time of a look at a process.
func holderOfLook(a *Agent, pid int) (inventory.Holder, error) {
	status, err := a.fs.Proc(pid).Status()
	if err != nil {
		return inventory.Holder{}, err
	}
	f, _ := accountFacts(&a.book, groupOf(a.fs, pid), status.UID)
	return inventory.Holder{UID: f.account.user, Group: f.account.group}, nil
}

// newScout returns a scout that has seen nothing.
func (a *Agent) newScout(ctx context.Context) *scout {
	s := &scout{
		fs: a.fs, log: a.log, found: a.found, missed: a.metrics.miss, wake: make(chan struct{}, 1),
		holder: func(pid int) (inventory.Holder, error) { return holderOfLook(a, pid) },
	}
	s.look = inventory.NewFinder(ctx, !a.options.Config.Dask.Off, s.deliver).Look
	return s
}

// followTasks begins to count the tasks of a kernel or a worker.
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
