package agent

import (
	"context"
	"time"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/agent/engines"
	"ipytracer/event"
	"ipytracer/tracer"
)

// export begins to keep what users of JupyterHub have, to send spans and to make profiles, as far as the configuration
// has them. The caller calls stop at the end: it sends what is left, and returns within some seconds.
func (a *Agent) export(ctx context.Context) (stop func(), err error) {
	if err := serveUsers(a); err != nil {
		return nil, err
	}
	stopSpans, err := a.sendSpans(ctx)
	if err != nil {
		return nil, err
	}
	stopProfiles := a.makeProfiles(ctx)
	return func() { stopProfiles(); stopSpans() }, nil
}

// makeProfiles begins to make profiles, if the configuration has them. The caller calls stop at the end.
func (a *Agent) makeProfiles(ctx context.Context) (stop func()) {
	c := a.options.Config.Profiles
	if c == nil {
		return func() {}
	}
	p := engines.NewProfiler(engines.ProfilerOptions{Profiles: *c, Log: a.log,
		Counts: a.metrics.exports.Of(engines.ProfilesEngine)})
	a.profiler, a.metrics.pull = p, p
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Run(ctx)
	}()
	return func() { cancel(); <-done }
}

// newMonitor returns a monitor for a kernel, with stacks where these are walked.
func (a *Agent) newMonitor() *attribution.Monitor {
	if a.profiler == nil {
		return attribution.NewMonitor()
	}
	return attribution.NewProfiler()
}

// passStack hands a stack to the kernel that its process belongs to; to all if it is of a process that is not known
// yet.
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

// profileAll hands on what all kernels have allocated, if an interval is over.
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

// profile hands on what a kernel has allocated in the interval that ends now.
func (a *Agent) profile(k *kernel, now time.Time) {
	if a.profiler != nil {
		a.profiler.Interval(k.Kernel, now, k.monitor.Flows(k.PID), k.over)
	}
}
