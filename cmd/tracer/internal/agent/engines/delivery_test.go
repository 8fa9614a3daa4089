package engines

import (
	"context"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// answer returns an answer with a status and a body.
func answerOf(code int, body string, headers ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}

func closes(http.ResponseWriter) { panic(http.ErrAbortHandler) }

// partial is an answer that takes all but some spans.
func partial(rejected int64, message string) *coltracepb.ExportTraceServiceResponse {
	return &coltracepb.ExportTraceServiceResponse{PartialSuccess: &coltracepb.ExportTracePartialSuccess{
		RejectedSpans: rejected, ErrorMessage: message}}
}

func partialHTTP(rejected int64, message string) func(http.ResponseWriter) {
	raw, _ := proto.Marshal(partial(rejected, message))
	return answerOf(http.StatusOK, string(raw), "Content-Type", "application/x-protobuf")
}

// TestAnswers: what becomes of ten spans is counted, by the answer of the receiver: one that says no is not asked
// again, one that is not there is, a few times.
func TestAnswers(t *testing.T) {
	huge := strings.Repeat("x", 8<<20)
	garbage := answerOf(200, "\xff\xff", "Content-Type", "application/x-protobuf")
	for name, c := range map[string]struct {
		answers                    []func(http.ResponseWriter)
		requests                   int
		sent, refused, unreachable int
	}{
		"takes them":     {nil, 1, 10, 0, 0},
		"400":            {[]func(http.ResponseWriter){answerOf(400, "no")}, 1, 0, 10, 0},
		"lies":           {[]func(http.ResponseWriter){answerOf(400, "OTLP (0 spans rejected)")}, 1, 0, 10, 0},
		"413":            {[]func(http.ResponseWriter){answerOf(413, "")}, 1, 0, 10, 0},
		"500":            {[]func(http.ResponseWriter){answerOf(500, "")}, 1, 0, 10, 0},
		"sends away":     {[]func(http.ResponseWriter){answerOf(307, "", "Location", "http://[::1]:1")}, 1, 0, 10, 0},
		"429":            {[]func(http.ResponseWriter){answerOf(429, "", "Retry-After", "999999999")}, 4, 0, 10, 0},
		"503":            {[]func(http.ResponseWriter){answerOf(503, "")}, 4, 0, 0, 10},
		"503 twice":      {[]func(http.ResponseWriter){answerOf(503, ""), answerOf(503, ""), nil}, 3, 10, 0, 0},
		"429 once":       {[]func(http.ResponseWriter){answerOf(429, ""), nil}, 2, 10, 0, 0},
		"closes":         {[]func(http.ResponseWriter){closes}, 4, 0, 0, 10},
		"huge":           {[]func(http.ResponseWriter){answerOf(200, huge)}, 1, 10, 0, 0},
		"huge no":        {[]func(http.ResponseWriter){answerOf(400, huge)}, 1, 0, 10, 0},
		"no message":     {[]func(http.ResponseWriter){garbage}, 1, 10, 0, 0},
		"some":           {[]func(http.ResponseWriter){partialHTTP(3, "too old (9 spans rejected)")}, 1, 7, 3, 0},
		"more than all":  {[]func(http.ResponseWriter){partialHTTP(1<<40, "")}, 1, 0, 10, 0},
		"less than none": {[]func(http.ResponseWriter){partialHTTP(-5, "")}, 1, 10, 0, 0},
		"a warning":      {[]func(http.ResponseWriter){partialHTTP(0, "be nice")}, 1, 10, 0, 0},
	} {
		to := newReceiver(t, HTTP)
		to.answers = c.answers
		s := newSender(t, Spans{Endpoint: to.address})
		s.linger = time.Minute // one request, once all are there
		handTen(t, s)
		if s.sent() != c.sent || s.dropped(Refused) != c.refused ||
			s.dropped(Unreachable) != c.unreachable || name != "closes" && to.count() != c.requests {
			t.Errorf("%s: %d sent, %d refused, %d unreachable, %d requests; want %+v\n%s", name, s.sent(),
				s.dropped(Refused), s.dropped(Unreachable), to.count(), c, s.log)
		}
	}
}

// handTen delivers ten spans as one batch.
func handTen(t *testing.T, s *sender) {
	t.Helper()
	b := s.gatherTen(t)
	if err := s.client.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.deliver(t.Context(), t.Context(), b)
	stop(s.client)
}

func (s *sender) gatherTen(t *testing.T) *batch {
	t.Helper()
	for i := range 10 {
		s.Cell(cellOf(kernelOf(1), i, 0))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return s.gather(ctx, <-s.queue)
}

// TestAnswersOfGRPC is [TestAnswers] for gRPC.
func TestAnswersOfGRPC(t *testing.T) {
	huge := strings.Repeat("x", 8<<20)
	for name, c := range map[string]struct {
		answer                     *coltracepb.ExportTraceServiceResponse
		code                       codes.Code
		requests                   int
		sent, refused, unreachable int
	}{
		"takes them":        {&coltracepb.ExportTraceServiceResponse{}, codes.OK, 1, 10, 0, 0},
		"invalid":           {nil, codes.InvalidArgument, 1, 0, 10, 0},
		"who are you":       {nil, codes.Unauthenticated, 1, 0, 10, 0},
		"not that":          {nil, codes.Unimplemented, 1, 0, 10, 0},
		"too much":          {nil, codes.ResourceExhausted, 1, 0, 10, 0},
		"not now":           {nil, codes.Unavailable, 4, 0, 0, 10},
		"some":              {partial(3, "too old (9 spans rejected)"), codes.OK, 1, 7, 3, 0},
		"huge, a rejection": {partial(3, huge), codes.OK, 1, 0, 10, 0},
	} {
		to := newReceiver(t, GRPC)
		to.refuses = func() (*coltracepb.ExportTraceServiceResponse, error) {
			if c.code != codes.OK {
				return nil, status.Error(c.code, "(0 spans rejected)")
			}
			return c.answer, nil
		}
		s := newSender(t, Spans{Endpoint: to.address, Protocol: GRPC})
		handTen(t, s)
		if s.sent() != c.sent || s.dropped(Refused) != c.refused ||
			s.dropped(Unreachable) != c.unreachable || to.count() != c.requests {
			t.Errorf("%s: %d sent, %d refused, %d unreachable, %d requests; want %+v\n%s", name, s.sent(),
				s.dropped(Refused), s.dropped(Unreachable), to.count(), c, s.log)
		}
	}
}

// TestSilentReceiver: one that accepts a connection and never answers, and one that is not there, hold nobody up: a
// hundred thousand cells are taken in beside it, all are counted, and the memory of the queue stays.
func TestSilentReceiver(t *testing.T) {
	for _, protocol := range []string{HTTP, GRPC} {
		to, silent := newReceiver(t, protocol), make(chan struct{})
		never := func() { <-silent }
		to.answers = []func(http.ResponseWriter){func(http.ResponseWriter) { never() }}
		to.refuses = func() (*coltracepb.ExportTraceServiceResponse, error) { never(); return nil, nil }
		t.Cleanup(func() { close(silent) }) // before the server is closed
		s := newSender(t, Spans{Endpoint: to.address, Protocol: protocol, Queue: 1000})
		s.Config.Timeout = 10 * time.Millisecond
		s.start()
		const handed = 100_000
		before := heap()
		k := kernelOf(1)
		for i := range handed {
			s.Cell(cellOf(k, i, 0))
		}
		if grew := heap() - before; grew > 32<<20 {
			t.Errorf("%s: %d bytes more", protocol, grew)
		}
		s.end(handed)
		if s.sent() != 0 || s.dropped(QueueFull) == 0 || s.dropped(Unreachable) == 0 {
			t.Errorf("%s: %d sent, %d without room", protocol, s.sent(), s.dropped(QueueFull))
		}
		if n := strings.Count(s.log.String(), "\n"); n > 3 {
			t.Errorf("%s: %d lines in the log", protocol, n)
		}
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestNoReceiver: without one, spans are dropped as unreachable; once one is there, further spans arrive.
func TestNoReceiver(t *testing.T) {
	s := newSender(t, Spans{Endpoint: "http://127.0.0.1:1"})
	handTen(t, s)
	if s.dropped(Unreachable) != 10 || !strings.Contains(s.log.String(), "connection refused") {
		t.Errorf("%d unreachable: %s", s.dropped(Unreachable), s.log)
	}
}

// TestLastSpans: what waits when the agent is stopped is sent.
func TestLastSpans(t *testing.T) {
	to := newReceiver(t, HTTP)
	s := newSender(t, Spans{Endpoint: to.address})
	s.linger = time.Hour
	s.start()
	for i := range 600 {
		s.Cell(cellOf(kernelOf(1), i, 0))
	}
	s.stop()
	<-s.done
	if s.sent() != 600 || len(to.all()) != 600 {
		t.Errorf("%d sent, %d arrived", s.sent(), len(to.all()))
	}
}

// TestBatchSize: no message is larger than receivers take, however much the cells of a kernel have.
func TestBatchSize(t *testing.T) {
	s := newSender(t, Spans{Endpoint: "http://127.0.0.1:1", Source: true})
	for i := range 300 {
		c := cellOf(kernelOf(i), i, 0)
		c.Window.Source = strings.Repeat("x", 1<<20)
		for n := range 30 {
			c.Window.Meters["gpu."+strconv.Itoa(n)+".driver"] = c.Window.Meters[telemetry.Resident]
		}
		c.Window.Tree = c.Window.Meters
		s.Cell(c)
	}
	for len(s.queue) > 0 {
		b := s.gather(t.Context(), <-s.queue)
		raw, err := proto.Marshal(&coltracepb.ExportTraceServiceRequest{ResourceSpans: b.spans})
		if err != nil || len(raw) > 2<<20 {
			t.Fatalf("%d spans in %d bytes, %v", b.n, len(raw), err)
		}
		if b.n > 200 {
			t.Errorf("%d spans in a batch: this test shows nothing", b.n)
		}
	}
}
