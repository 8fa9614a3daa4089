package agent

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"ipytracer/cmd/tracer/internal/agent/engines"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/cmd/tracer/internal/agent/users"
	"ipytracer/event"
	"ipytracer/model"
)

// metrics are the figures that /metrics shows. A kernel's gauges are read from its state at each collection. Counters
// and histograms belong to an owner, a user in a pod; [labels] bounds the number of their series.
type metrics struct {
	config func() *Config

	mu       sync.Mutex // guards everything below, and the kernels' state
	kernels  map[*kernel]bool
	lost     []event.Loss // so far
	labels   labels
	cells    closedSeries
	tasks    closedSeries
	deaths   *prometheus.CounterVec
	unseen   prometheus.Counter // tasks without figures
	refused  prometheus.Counter // kernels that were not traced
	missed   prometheus.Counter // kernels that were traced too late, or not before their end
	exports  *engines.Counts
	pull     http.Handler  // profiles of kernels; nil for none
	users    *users.Keeper // what a user of JupyterHub has; nil for none
	state    doorState
	registry *prometheus.Registry
}

// Labels of all series of a kernel, and of its owner.
var (
	ownerLabels  = []string{"namespace", "pod", "container", "user"}
	kernelLabels = append(ownerLabels[:len(ownerLabels):len(ownerLabels)], "kernel")
)

// Descriptions of the series that are made at each collection.
var (
	residentNow = describe("kernel_resident_bytes",
		"Resident memory of a kernel and its children, at the last boundary.")
	gpuNow = describe("kernel_gpu_bytes",
		"GPU memory that a kernel and its children hold through the CUDA driver, since they are traced.", "gpu")
	highestNeed = describe("kernel_highest_bytes",
		"Highest need of resident memory of any cell so far: its peak, less what there was at its start.")
	limitNow = describe("kernel_limit_bytes",
		"Memory that the nearest limit of a kernel allows.", "kind")
	infoNow = describe("kernel_info", "1 for each kernel that is traced. A user can forge claimed_user.",
		"pid", "python", "ipython", "frontend", "server", "claimed_user")

	tracedNow = prometheus.NewDesc("ipytracer_kernels", "Kernels that are traced.", nil, nil)
	lostSoFar = prometheus.NewDesc("ipytracer_lost_total",
		"Records that were lost, and probes that could not be placed, by reason.", []string{"reason"}, nil)
	folded = prometheus.NewDesc("ipytracer_series_folded_total",
		`Times that labels were replaced by "other", for want of room.`, nil, nil)
)

// Descriptions of the series of the container in which a kernel runs. Kernels of one container have the same values.
var (
	containerNow = describe("container_bytes",
		"Memory that Linux charges to the container of a kernel, at the kernel's last boundary.")
	containerHighest = describe("container_highest_bytes",
		"Highest memory that Linux has charged to the container of a kernel, since the container was made.")
	containerLimit = describe("container_limit_bytes", "Limit of that memory.")
)

// describe returns the description of a series of a kernel, with further labels.
func describe(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc("ipytracer_"+name, help, append(kernelLabels[:len(kernelLabels):len(kernelLabels)],
		more...), nil)
}

// Sizes of the native histograms: a quantile is right to a tenth.
const (
	histogramGrowth = 1.1 // from one bucket's upper bound to the next
	maxBuckets      = 160
)

func newMetrics(config func() *Config) *metrics {
	registry := prometheus.NewPedanticRegistry()
	m := &metrics{
		config: config, kernels: map[*kernel]bool{},
		registry: registry, exports: engines.NewCounts(registry),
		cells: closedSeries{
			counter("cells_total", "Cells that have ended.", "outcome"),
			histogram("cell_need_bytes",
				"Resident memory that cells needed: the peak, less what there was at the start."),
		},
		tasks: closedSeries{
			counter("tasks_total", "Tasks of Dask that have ended.", "outcome"),
			histogram("task_need_bytes",
				"Resident memory of a worker while a task of Dask ran: the peak, less what there was at the start."),
		},
		deaths: counter("kernel_deaths_total", "Kernels that have ended, by cause: oom, a signal, or exit.", "cause"),
		unseen: prometheus.NewCounter(prometheus.CounterOpts{Name: "ipytracer_tasks_unseen_total",
			Help: "Tasks of Dask, and times between them, that ended without a figure: too many ended at a time."}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{Name: "ipytracer_kernels_refused_total",
			Help: "Times that a kernel could not be traced, or had no room."}),
		missed: prometheus.NewCounter(prometheus.CounterOpts{Name: "ipytracer_kernels_missed_total",
			Help: "Kernels that ended, or ran a cell, before they were traced: by their arguments, or at the attach."}),
	}
	registry.MustRegister(m, m.refused, m.missed, m.unseen,
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// closedSeries are the series of cells, or of tasks, that have ended.
type closedSeries struct {
	counts *prometheus.CounterVec
	needs  *prometheus.HistogramVec
}

// ownerSeries are series that belong to owners.
type ownerSeries interface {
	prometheus.Collector
	DeletePartialMatch(labels prometheus.Labels) int
}

// ofOwners returns all series that belong to owners.
func (m *metrics) ofOwners() []ownerSeries {
	return []ownerSeries{m.cells.counts, m.cells.needs, m.deaths, m.tasks.counts, m.tasks.needs}
}

// histogram returns native histograms of owners.
func histogram(name, help string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "ipytracer_" + name, Help: help,
		NativeHistogramBucketFactor: histogramGrowth, NativeHistogramMaxBucketNumber: maxBuckets,
		NativeHistogramZeroThreshold: prometheus.NativeHistogramZeroThresholdZero,
	}, ownerLabels)
}

// counter returns counters of owners with one more label.
func counter(name, help, label string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ipytracer_" + name, Help: help},
		append(ownerLabels[:len(ownerLabels):len(ownerLabels)], label))
}

// count counts a cell, or a task, that has ended. The caller holds mu.
func (m *metrics) count(in *closedSeries, o telemetry.Owner, w *model.Window) {
	values := m.labels.forOwner(m, o)
	in.counts.WithLabelValues(append(values, telemetry.Outcome(w))...).Inc()
	in.needs.WithLabelValues(values...).Observe(float64(telemetry.Need(w)))
}

// death counts a kernel that has ended. The caller holds mu.
func (m *metrics) death(o telemetry.Owner, how *model.Ending) {
	m.deaths.WithLabelValues(append(m.labels.forOwner(m, o), causeOf(how))...).Inc()
}

// causes are the values of the label cause. Any other signal counts as "signal", so that a kernel cannot make new
// values.
var causes = []string{"exit", "unknown", "oom", "sigkill", "sigterm", "sigint", "sigsegv", "sigabrt", "signal"}

func causeOf(how *model.Ending) string {
	switch {
	case how == nil:
		return "unknown"
	case how.OutOfMemory:
		return "oom"
	case how.Signal == "":
		return "exit"
	}
	if name := strings.ToLower(how.Signal); slices.Contains(causes, name) {
		return name
	}
	return "signal"
}

// refuse counts a kernel that is not traced. Any goroutine may call it.
func (m *metrics) refuse() { m.refused.Inc() }

// miss counts a kernel that was not traced from its first cell on. Any goroutine may call it.
func (m *metrics) miss() { m.missed.Inc() }

// addKernel and dropKernel change the set of kernels. The caller holds mu.
func (m *metrics) addKernel(k *kernel)  { m.kernels[k] = true }
func (m *metrics) dropKernel(k *kernel) { delete(m.kernels, k) }

// Describe implements [prometheus.Collector].
func (m *metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		residentNow, gpuNow, highestNeed, limitNow, infoNow, tracedNow, lostSoFar, folded,
		containerNow, containerHighest, containerLimit,
	} {
		to <- d
	}
	for _, s := range m.ofOwners() {
		s.Describe(to)
	}
}

// Collect implements [prometheus.Collector]. It holds mu while it makes the figures, but not while it sends them, since
// the receiver may be slow.
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	for _, s := range m.snapshot() {
		to <- s
	}
	for _, s := range m.ofOwners() {
		s.Collect(to)
	}
}

func (m *metrics) snapshot() (series []prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.labels.evict(m)
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		series = append(series, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...))
	}
	for k := range m.kernels {
		m.describeKernel(k, gauge)
	}
	gauge(tracedNow, float64(len(m.kernels)))
	count := func(d *prometheus.Desc, value float64, labels ...string) {
		series = append(series, prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...))
	}
	for _, l := range m.lost {
		count(lostSoFar, float64(l.Count), l.Reason)
	}
	count(folded, float64(m.labels.folded))
	return series
}

// describeKernel makes the gauges of a kernel.
func (m *metrics) describeKernel(k *kernel, gauge func(*prometheus.Desc, float64, ...string)) {
	now, p, known := k.now()
	if !known {
		return
	}
	labels := append(valuesOf(m.shown(k.Owner)), strconv.Itoa(int(k.Slot)))
	with := func(more ...string) []string { return append(labels[:len(labels):len(labels)], more...) }
	gauge(residentNow, float64(now.Resident), labels...)
	gauge(highestNeed, float64(now.Highest), labels...)
	for _, g := range now.GPUs {
		gauge(gpuNow, float64(g.Bytes), with(strconv.Itoa(g.Number))...)
	}
	if now.Limit != nil {
		gauge(limitNow, float64(now.Limit.Bytes), with(now.Limit.Kind)...)
	}
	describeContainer(k, gauge, labels)
	gauge(infoNow, 1, with(strconv.Itoa(p.PID), telemetry.Label(p.Python), telemetry.Label(p.IPython),
		telemetry.Label(cmp.Or(p.Frontend, k.Frontend)), k.HubServer, k.Claimed.HubUser)...)
}

// describeContainer makes the gauges of a kernel's container.
func describeContainer(k *kernel, gauge func(*prometheus.Desc, float64, ...string), labels []string) {
	c, known := k.monitor.Container(k.PID)
	if !known {
		return
	}
	gauge(containerNow, float64(c.Usage), labels...)
	gauge(containerHighest, float64(c.Highest), labels...)
	if c.Limit > 0 {
		gauge(containerLimit, float64(c.Limit), labels...)
	}
}

// shown returns an owner without the user's name if the configuration says so.
func (m *metrics) shown(o telemetry.Owner) telemetry.Owner {
	if !m.config().Users {
		o.User = ""
	}
	return o
}

// valuesOf returns the values of [ownerLabels].
func valuesOf(o telemetry.Owner) []string { return []string{o.Namespace, o.Pod, o.Container, o.User} }

// labels bounds the number of time series of owners, since users and pods come and go for as long as an agent runs. It
// drops the counters of an owner without a cell for a while. While there are too many owners, a new one counts as
// "other".
type labels struct {
	used   map[telemetry.Owner]time.Time // when each owner was last counted
	folded uint64                        // how often an owner counted as "other"
	now    func() time.Time              // for tests; nil: the clock
}

// seriesOfOwner is the most time series of an owner: the outcomes of cells and their histogram, the causes of deaths,
// and the two outcomes of tasks and their histogram.
var seriesOfOwner = len(telemetry.Outcomes) + 1 + len(causes) + 3

// otherOwner stands for all owners without room.
var otherOwner = telemetry.Owner{Namespace: "other", Pod: "other", Container: "other", User: "other"}

// forOwner returns the values of [ownerLabels] for an owner that counts something now.
func (l *labels) forOwner(m *metrics, o telemetry.Owner) []string {
	if l.used == nil {
		l.used = map[telemetry.Owner]time.Time{}
	}
	o = m.shown(o)
	if _, known := l.used[o]; !known && (len(l.used)+1)*seriesOfOwner > m.config().Series {
		l.folded++
		o = otherOwner
	}
	l.used[o] = l.time()
	return valuesOf(o)
}

func (l *labels) time() time.Time {
	if l.now != nil {
		return l.now()
	}
	return time.Now()
}

// evict drops the counters of owners that have counted nothing for the configured time and have no kernel.
func (l *labels) evict(m *metrics) {
	old := l.time().Add(-time.Duration(m.config().Keep))
	live := map[telemetry.Owner]bool{}
	for k := range m.kernels {
		live[k.Owner] = true
	}
	for o, lastUse := range l.used {
		if lastUse.After(old) || live[o] {
			continue
		}
		delete(l.used, o)
		ofOwner := prometheus.Labels{
			"namespace": o.Namespace, "pod": o.Pod, "container": o.Container, "user": o.User,
		}
		for _, series := range m.ofOwners() {
			series.DeletePartialMatch(ofOwner)
		}
	}
}
