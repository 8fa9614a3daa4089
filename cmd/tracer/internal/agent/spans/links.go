package spans

import (
	"crypto/tls"
	"net/url"
	"os"
	"sync"

	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
)

// links has the traces of the last spans, for engines that lead from other signals to a span.
type links struct {
	mu     sync.Mutex
	traces map[telemetry.SpanID]TraceID
	order  []telemetry.SpanID // the oldest at next, once it is full
	next   int
}

// maxLinks is the most spans that are remembered: 1,000 cells of 16 kernels.
const maxLinks = 16_000

// remember takes in the trace of a span.
func (l *links) remember(span telemetry.SpanID, trace TraceID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.traces == nil {
		l.traces = map[telemetry.SpanID]TraceID{}
	}
	if len(l.order) < maxLinks {
		l.order = append(l.order, span)
	} else {
		delete(l.traces, l.order[l.next])
		l.order[l.next] = span
		l.next = (l.next + 1) % maxLinks
	}
	l.traces[span] = trace
}

// Trace returns the trace of a span that was made, if it is one of the last. It may be called from any goroutine.
func (s *Sink) Trace(span telemetry.SpanID) (trace [16]byte, known bool) {
	s.links.mu.Lock()
	defer s.links.mu.Unlock()
	trace, known = s.links.traces[span]
	return trace, known
}

// Resource describes a kernel. It may be called from any goroutine.
func (s *Sink) Resource(k *telemetry.Kernel) *resourcepb.Resource { return s.origin.resource(k) }

// Receiver returns the address of a path of the receiver's, and how it is to be trusted.
func (c *Config) Receiver(path string, open func(string) (*os.File, error)) (*url.URL, *tls.Config, error) {
	secure, err := c.tls(open)
	if err != nil {
		return nil, nil, err
	}
	to, err := c.address()
	if err != nil {
		return nil, nil, err
	}
	return to.JoinPath(path), secure, nil
}
