package pods

import "github.com/prometheus/client_golang/prometheus"

// Series is the number of time series of a [Watcher], and of a [Runtime].
const Series = 3

// series are the time series of a source of names. They have its store and its health.
type series struct {
	name   string         // of the source, in those of the series
	help   [Series]string // of up, pods and refused
	store  *store
	health *health
}

// Series returns the time series.
func (s *series) Series() []prometheus.Collector {
	up := func() float64 {
		if s.health.up.Load() {
			return 1
		}
		return 0
	}
	name := func(of string) string { return "ipytracer_" + s.name + "_" + of }
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name("up"), Help: s.help[0]}, up),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name("pods"), Help: s.help[1]},
			func() float64 { return float64(s.store.count()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name("refused_total"), Help: s.help[2]},
			func() float64 { return float64(s.health.refused.Load()) }),
	}
}
