package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"ipytracer/cmd/tracer/internal/agent/pods"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/event"
	"ipytracer/model"

	"github.com/prometheus/client_golang/prometheus"
)

// A kernel in a pod can be traced before Kubernetes has said which pod that is. Its cells are kept until then, so that
// they count under its name, but no longer than patience: after that they count under the pod's UID, and those that
// come later under its name once that is known. A record that a sink has does not change: it is replaced.
const (
	patience = 10 * time.Second
	maxHeld  = 64  // cells of a kernel
	maxEnded = 256 // kernels that have ended
)

// names knows to whom kernels belong.
type names struct {
	pods    finders
	ended   []*kernel // with cells that are kept; under metrics.mu
	stopped bool      // nothing is kept any more; under metrics.mu
}

// watchPods begins to watch this node's pods, at Kubernetes' API server and at the container runtime, as the
// configuration has it.
func (a *Agent) watchPods(ctx context.Context) error {
	c := a.options.Config.Kubernetes
	o := pods.Options{
		Wanted:  pods.Wanted{Labels: telemetry.HubLabels, Annotations: telemetry.HubAnnotations},
		Version: a.options.Version, Log: a.log, Open: a.options.Open, Changed: a.rename,
	}
	if err := a.watchServer(ctx, c, o); err != nil {
		return err
	}
	if c.CRI == "" {
		return nil
	}
	r, err := pods.NewRuntime(c.CRI, o)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrKubernetes, err)
	}
	a.ask(ctx, r)
	return nil
}

// watchServer begins to watch the pods at the API server.
func (a *Agent) watchServer(ctx context.Context, c pods.Config, o pods.Options) error {
	if !c.Wanted() {
		return nil
	}
	w, err := pods.New(c, o)
	switch {
	case err != nil && c.Enabled == pods.Auto:
		a.log.Warn("pods go by their UIDs, as Kubernetes cannot be asked for their names", "error", err)
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w", ErrKubernetes, err)
	}
	a.ask(ctx, w)
	return nil
}

// podSource knows pods once it runs.
type podSource interface {
	finder
	Run(ctx context.Context)
	Series() []prometheus.Collector
}

// ask has a source asked for the names of pods from now on.
func (a *Agent) ask(ctx context.Context, s podSource) {
	a.names.pods = append(a.names.pods, s)
	a.metrics.registry.MustRegister(s.Series()...)
	go s.Run(ctx)
}

// name gives a kernel a record with the names that are known now, unless it has the very same; settled is false if
// there will be more. The caller holds metrics.mu.
func (a *Agent) name(k *kernel) {
	c := a.config.Load()
	next := *k.Kernel
	k.settled = a.names.pods.fill(&next, &k.facts, c)
	if next.Owner == k.Owner && next.HubServer == k.HubServer && next.OfHub == k.OfHub && next.Claimed == k.Claimed &&
		next.Place == k.Place {
		return
	}
	moved := next.Place != k.Place
	if k.Kernel = &next; moved {
		noteKernel(a, k)
	}
}

// rename gives all kernels the names that are known now, and counts the cells that waited for them.
func (a *Agent) rename() {
	a.metrics.mu.Lock()
	defer a.metrics.mu.Unlock()
	for _, k := range a.kernels {
		a.name(k)
		a.deliver(k, nil, false)
	}
	waiting := a.names.ended
	a.names.ended = nil
	for _, k := range waiting {
		a.name(k)
		a.deliver(k, nil, true)
	}
}

// stopWaiting counts all cells that wait for names.
func (a *Agent) stopWaiting() {
	a.metrics.mu.Lock()
	a.names.stopped = true
	a.metrics.mu.Unlock()
	a.rename()
}

// noteNotebook takes in the notebook that a kernel says it runs, and its versions. Both may come late.
func noteNotebook(a *Agent, e *event.Process) {
	k := a.kernels[e.Root]
	if k == nil || k.PID != int(e.PID) {
		return
	}
	if e.Notebook != "" {
		k.notebook = e.Notebook
		k.facts.claimed.Notebook = notebookOf(e.Notebook)
		a.name(k)
	}
	next := *k.Kernel // it may be followed before it has loaded IPython
	next.Python, next.IPython = cmp.Or(e.Python, k.Python), cmp.Or(e.IPython, k.IPython)
	next.Frontend = cmp.Or(e.Frontend, k.Frontend)
	k.Kernel = &next
	noteKernel(a, k)
}

// noteKernel takes in a kernel that runs, with the person and the notebook that it belongs to as far as is known.
func noteKernel(a *Agent, k *kernel) {
	if a.deaths != nil && !k.Worker && a.kernels[k.Slot] == k {
		a.deaths.Joined(k.Kernel, k.notebook)
	}
}

// waits reports whether the cells of a kernel are kept until its names are known. The caller holds metrics.mu.
func (n *names) waits(k *kernel) bool {
	return !k.settled && !n.stopped && len(k.held) < maxHeld && len(k.tasks) < maxHeldTasks &&
		len(n.ended) < maxEnded && time.Since(k.Joined) < patience
}

// deliver counts cells of a kernel, and its end if it is over, and hands them on; or keeps them while the kernel's
// names are not known. The caller holds metrics.mu.
func (a *Agent) deliver(k *kernel, done []model.Window, over bool) {
	k.held = append(k.held, done...)
	if a.names.waits(k) {
		if over {
			a.names.ended = append(a.names.ended, k)
		}
		return
	}
	a.handOnTasks(k)
	done, k.held = k.held, nil
	for i := range done {
		a.metrics.count(&a.metrics.cells, k.Owner, &done[i])
	}
	var end *telemetry.Death
	if over {
		end = a.end(k, done)
	}
	a.handOn(k, done, end)
}

// end returns the end of a kernel, nil if there is nothing to say of it, and counts it.
func (a *Agent) end(k *kernel, done []model.Window) *telemetry.Death {
	p := k.ended
	if p == nil || k.left {
		return nil
	}
	a.metrics.death(k.Owner, p.Ending)
	d := &telemetry.Death{Kernel: k.Kernel, Ending: p.Ending, Statement: k.statement, Notebook: k.notebook}
	d.At = wall(k.monitor.Origin() + event.Nanoseconds(p.EndNS))
	for i := range done {
		if telemetry.Outcome(&done[i]) == model.Incomplete {
			d.Open = append(d.Open, &done[i])
		}
	}
	return d
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

// handOnTasks counts the tasks of a kernel, and hands them to the sinks.
func (a *Agent) handOnTasks(k *kernel) {
	done := k.tasks
	k.tasks = nil
	for i := range done {
		t := &done[i]
		a.metrics.count(&a.metrics.tasks, k.Owner, t.Window)
		t.Kernel = k.Kernel
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
