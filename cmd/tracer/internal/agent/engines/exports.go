// Package engines hands an agent's spans and profiles to engines that collect them. Spans of cells and of the ends of
// kernels go by OpenTelemetry's protocol (OTLP). Parca and Grafana's Alloy pull the profiles of kernels, in pprof's
// format. A profile has what a kernel allocates in an interval and holds at its end, by Python stack.
//
// Both engines share the counters of what was sent and what was dropped.
package engines

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Counts are the counters of all engines.
type Counts struct {
	sent, dropped *prometheus.CounterVec
}

// Reasons why a record was dropped.
const (
	QueueFull   = "queue full"
	Refused     = "refused"     // the engine answered that it does not take it
	Unreachable = "unreachable" // the engine did not answer, or cannot take anything now
)

// NewCounts returns counters without any engine yet, and registers them.
func NewCounts(r prometheus.Registerer) *Counts {
	c := &Counts{
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ipytracer_export_sent_total",
			Help: "Records that an engine has taken."}, []string{"engine"}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ipytracer_export_dropped_total",
			Help: "Records that an engine did not get, by reason."}, []string{"engine", "reason"}),
	}
	r.MustRegister(c.sent, c.dropped)
	return c
}

// Counter has the counters of one engine. Any goroutine may call its methods.
type Counter struct {
	sent    prometheus.Counter
	dropped map[string]prometheus.Counter
}

// Of returns the counters of an engine. /metrics has them from now on, as 0.
func (c *Counts) Of(engine string) *Counter {
	e := &Counter{sent: c.sent.WithLabelValues(engine), dropped: map[string]prometheus.Counter{}}
	for _, reason := range []string{QueueFull, Refused, Unreachable} {
		e.dropped[reason] = c.dropped.WithLabelValues(engine, reason)
	}
	return e
}

// Sent counts records that the engine has taken.
func (e *Counter) Sent(n int) { e.sent.Add(float64(n)) }

// Dropped counts records that were dropped for one of the reasons above.
func (e *Counter) Dropped(reason string, n int) { e.dropped[reason].Add(float64(n)) }

// warnEvery is the time between two warnings of an engine.
const warnEvery = time.Minute
