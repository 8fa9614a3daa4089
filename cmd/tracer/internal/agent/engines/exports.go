// Package engines hands what an agent knows to engines that collect it: the spans of cells and of the ends of kernels by
// OpenTelemetry's protocol (OTLP), and the profiles of kernels in pprof's format, which Parca and Grafana's Alloy pull.
// A profile has what a kernel allocates in an interval and holds at its end, by Python stack.
//
// All engines share how their addresses are checked, the headers of requests from files, and the counters of what was
// sent and what was dropped.
package engines

import (
	"errors"
	"net"
	"net/url"

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

// Counter has the counters of one engine. Its methods may be called from any goroutine, and do not wait.
type Counter struct {
	sent    prometheus.Counter
	dropped map[string]prometheus.Counter
}

// Of returns the counters of an engine with a name. They are shown from now on, as 0.
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

// Mistakes in an address. Their texts have nothing of it: a password may stand there.
var (
	ErrSecret = errors.New("a user, a password or a query has no place in it: headers_file is for tokens")
	ErrClear  = errors.New("http:// to another machine sends everything in clear text; write https://, " +
		"or insecure: true if that is meant")
)

// Address returns the address of an engine. The error is odd where the text is no address of HTTP, and otherwise says
// what has no place in it. insecure allows http:// to another machine.
func Address(text string, insecure bool, odd error) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, odd
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, ErrSecret
	case u.Scheme == "http" && !insecure && !isLocal(u.Hostname()):
		return nil, ErrClear
	}
	return u, nil
}

// isLocal reports whether a host is this machine.
func isLocal(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
