package engines

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
)

// SinkOptions are what a [Sink] needs.
type SinkOptions struct {
	Config  Spans // as [Spans.Check] has left it
	Version string
	Log     *slog.Logger
	Counts  *Counter
	// Open opens a file that the configuration names.
	Open func(string) (*os.File, error)
	// Users reports whether spans have names of users.
	Users func() bool
}

// Sink sends spans. Records wait in a queue of a fixed length, and those without room are dropped and counted.
type Sink struct {
	SinkOptions
	origin  origin
	queue   chan *spanRecord
	traces  *traces // for the goroutine of Run, as all below
	headers *Headers
	age     time.Duration // of headers that are read again
	client  otlptrace.Client
	last    answer
	warned  time.Time
	linger  time.Duration // that the first span of a batch waits for others
	sleep   func(context.Context, time.Duration)
}

var _ telemetry.Sink = (*Sink)(nil)

// SpansEngine is the name of this engine in counters.
const SpansEngine = "otlp"

// NewSink reads the files of a configuration. Nothing is sent before [Sink.Run].
func NewSink(o SinkOptions) (*Sink, error) {
	silenceSDK()
	s := &Sink{SinkOptions: o, queue: make(chan *spanRecord, o.Config.Queue), traces: newTraces()}
	s.linger, s.sleep, s.age = usualLinger, sleep, usualAge
	host, _ := os.Hostname()
	s.origin = origin{config: &s.Config, host: host, users: o.Users,
		scope: &commonpb.InstrumentationScope{Name: "ipytracer", Version: text(o.Version)}}
	var err error
	if s.headers, err = NewHeaders(o.Config.HeadersFile, o.Open); err != nil {
		return nil, err
	}
	s.client, err = newClient(&s.Config, s.headers, o.Open, &s.last)
	return s, err
}

// silenceSDK keeps the SDK from writing to standard error: its lines may have values of the environment, and there may
// be any number of them. What was not sent is counted, and logged once in a while.
var silenceSDK = sync.OnceFunc(func() {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	otel.SetLogger(logr.Discard())
})

// Cell implements [telemetry.Sink].
func (s *Sink) Cell(c *telemetry.Cell) { s.put(spanRecordOf(c, s.Config.Source)) }

// Task implements [telemetry.Sink].
func (s *Sink) Task(t *telemetry.Task) { s.put(recordOfTask(t)) }

// Death implements [telemetry.Sink]. The end of a kernel in a cell is part of that cell's span. Another end has a span
// of its own, without a length.
func (s *Sink) Death(d *telemetry.Death) {
	if len(d.Open) == 0 {
		s.put(recordOfDeath(d))
	}
}

func (s *Sink) put(r *spanRecord) {
	select {
	case s.queue <- r:
	default:
		s.Counts.Dropped(QueueFull, 1)
	}
}

// Run sends what comes until the context is done, and then what is left, for a moment.
func (s *Sink) Run(ctx context.Context) {
	defer stop(s.client)
	if err := s.client.Start(ctx); err != nil && ctx.Err() == nil {
		s.Log.Warn("otlp: the client could not start", "error", err)
	}
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(closingTime, cancel) })()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case first := <-s.queue:
			s.deliver(ctx, sending, s.gather(ctx, first))
		}
	}
	s.flush(ctx, sending)
}

// closingTime is how long the last spans are sent for.
const closingTime = 2 * time.Second

// flush sends what is left in the queue; over is done, so it waits for nothing more.
func (s *Sink) flush(over, sending context.Context) {
	left := 0
	for len(s.queue) > 0 {
		b := s.gather(over, <-s.queue)
		if sending.Err() != nil || !s.attempt(sending, b) {
			s.drop(Unreachable, b.n)
			left += b.n
		}
	}
	if left > 0 {
		s.Log.Warn("otlp: the last spans were not sent", "spans", left)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
