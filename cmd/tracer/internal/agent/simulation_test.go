package agent

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/agent/pods"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/event"
	"ipytracer/internal/ledger"
	"ipytracer/model"
)

// simulation is the registry of an agent whose kernels are made up: the figures and the bounds are an agent's own. It
// is for one goroutine.
type simulation struct {
	agent *Agent
	next  uint32
}

// simulatedKernel is a kernel of a [simulation].
type simulatedKernel struct {
	of     *simulation
	kernel *kernel
}

// newSimulation returns an agent without kernels at a time. It hands cells on to sinks.
func newSimulation(c Config, now func() time.Time, sinks ...telemetry.Sink) *simulation {
	m := newMetrics(func() *Config { return &c })
	m.labels.now = now
	a := &Agent{kernels: map[uint32]*kernel{}, metrics: m, sinks: sinks, counted: time.Now().Add(24 * 365 * time.Hour)}
	a.config.Store(&c)
	return &simulation{agent: a}
}

// Start begins to follow a kernel, of which the session begins with an event. It returns nil where the configuration
// has no room for one more.
func (s *simulation) Start(start *event.Start, of telemetry.Kernel) *simulatedKernel {
	if len(s.agent.kernels) >= s.agent.config.Load().Kernels {
		s.agent.metrics.refuse()
		return nil
	}
	for s.agent.kernels[s.next] != nil {
		s.next = (s.next + 1) % uint32(s.agent.config.Load().Kernels)
	}
	info := start.Processes[0]
	info.Root = s.next
	k := newKernel(attribution.NewMonitor(), start, info, facts{
		owner: of.Owner, podUID: of.PodUID, containerID: of.ContainerID, claimed: of.Claimed,
	})
	k.monitor.Add(&event.Process{ProcessInfo: start.Processes[0]})
	s.agent.kernels[s.next] = k
	s.agent.metrics.addKernel(k)
	return &simulatedKernel{s, k}
}

// Add takes in an event of the kernel.
func (k *simulatedKernel) Add(e event.Event) {
	k.kernel.monitor.Add(e)
	k.kernel.busy = true
}

// Lull counts the cells that have closed.
func (k *simulatedKernel) Lull() { k.of.agent.lull() }

// End forgets the kernel, which has ended.
func (k *simulatedKernel) End(how *model.Ending) {
	k.Lull()
	delete(k.of.agent.kernels, k.kernel.Slot)
	k.of.agent.metrics.dropKernel(k.kernel)
	k.of.agent.metrics.death(k.kernel.Owner, how)
}

// Registry returns the registry of /metrics.
func (s *simulation) Registry() prometheus.Gatherer { return s.agent.metrics.registry }

// Pages answers as the agent does.
func (s *simulation) Pages() http.Handler { return s.agent.metrics.pages() }

// seriesBounds has the most time series that an agent shows, by their kind.
type seriesBounds struct {
	Owners  int // of users and pods: series, and those of "other"
	Kernels int // of kernels: kernels, and the GPUs of each
	Own     int // the agent's
}

// mostSeries returns the most time series that an agent with a configuration shows, on a machine with a number of GPUs.
func mostSeries(c Config, gpus int) (seriesBounds, error) {
	own, err := countSeries(newSimulation(c, time.Now).Registry())
	return seriesBounds{
		Owners: c.Series + seriesOfOwner, Kernels: c.Kernels * (seriesOfKernel + gpus),
		Own: own + ledger.MaxLosses + pods.Series + 1 + len(reportOutcomes),
	}, err
}

// seriesOfKernel is the number of time series that a kernel has, beside those of GPUs: resident, highest, limit, info.
const seriesOfKernel = 4

// countSeries returns how many time series are shown now. A native histogram is one.
func countSeries(of prometheus.Gatherer) (n int, err error) {
	families, err := of.Gather()
	for _, f := range families {
		n += len(f.GetMetric())
	}
	return n, err
}
