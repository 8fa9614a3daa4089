package agent

import (
	"cmp"
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"ipytracer/cmd/tracer/internal/agent/deaths"
	"ipytracer/event"
	"ipytracer/internal/companion"
	"ipytracer/tracer"
)

// keepDeaths has reports of deaths kept from now on, and sent over lines of a session, unless that is off.
func keepDeaths(a *Agent, o *tracer.Options) {
	if a.options.Config.Deaths.Off {
		return
	}
	a.deaths = deaths.New(deaths.Options{
		Config:   func() *deaths.Config { return &a.config.Load().Deaths },
		Protocol: companion.Protocol, Log: a.log,
		Place: a.boundary,
	})
	a.sinks = append(a.sinks, a.deaths)
	o.Messenger = a.deaths
	a.metrics.registry.MustRegister(reportCounts{a.deaths})
}

// reportCounts show the counts of reports.
type reportCounts struct{ of *deaths.Keeper }

var (
	reportsKept = prometheus.NewDesc("ipytracer_death_reports_kept", "Reports of deaths that are kept.", nil, nil)
	reportsMade = prometheus.NewDesc("ipytracer_death_reports_total",
		"Reports of deaths that were made, shown, or dropped for want of room, and deaths of nobody known.",
		[]string{"outcome"}, nil)
)

// reportSeries is the number of their time series.
const reportSeries = 5

// Describe implements [prometheus.Collector].
func (c reportCounts) Describe(to chan<- *prometheus.Desc) { to <- reportsKept; to <- reportsMade }

// Collect implements [prometheus.Collector].
func (c reportCounts) Collect(to chan<- prometheus.Metric) {
	n := c.of.Counts()
	to <- prometheus.MustNewConstMetric(reportsKept, prometheus.GaugeValue, float64(n.Kept))
	for outcome, count := range map[string]uint64{
		"made": n.Made, "shown": n.Shown, "dropped": n.Dropped, "nobodys": n.Nobodys,
	} {
		to <- prometheus.MustNewConstMetric(reportsMade, prometheus.CounterValue, float64(count), outcome)
	}
}

// runDeaths writes reports and answers for them until the context is done; then over is closed.
func runDeaths(ctx context.Context, a *Agent) (over <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if a.deaths != nil {
			a.deaths.Run(ctx)
		}
	}()
	return done
}

// reloadDeaths returns the section that holds after another one was read.
func reloadDeaths(a *Agent, before, after deaths.Config) deaths.Config {
	if after.Folder != before.Folder || after.Socket != before.Socket || after.Off != before.Off {
		a.log.Warn("deaths.folder, deaths.socket and deaths.off change when the agent is started again")
		after.Folder, after.Socket, after.Off = before.Folder, before.Socket, before.Off
	}
	return after
}

// leaves forgets a kernel that has ended.
func leaves(a *Agent, k *kernel) {
	if a.deaths != nil {
		a.deaths.Left(k.PID)
	}
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
