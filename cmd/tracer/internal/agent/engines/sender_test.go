package engines

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/model"
)

// sender is a Sink under test, with its counters and its log.
type sender struct {
	*Sink
	t        *testing.T
	registry *prometheus.Registry
	log      *syncBuffer
	users    bool
	changed  chan struct{} // one of the counters was added to
	done     chan struct{}
	stop     context.CancelFunc
}

// announced is a counter that says when it was added to.
type announced struct {
	prometheus.Counter
	changed chan<- struct{}
}

func (c announced) Add(n float64) {
	c.Counter.Add(n)
	select {
	case c.changed <- struct{}{}:
	default: // it will be seen
	}
}

type syncBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

// newSender returns a Sink that waits for nothing between attempts.
func newSender(t *testing.T, c Spans) *sender {
	t.Helper()
	if key, err := c.Check(); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	s := &sender{t: t, registry: prometheus.NewPedanticRegistry(), log: &syncBuffer{}, users: true,
		changed: make(chan struct{}, 1)}
	counts := NewCounts(s.registry).Of(SpansEngine)
	counts.sent = announced{counts.sent, s.changed}
	for reason, count := range counts.dropped {
		counts.dropped[reason] = announced{count, s.changed}
	}
	var err error
	s.Sink, err = NewSink(SinkOptions{
		Config: c, Version: "1.2.3", Log: slog.New(slog.NewTextHandler(s.log, nil)), Counts: counts,
		Open: os.Open, Users: func() bool { return s.users },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.linger = time.Millisecond
	s.Sink.sleep = func(context.Context, time.Duration) {}
	return s
}

func (s *sender) start() {
	ctx, cancel := context.WithCancel(s.t.Context())
	s.stop, s.done = cancel, make(chan struct{})
	go func() {
		defer close(s.done)
		s.Run(ctx)
	}()
}

// end stops the Sink once all that it was handed is counted.
func (s *sender) end(handed int) {
	s.t.Helper()
	for s.counted() < handed {
		<-s.changed
	}
	s.stop()
	<-s.done
	if n := s.counted(); n != handed {
		s.t.Errorf("%d of %d spans are counted", n, handed)
	}
}

// value returns a counter, by the text behind "ipytracer_export_".
func (s *sender) value(series string) int {
	s.t.Helper()
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest("GET", "/", nil))
	for line := range strings.Lines(answer.Body.String()) {
		if rest, is := strings.CutPrefix(line, "ipytracer_export_"+series+" "); is {
			n, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return int(n)
		}
	}
	s.t.Fatalf("no series %s in %s", series, answer.Body)
	return 0
}

func (s *sender) sent() int { return s.value(`sent_total{engine="otlp"}`) }

func (s *sender) dropped(reason string) int {
	return s.value(fmt.Sprintf(`dropped_total{engine="otlp",reason=%q}`, reason))
}

func (s *sender) counted() int {
	return s.sent() + s.dropped(QueueFull) + s.dropped(Refused) + s.dropped(Unreachable)
}

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 123_456_789, time.UTC)

func kernelOf(pid int) *telemetry.Kernel {
	return &telemetry.Kernel{
		Owner: telemetry.Owner{User: "ann", Namespace: "jupyter", Pod: "jupyter-ann"}, PID: pid, Slot: 3,
		Began: epoch.Add(-time.Hour), Joined: epoch.Add(time.Duration(-pid)), Python: "3.11.2", IPython: "8.5.0",
		Frontend: "ipykernel", PodUID: "0f3c2d1e-1a2b-4c3d-8e9f-001122334455",
		ContainerID: strings.Repeat("a1b2", 16),
	}
}

// cellOf returns a cell that ran for a second, and ended at a time after the epoch.
func cellOf(k *telemetry.Kernel, count int, after time.Duration) *telemetry.Cell {
	return &telemetry.Cell{
		Kernel: k, SpanID: telemetry.NewSpanID(), Began: epoch.Add(after - time.Second), Ended: epoch.Add(after),
		Window: &model.Window{
			Kind: model.Cell, Status: model.OK, ExecutionCount: &count, CPUNS: 5, DurationNS: int64(time.Second),
			Meters: map[string]model.Figure{telemetry.Resident: {Start: 1, Peak: 9, End: 4, Exact: true}},
		},
	}
}
