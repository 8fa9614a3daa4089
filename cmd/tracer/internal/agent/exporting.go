package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/agent/engines"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/cmd/tracer/internal/agent/users"
	"ipytracer/event"
	"ipytracer/tracer"
)

// ErrExport says that spans cannot be sent with this configuration.
var ErrExport = errors.New("spans cannot be sent")

// CheckFiles reads the files that a configuration names, and returns the first mistake.
func (c *Config) CheckFiles(open func(string) (*os.File, error)) error {
	if c.OTLP != nil {
		if err := c.OTLP.CheckFiles(open); err != nil {
			return fmt.Errorf("otlp: %w", err)
		}
	}
	if c.HubPage != nil {
		if err := c.HubPage.CheckFiles(open); err != nil {
			return fmt.Errorf("hub_page: %w", err)
		}
	}
	return nil
}

// maxSources is the most bytes of sources that are kept of a kernel's running cells.
const maxSources = 64 << 10

// withSources reports whether the sources of cells are kept until the cells end.
func (c *Config) withSources() bool { return c.OTLP != nil && c.OTLP.Source }

// passSource hands the source of a cell to its kernel, if sources are kept.
func (a *Agent) passSource(e *event.CellSource) {
	for _, k := range a.kernels {
		if k.PID == int(e.PID) && a.options.Config.withSources() {
			k.monitor.Add(e)
		}
	}
}

// export begins each of these, if the configuration says so: reports of deaths, the figures of users of JupyterHub,
// spans and profiles. The caller calls stop at the end. It writes and sends what is left, and takes some seconds at
// most.
func (a *Agent) export(ctx context.Context) (stop func(), err error) {
	if err := serveUsers(a); err != nil {
		return nil, err
	}
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	if c := a.options.Config.OTLP; c != nil {
		s, err := engines.NewSink(engines.SinkOptions{
			Config: *c, Version: a.options.Version, Log: a.log, Counts: a.metrics.exports.Of(engines.SpansEngine),
			Open: a.options.Open, Users: func() bool { return a.config.Load().Users },
		})
		if err != nil {
			cancel()
			return nil, fmt.Errorf("%w: otlp: %w", ErrExport, err)
		}
		a.sinks = append(a.sinks, s)
		running.Go(func() { s.Run(ctx) })
	}
	if c := a.options.Config.Profiles; c != nil {
		a.profiler = engines.NewProfiler(engines.ProfilerOptions{Profiles: *c, Log: a.log,
			Counts: a.metrics.exports.Of(engines.ProfilesEngine)})
		a.metrics.pull = a.profiler
		running.Go(func() { a.profiler.Run(ctx) })
	}
	if a.deaths != nil {
		running.Go(func() { a.deaths.Run(ctx) })
	}
	return func() { cancel(); running.Wait() }, nil
}

// newMonitor returns a monitor for a kernel; one with stacks if profiles are made.
func (a *Agent) newMonitor() *attribution.Monitor {
	if a.profiler == nil {
		return attribution.NewMonitor()
	}
	return attribution.NewProfiler()
}

// passStack gives a stack to the monitor of the kernel whose tree has the stack's process. If no monitor knows the
// process yet, it gives the stack to all of them.
func (a *Agent) passStack(s *event.Stack) {
	for _, k := range a.kernels {
		if k.monitor.Has(int(s.PID)) {
			k.monitor.Add(s)
			return
		}
	}
	for _, k := range a.kernels {
		k.monitor.Add(s)
	}
}

// profileAll gives the profiler what all kernels have allocated, if an interval is over.
func (a *Agent) profileAll(now time.Time) {
	if a.profiler == nil || !a.profiler.Due(now) {
		return
	}
	crowded := false
	for _, k := range a.kernels {
		a.profile(k, now)
		crowded = crowded || k.monitor.IsCrowded()
	}
	a.profiler.Begin(now)
	switch forgot, err := tracer.ForgetStacks(a.session, crowded); {
	case err != nil:
		a.log.Warn("new stacks may have no names", "error", err)
	case forgot:
		for _, k := range a.kernels {
			k.monitor.Forgotten()
		}
	}
}

// profile gives the profiler what a kernel has allocated in the interval that ends now.
func (a *Agent) profile(k *kernel, now time.Time) {
	if a.profiler != nil {
		a.profiler.Interval(k.Kernel, now, k.monitor.Flows(k.PID), k.hasEnded)
	}
}

// ErrHubPage says that JupyterHub's page cannot be served with this configuration.
var ErrHubPage = errors.New("JupyterHub's page cannot be served")

// serveUsers begins to keep the figures of JupyterHub's users, if the configuration names hubs that may ask.
func serveUsers(a *Agent) error {
	c := a.options.Config.HubPage
	if c == nil {
		return nil
	}
	name, _ := os.Hostname()
	k, err := users.New(users.Options{
		Config: *c, Log: a.log, Open: a.options.Open,
		Node:       telemetry.Label(cmp.Or(a.options.Config.Kubernetes.Node, os.Getenv("NODE_NAME"), name)),
		Place:      boundaryOf(groupOf(a.fs, os.Getpid()), 0, func() bool { return true }),
		Users:      func() bool { return a.config.Load().Users },
		Trusted:    func(namespace string) bool { return a.config.Load().Hubs.Match(namespace) },
		KeepDeaths: func() time.Duration { return a.config.Load().Deaths.Keep },
		Kernels:    func(wanted func(*telemetry.Kernel) bool) []users.Kernel { return kernelsNow(a.metrics, wanted) },
	})
	if err != nil {
		return fmt.Errorf("%w: hub_page: %w", ErrHubPage, err)
	}
	a.sinks = append(a.sinks, k)
	a.metrics.users = k
	return nil
}

// kernelsNow returns the wanted kernels, with the figures that /metrics has of them.
func kernelsNow(m *metrics, wanted func(*telemetry.Kernel) bool) (kernels []users.Kernel) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k := range m.kernels {
		if now, _, known := k.now(); known && wanted(k.Kernel) {
			kernels = append(kernels, now)
		}
	}
	return kernels
}
