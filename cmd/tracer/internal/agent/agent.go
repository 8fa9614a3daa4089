// Package agent is `tracer agent`: one session that takes in every kernel of the machine, for as long as it runs, and
// the figures of their cells for engines that collect them.
package agent

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"ipytracer/cmd/tracer/internal/agent/deaths"
	"ipytracer/cmd/tracer/internal/agent/engines"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/model"
	"ipytracer/tracer"
)

// Options are what an agent needs beside its configuration.
type Options struct {
	Config  Config
	Budget  float64 // as in [tracer.Options]
	Keep    []uint  // as in [tracer.Options]
	Version string
	Log     *slog.Logger
	// Open opens the files that the configuration names, with the rights of the person who named it.
	Open func(name string) (*os.File, error)
	// Traces is called once kernels are looked for, and Ready once /metrics answers as well, with the address that it
	// has. State takes a sentence about the addresses when it changes. nil: nobody wants to know.
	Traces func()
	Ready  func(net.Addr) error
	State  func(text string)
	// Sockets listen at addresses of the configuration already.
	Sockets []net.Listener
	// Reload delivers configurations that replace the present one.
	Reload <-chan Config
}

// Agent follows the kernels of a machine.
type Agent struct {
	options Options
	config  atomic.Pointer[Config] // the present one
	log     *slog.Logger
	fs      process.FS
	session *tracer.Session
	scout   *scout
	metrics *metrics
	arrivals
	names    names
	book     telemetry.Accounts
	pace     pace               // for the scout's goroutine
	kernels  map[uint32]*kernel // by root: for the goroutine of Run, and for collections under metrics.mu
	sinks    []telemetry.Sink
	deaths   *deaths.Keeper // nil: off
	tasks    *taskKeeper    // nil: off
	start    *event.Start
	began    uint64            // start of the agent, as [process.Identity.StartTicks]
	counted  time.Time         // when losses were last counted
	profiler *engines.Profiler // nil: no stacks are walked
}

// ErrAddress says that the address of /metrics cannot be listened on.
var ErrAddress = errors.New("no figures can be answered")

// ErrKubernetes says that Kubernetes cannot be asked as the configuration has it.
var ErrKubernetes = errors.New("names of pods cannot be asked for")

// Run follows the kernels until the context is done. The error is as for [tracer.Attach], matches [ErrAddress],
// [ErrExport], [ErrHubPage] or [ErrKubernetes], or is a [RightsError].
func Run(ctx context.Context, o Options) error {
	if err := checkRights(process.FS{}.Facts()); err != nil {
		return err
	}
	a := &Agent{options: o, log: o.Log, kernels: map[uint32]*kernel{}}
	a.config.Store(&o.Config)
	own, _ := a.fs.Identity(os.Getpid())
	a.began = own.StartTicks
	a.metrics = newMetrics(a.config.Load)
	at, err := openDoors(a)
	if err != nil {
		return err
	}
	defer at.close()
	options := tracer.Options{
		Log: o.Log, Version: o.Version, Budget: o.Budget, Keep: o.Keep,
		NoStacks: o.Config.Profiles == nil, PythonOnly: true, Glances: time.Duration(o.Config.Refresh),
	}
	keepDeaths(a, &options)
	keepTasks(a, &options)
	a.scout = a.newScout(ctx)
	arrivals := tracer.Arrivals{Joined: a.joined, Released: a.released, Born: a.scout.poke}
	a.session, err = tracer.Follow(options, arrivals)
	if err != nil {
		return err
	}
	defer a.session.Close()
	a.scout.births = a.session.Births
	ended := ctx
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
	kept := runDeaths(ctx, a)
	if o.Traces != nil {
		o.Traces()
	}
	served := at.serve(ctx, a, cancel)
	err = a.follow(ctx)
	a.stopWaiting()
	if err != nil {
		return err
	}
	err = <-served
	<-kept
	if err == nil && ended.Err() == nil {
		err = context.Cause(ctx) // of [Options.Ready]
	}
	return err
}

// reload takes in new configurations.
func (a *Agent) reload(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case c, ok := <-a.options.Reload:
			if !ok {
				return
			}
			before := a.config.Load()
			c.Deaths = reloadDeaths(a, before.Deaths, c.Deaths)
			if c.Listen != before.Listen || c.Budget != before.Budget || c.Refresh != before.Refresh ||
				c.Kubernetes != before.Kubernetes || c.Dask.Off != before.Dask.Off || c.Health != before.Health {
				a.log.Warn("listen, health, budget, refresh, kubernetes and dask.off change " +
					"when the agent is started again")
				c.Listen, c.Health, c.Budget, c.Refresh = before.Listen, before.Health, before.Budget, before.Refresh
				c.Kubernetes, c.Dask.Off = before.Kubernetes, before.Dask.Off
			}
			if !reflect.DeepEqual(c.OTLP, before.OTLP) || !reflect.DeepEqual(c.Profiles, before.Profiles) ||
				!reflect.DeepEqual(c.HubPage, before.HubPage) {
				a.log.Warn("otlp, profiles and hub_page change when the agent is started again")
				c.OTLP, c.Profiles, c.HubPage = before.OTLP, before.Profiles, before.HubPage
			}
			a.config.Store(&c)
			a.rename()
			a.log.Info("the configuration was read again")
		}
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
		a.take(e)
		if !a.session.Pending() { // everything was read: each boundary has its readings
			a.lull()
		}
		a.metrics.mu.Unlock()
	}
	return nil
}

// take takes in an event.
func (a *Agent) take(e event.Event) {
	switch e := e.(type) {
	case *event.Start:
		a.start = e
	case *event.Process:
		if id, is := a.takeArrival(int(e.PID)); is {
			a.meet(e, id)
		}
		noteNotebook(a, e)
		a.pass(e.Root, e)
	case *event.Boundary:
		noteTasks(a, e.Root, e)
		a.pass(e.Root, e)
	case *event.CellSource:
		addSource(a.kernels, &a.options.Config, e)
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
			k.over = true
			k.left = e.Status == 0 && a.leaves(e.Root)
		}
	}
}

// pass hands an event to the kernel with a root.
func (a *Agent) pass(root uint32, e event.Event) {
	if k := a.kernels[root]; k != nil {
		k.monitor.Add(e)
		if _, is := e.(*event.Boundary); is {
			k.busy = true
		}
	}
}

// lull settles the boundaries of all kernels since the last one, and counts their finished cells.
func (a *Agent) lull() {
	// Losses are read from a file for each program of the kernel half.
	if time.Since(a.counted) > time.Duration(a.config.Load().Refresh) {
		a.metrics.lost, a.counted = a.session.Losses(), time.Now()
	}
	for root, k := range a.kernels {
		if !k.busy && !k.over {
			continue
		}
		k.busy = false
		k.monitor.Add(&event.Lull{})
		if k.over {
			k.end()
		}
		takeTasks(a, k)
		done := k.monitor.Finished()
		for i := range done {
			k.highest = max(k.highest, need(&done[i]))
		}
		if k.over {
			delete(a.kernels, root)
			a.metrics.drop(k)
			leaves(a, k)
		}
		if k.left {
			a.scout.forget(k.PID)
		}
		a.deliver(k, done, k.over)
		if k.over {
			a.profile(k, time.Now())
		}
	}
	answerTasks(a)
	a.profileAll(time.Now())
}

// handOn hands cells, and the end of their kernel if there is one, to the sinks.
func (a *Agent) handOn(k *kernel, done []model.Window, end *telemetry.Death) {
	if len(a.sinks) == 0 {
		return
	}
	for i := range done {
		c := &telemetry.Cell{Kernel: k.Kernel, Window: &done[i], SpanID: telemetry.NewSpanID()}
		c.Began, c.Ended = k.times(c.Window)
		submitted(a, k, c)
		if end != nil && slices.Contains(end.Open, c.Window) {
			c.Ending = end.Ending
		}
		for _, s := range a.sinks {
			s.Cell(c)
		}
	}
	if end != nil {
		for _, s := range a.sinks {
			s.Death(end)
		}
	}
}

// meet begins to follow a kernel.
func (a *Agent) meet(e *event.Process, p arrival) {
	k := kernelWith(a.newMonitor(), a.start, e.ProcessInfo, p.facts)
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
	of := a.holderOf(id.PID)
	a.settle(of)
	defer a.admitArrivals()
	switch {
	case err == nil:
		a.metrics.hold(root, of)
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
	a.metrics.release(root)
	a.freed(root)
	a.admitArrivals()
}

// hasEnded reports whether an error says that a process has ended.
func hasEnded(err error) bool {
	return errors.Is(err, process.ErrNoProcess) || errors.Is(err, process.ErrZombie) ||
		errors.Is(err, ledger.ErrNoProcess)
}
