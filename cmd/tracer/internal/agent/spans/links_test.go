package spans

import (
	"testing"
	"time"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
)

// TestTraceOfSpan: the trace of a span that was made is known by its id, until 16,000 others came.
func TestTraceOfSpan(t *testing.T) {
	to := newReceiver(t, HTTP)
	s := newSender(t, Config{Endpoint: to.address})
	s.Links = true
	handTen(t, s)
	for _, span := range to.all() {
		trace, known := s.Trace(telemetry.SpanID(span.SpanId))
		if !known || TraceID(trace) != TraceID(span.TraceId) {
			t.Fatalf("%x is in %x, known %v", span.SpanId, trace, known)
		}
	}
	first := telemetry.SpanID(to.all()[0].SpanId)
	for range maxLinks {
		s.links.remember(telemetry.NewSpanID(), TraceID{})
	}
	if _, known := s.Trace(first); known || len(s.links.traces) != maxLinks || len(s.links.order) != maxLinks {
		t.Errorf("%v, %d spans are remembered", known, len(s.links.traces))
	}
	if _, known := s.Trace(telemetry.NewSpanID()); known {
		t.Error("a span that was never made")
	}
	unasked := newSender(t, Config{Endpoint: to.address})
	unasked.add(newBatch(), recordOf(cellOf(kernelOf(1), 1, time.Second), false))
	if len(unasked.links.traces) != 0 {
		t.Error("traces are remembered, though nobody asks for them")
	}
}
