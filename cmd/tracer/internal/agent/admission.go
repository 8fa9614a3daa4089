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

// found lets a kernel join, if its user and the machine may have one more.
func (a *Agent) found(p inventory.Python) {
	c, now := a.config.Load(), time.Now()
	found := arrival{p, about(a.fs, &a.book, p.PID, p.UID)}
	of := found.of()
	taken := a.held(of)
	joins := of.may(taken, c)
	var surplus uint32 // a number that another account gives up
	givenUp := false
	if !joins && !of.worker && taken.own < c.PerUser {
		surplus, givenUp = a.surplus(taken.group)
		joins = givenUp
	}
	joins = joins && a.pace.may(of.group, now)
	if givenUp {
		joins = joins && a.inherits(p.PID, surplus, now)
	}
	if !joins {
		a.metrics.refuse()
		a.scout.forget(p.PID)
		return
	}
	a.addArrival(found)
	if givenUp {
		a.log.Info("a kernel is given up: its account has the most kernels, and another account needs a place",
			"pid", p.PID, "kernel", surplus)
		a.metrics.refuse()
		tracer.Leave(a.session, surplus)
	}
	a.admitArrivals()
}

// admitArrivals asks those kernels to join whose turn it is.
func (a *Agent) admitArrivals() {
	for _, pid := range a.admit(a.session.Join) {
		a.scout.forget(pid)
	}
}

// meet begins to follow a kernel.
func (a *Agent) meet(e *event.Process, p arrival) {
	k := newKernel(a.newMonitor(), a.start, e.ProcessInfo, p.facts)
	a.name(k)
	if !k.settled {
		time.AfterFunc(patience, a.rename)
	}
	if e.Inputs > 1 && e.Started >= a.began { // it has run cells
		a.metrics.miss()
	}
	a.kernels[e.Root] = k
	followTasks(a, k, &p.Python)
	if a.options.Config.withSources() {
		k.monitor.KeepSources(engines.MaxSource, maxSources)
	}
	a.metrics.add(k)
}

// joined is called by the session once a kernel was attached to, or could not be.
func (a *Agent) joined(id process.Identity, root uint32, err error) {
	of := a.settle(id.PID)
	defer a.admitArrivals()
	switch {
	case err == nil:
		a.hold(root, of)
		return
	case errors.Is(err, tracer.ErrNoRoom):
		a.scout.forget(id.PID)
	}
	a.takeArrival(id.PID)
	switch {
	case hasEnded(err):
		a.metrics.miss()
	case !errors.Is(err, tracer.ErrFollowed):
		a.metrics.refuse()
		a.log.Warn("a kernel is not traced", "pid", id.PID, "error", err)
	}
}

// released is called by the session once a root and all its processes have ended.
func (a *Agent) released(root uint32) {
	a.freed(root)
	a.admitArrivals()
}

// hasEnded reports whether an error says that a process has ended.
func hasEnded(err error) bool {
	return errors.Is(err, process.ErrNoProcess) || errors.Is(err, process.ErrZombie) ||
		errors.Is(err, ledger.ErrNoProcess)
}

// holderOfLook returns the holder that is charged for the time of a look at a process.
func holderOfLook(a *Agent, pid int) (of inventory.Holder, err error) {
	status, err := a.fs.Proc(pid).Status()
	if err != nil {
		return of, err
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
