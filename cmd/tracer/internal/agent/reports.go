package agent

import (
	"github.com/prometheus/client_golang/prometheus"

	"ipytracer/cmd/tracer/internal/agent/deaths"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/internal/companion"
	"ipytracer/tracer"
)

// keepDeaths begins to keep reports of deaths and to send them over the session's links, unless the configuration says
// deaths.off.
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
	a.metrics.registry.MustRegister(reportSeries(a.deaths)...)
}

// reportOutcomes has the count of each value of the label outcome.
var reportOutcomes = map[string]func(*deaths.Counts) uint64{
	"made":    func(n *deaths.Counts) uint64 { return n.Made },
	"shown":   func(n *deaths.Counts) uint64 { return n.Shown },
	"dropped": func(n *deaths.Counts) uint64 { return n.Dropped },
	"nobodys": func(n *deaths.Counts) uint64 { return n.Nobodys },
}

// reportSeries returns the time series of reports.
func reportSeries(k *deaths.Keeper) []prometheus.Collector {
	series := []prometheus.Collector{prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "ipytracer_death_reports_kept", Help: "Reports of deaths that are kept."},
		func() float64 { return float64(k.Counts().Kept) })}
	for outcome, count := range reportOutcomes {
		series = append(series, prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "ipytracer_death_reports_total",
			Help: "Reports of deaths that were made, shown, or dropped for want of room, " +
				"and deaths of nobody known.",
			ConstLabels: prometheus.Labels{"outcome": outcome},
		}, func() float64 { n := k.Counts(); return float64(count(&n)) }))
	}
	return series
}

// reloadDeaths returns the section deaths that is in force after the configuration was read again: after, with the
// fields of before that change only when the agent is started again.
func reloadDeaths(a *Agent, before, after deaths.Config) deaths.Config {
	if after.Folder != before.Folder || after.Socket != before.Socket || after.Off != before.Off {
		a.log.Warn("deaths.folder, deaths.socket and deaths.off change when the agent is started again")
		after.Folder, after.Socket, after.Off = before.Folder, before.Socket, before.Off
	}
	return after
}

// boundary returns the boundary of a process ([telemetry.Kernel.Place]). It is the boundary of a user of JupyterHub if
// Kubernetes has named that user for the process's pod.
func (a *Agent) boundary(pid int, uid uint32) string {
	group := groupOf(a.fs, pid)
	f := podAndContainerOf(group)
	f.place = boundaryOf(group, uid, func() bool { return sharesIDs(pid) })
	var k telemetry.Kernel
	a.names.pods.fill(&k, &f, a.config.Load())
	return k.Place
}
