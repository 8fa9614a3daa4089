// Package exports has what the engines that an agent pushes to share: how their addresses are checked, the headers of
// requests from files, and counters of what was sent and what was dropped.
package exports

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Counts are the counters of all engines. They are a [prometheus.Collector].
type Counts struct {
	sent, dropped *prometheus.CounterVec
}

// Reasons why a record was dropped.
const (
	QueueFull   = "queue full"
	Refused     = "refused"     // the engine answered that it does not take it
	Unreachable = "unreachable" // the engine did not answer, or cannot take anything now
)

// NewCounts returns the counters of no engine.
func NewCounts() *Counts {
	return &Counts{
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ipytracer_export_sent_total",
			Help: "Records that an engine has taken."}, []string{"engine"}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ipytracer_export_dropped_total",
			Help: "Records that an engine did not get, by reason."}, []string{"engine", "reason"}),
	}
}

// Describe implements [prometheus.Collector].
func (c *Counts) Describe(to chan<- *prometheus.Desc) {
	c.sent.Describe(to)
	c.dropped.Describe(to)
}

// Collect implements [prometheus.Collector].
func (c *Counts) Collect(to chan<- prometheus.Metric) {
	c.sent.Collect(to)
	c.dropped.Collect(to)
}

// Engine has the counters of one engine. Its methods may be called from any goroutine, and do not wait.
type Engine struct {
	sent    prometheus.Counter
	dropped map[string]prometheus.Counter
}

// Of returns the counters of an engine with a name. They are shown from now on, as 0.
func (c *Counts) Of(engine string) *Engine {
	e := &Engine{sent: c.sent.WithLabelValues(engine), dropped: map[string]prometheus.Counter{}}
	for _, reason := range []string{QueueFull, Refused, Unreachable} {
		e.dropped[reason] = c.dropped.WithLabelValues(engine, reason)
	}
	return e
}

// Sent counts records that the engine has taken.
func (e *Engine) Sent(n int) { e.sent.Add(float64(n)) }

// Dropped counts records that were dropped for one of the reasons above.
func (e *Engine) Dropped(reason string, n int) { e.dropped[reason].Add(float64(n)) }
