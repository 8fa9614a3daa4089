package agent

import (
	"context"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/tracer"
	"os"
	"reflect"
	"time"
)

func newAgent(o Options) *Agent {
	a := &Agent{options: o, log: o.Log, kernels: map[uint32]*kernel{}, arrivals: newArrivals(),
		joinRate: rateLimit{limit: joinsAMinute, period: time.Minute}}
	a.config.Store(&o.Config)
	self, _ := a.fs.Identity(os.Getpid())
	a.began = self.StartTicks
	a.metrics = newMetrics(a.config.Load)
	return a
}

// Run follows the kernels until the context is done. The error is as for [tracer.Attach], matches [ErrAddress],
// [ErrExport], [ErrHubPage] or [ErrKubernetes], or is a [RightsError].
func Run(ctx context.Context, o Options) error {
	if err := checkRights(process.FS{}.Facts()); err != nil {
		return err
	}
	a := newAgent(o)
	doors, err := openDoors(a)
	if err != nil {
		return err
	}
	defer doors.close()
	options := tracer.Options{
		Log: o.Log, Version: o.Version, Budget: o.Budget, Keep: o.Keep,
		NoStacks: o.Config.Profiles == nil, PythonOnly: true, Glances: time.Duration(o.Config.Refresh),
	}
	keepDeaths(a, &options)
	keepTasks(a, &options)
	a.scout = a.newScout(ctx)
	arrivals := tracer.Arrivals{Joined: a.joined, Released: a.released, Born: a.scout.wakeUp}
	a.session, err = tracer.Follow(options, arrivals)
	if err != nil {
		return err
	}
	defer a.session.Close()
	a.scout.births = a.session.Births
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop, err := a.export(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if err := a.watchPods(ctx); err != nil {
		return err
	}
	go a.scout.run(ctx, func() time.Duration { return time.Duration(a.config.Load().Look) })
	go a.reload(ctx)
	if o.Traces != nil {
		o.Traces()
	}
	wait := doors.serve(ctx, a, cancel)
	err = a.follow(ctx)
	a.stopWaiting()
	if err != nil {
		return err
	}
	err = wait()
	if err == nil && outer.Err() == nil {
		err = context.Cause(ctx) // [Options.Ready] has failed
	}
	return err
}

// reload takes in new configurations until the context is done.
func (a *Agent) reload(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case c, ok := <-a.options.Reload:
			if !ok {
				return
			}
			keepFixedFields(a, &c)
			a.config.Store(&c)
			a.nameAll()
			a.log.Info("the configuration was read again")
		}
	}
}

// keepFixedFields restores the fields of a new configuration that are read at the start only, with a warning if they
// have changed.
func keepFixedFields(a *Agent, c *Config) {
	before := a.config.Load()
	c.Deaths = reloadDeaths(a, before.Deaths, c.Deaths)
	if c.Listen != before.Listen || c.Budget != before.Budget || c.Refresh != before.Refresh ||
		c.Kubernetes != before.Kubernetes || c.Dask.Off != before.Dask.Off || c.Health != before.Health {
		a.log.Warn("listen, health, budget, refresh, kubernetes and dask.off change when the agent is started again")
		c.Listen, c.Health, c.Budget, c.Refresh = before.Listen, before.Health, before.Budget, before.Refresh
		c.Kubernetes, c.Dask.Off = before.Kubernetes, before.Dask.Off
	}
	if !reflect.DeepEqual(c.OTLP, before.OTLP) || !reflect.DeepEqual(c.Profiles, before.Profiles) ||
		!reflect.DeepEqual(c.HubPage, before.HubPage) {
		a.log.Warn("otlp, profiles and hub_page change when the agent is started again")
		c.OTLP, c.Profiles, c.HubPage = before.OTLP, before.Profiles, before.HubPage
	}
}

// follow takes in the session's events until the context is done.
func (a *Agent) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		e, err := a.session.Next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		a.metrics.mu.Lock()
		a.handle(e)
		if !a.session.Pending() { // no event is left, so each boundary has its readings
			a.lull()
		}
		a.metrics.mu.Unlock()
	}
	return nil
}

// handle takes in an event. The caller holds metrics.mu.
func (a *Agent) handle(e event.Event) {
	switch e := e.(type) {
	case *event.Start:
		a.start = e
	case *event.Process:
		if id, ok := a.takeArrival(int(e.PID)); ok {
			a.addKernel(e, id)
		}
		noteNotebook(a, e)
		a.pass(e.Root, e)
	case *event.Boundary:
		noteTasks(a, e.Root, e)
		a.pass(e.Root, e)
	case *event.CellSource:
		a.passSource(e)
	case *event.Reading:
		a.pass(e.Root, e)
	case *event.Change:
		a.pass(e.Root, e)
	case *event.Refusal:
		a.pass(e.Root, e)
	case *event.Foreign:
		a.pass(e.Root, e)
	case *event.Stack:
		a.passStack(e)
	case *event.Limits:
		noteTasks(a, e.Root, e)
		a.pass(e.Root, e)
	case *event.Ending:
		a.pass(e.Root, e)
		if k := a.kernels[e.Root]; k != nil && k.PID == int(e.PID) {
			k.hasEnded = true
			k.givenUp = e.Status == 0 && a.isLeaving(e.Root)
		}
	}
}

// pass gives an event to the monitor of the kernel with a root.
func (a *Agent) pass(root uint32, e event.Event) {
	if k := a.kernels[root]; k != nil {
		k.monitor.Add(e)
		if _, isBoundary := e.(*event.Boundary); isBoundary {
			k.busy = true
		}
	}
}

// lull settles the boundaries since the last lull, and delivers the cells that have finished and the kernels that have
// ended. The caller holds metrics.mu.
func (a *Agent) lull() {
	// Losses are read from a file for each program of the kernel half.
	if time.Since(a.counted) > time.Duration(a.config.Load().Refresh) {
		a.metrics.lost, a.counted = a.session.Losses(), time.Now()
	}
	for root, k := range a.kernels {
		if k.busy || k.hasEnded {
			a.lullKernel(root, k)
		}
	}
	answerTasks(a)
	a.profileAll(time.Now())
}

// lullKernel is [Agent.lull] for one kernel.
func (a *Agent) lullKernel(root uint32, k *kernel) {
	k.busy = false
	k.monitor.Add(&event.Lull{})
	if k.hasEnded {
		k.end()
	}
	takeTasks(a, k)
	done := k.monitor.Finished()
	for i := range done {
		k.highest = max(k.highest, telemetry.Need(&done[i]))
	}
	if k.hasEnded {
		delete(a.kernels, root)
		a.metrics.dropKernel(k)
		if a.deaths != nil {
			a.deaths.Left(k.PID)
		}
	}
	if k.givenUp {
		a.scout.retryLater(k.PID)
	}
	a.deliver(k, done, k.hasEnded)
	if k.hasEnded {
		a.profile(k, time.Now())
	}
}
