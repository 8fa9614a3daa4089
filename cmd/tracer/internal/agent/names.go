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

// A kernel in a pod can be traced before Kubernetes has named that pod. Until then its cells are held, so that they
// count under the pod's name, but at most for maxNameWait. After that they count under the pod's UID, and later cells
// under the name once it is known. A sink's record of a kernel does not change: a kernel with new names gets a new
// record.
const (
	maxNameWait     = 10 * time.Second
	maxHeldCells    = 64  // cells of a kernel
	maxEndedKernels = 256 // kernels that have ended
)

// names has what is needed to name the owners of kernels.
type names struct {
	pods    finders
	ended   []*kernel // kernels that have ended and whose cells are held; under metrics.mu
	stopped bool      // no cells are held any more; under metrics.mu
}

// watchPods begins to watch this node's pods, at Kubernetes' API server and at the container runtime, each if the
// configuration names it.
func (a *Agent) watchPods(ctx context.Context) error {
	c := a.options.Config.Kubernetes
	o := pods.Options{
		Wanted:  pods.Wanted{Labels: telemetry.HubLabels, Annotations: telemetry.HubAnnotations},
		Version: a.options.Version, Log: a.log, Open: a.options.Open, Changed: a.nameAll,
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
	a.addPodSource(ctx, r)
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
	a.addPodSource(ctx, w)
	return nil
}

// podSource finds pods while it runs.
type podSource interface {
	finder
	Run(ctx context.Context)
	Series() []prometheus.Collector
}

// addPodSource runs a source, and asks it for the names of pods from now on.
func (a *Agent) addPodSource(ctx context.Context, s podSource) {
	a.names.pods = append(a.names.pods, s)
	a.metrics.registry.MustRegister(s.Series()...)
	go s.Run(ctx)
}

// nameKernel gives a kernel a new record if other names of it are known now. It sets k.settled, which is false if more
// names may come. The caller holds metrics.mu.
func (a *Agent) nameKernel(k *kernel) {
	c := a.config.Load()
	next := *k.Kernel
	k.settled = a.names.pods.fill(&next, &k.facts, c)
	sameNames := next.Owner == k.Owner && next.HubServer == k.HubServer && next.OfHub == k.OfHub &&
		next.Claimed == k.Claimed && next.Place == k.Place
	if sameNames {
		return
	}
	moved := next.Place != k.Place
	if k.Kernel = &next; moved {
		noteKernel(a, k)
	}
}

// nameAll gives all kernels the names that are known now, and delivers the cells that were held for names.
func (a *Agent) nameAll() {
	a.metrics.mu.Lock()
	defer a.metrics.mu.Unlock()
	for _, k := range a.kernels {
		a.nameKernel(k)
		a.deliver(k, nil, false)
	}
	waiting := a.names.ended
	a.names.ended = nil
	for _, k := range waiting {
		a.nameKernel(k)
		a.deliver(k, nil, true)
	}
}

// stopWaiting delivers all cells that are held, and holds none from now on.
func (a *Agent) stopWaiting() {
	a.metrics.mu.Lock()
	a.names.stopped = true
	a.metrics.mu.Unlock()
	a.nameAll()
}

// noteNotebook takes in the notebook that a kernel claims to run, and the versions of its Python and IPython.
func noteNotebook(a *Agent, e *event.Process) {
	k := a.kernels[e.Root]
	if k == nil || k.PID != int(e.PID) {
		return
	}
	if e.Notebook != "" {
		k.notebook = e.Notebook
		k.facts.claimed.Notebook = notebookOf(e.Notebook)
		a.nameKernel(k)
	}
	next := *k.Kernel // a kernel may be followed before it has loaded IPython
	next.Python, next.IPython = cmp.Or(e.Python, k.Python), cmp.Or(e.IPython, k.IPython)
	next.Frontend = cmp.Or(e.Frontend, k.Frontend)
	k.Kernel = &next
	noteKernel(a, k)
}

// noteKernel tells the keeper of deaths about a kernel that runs, with what is known of its user and notebook.
func noteKernel(a *Agent, k *kernel) {
	if a.deaths != nil && !k.Worker && a.kernels[k.Slot] == k {
		a.deaths.Joined(k.Kernel, k.notebook)
	}
}

// holdsCells reports whether the cells of a kernel are held until its names are known. The caller holds metrics.mu.
func (n *names) holdsCells(k *kernel) bool {
	if k.settled || n.stopped || time.Since(k.Joined) >= maxNameWait {
		return false
	}
	return len(k.held) < maxHeldCells && len(k.tasks) < maxHeldTasks && len(n.ended) < maxEndedKernels
}

// deliver counts cells of a kernel and hands them to the sinks, with the kernel's end if it is over. While the kernel's
// names are unknown, it holds them instead. The caller holds metrics.mu.
func (a *Agent) deliver(k *kernel, done []model.Window, hasEnded bool) {
	k.held = append(k.held, done...)
	if a.names.holdsCells(k) {
		if hasEnded {
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
	if hasEnded {
		end = a.deathOf(k, done)
	}
	a.handOn(k, done, end)
}

// deathOf counts and returns the end of a kernel; nil if the end is unknown, or the kernel goes on without the agent.
func (a *Agent) deathOf(k *kernel, done []model.Window) *telemetry.Death {
	p := k.lastProcess
	if p == nil || k.givenUp {
		return nil
	}
	a.metrics.death(k.Owner, p.Ending)
	d := &telemetry.Death{Kernel: k.Kernel, Ending: p.Ending, Statement: k.lastStatement, Notebook: k.notebook}
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
		useSubmittedContext(a, k, c)
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

// useSubmittedContext gives a cell that has submitted tasks the span and trace IDs that its tasks name as their parent.
func useSubmittedContext(a *Agent, k *kernel, c *telemetry.Cell) {
	if a.tasks == nil {
		return
	}
	began := k.monitor.Origin() + event.Nanoseconds(c.Window.StartNS)
	context := a.tasks.Submitted(c.Window.PID, began, began+event.Nanoseconds(c.Window.DurationNS))
	if context != (telemetry.TraceContext{}) {
		c.SpanID, c.TraceID = context.SpanID, context.TraceID
	}
}
