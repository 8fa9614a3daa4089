package engines

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"golang.org/x/time/rate"
	"google.golang.org/protobuf/proto"

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

// Sink sends spans. Records wait in a queue of a fixed length; the sink drops and counts records without room.
type Sink struct {
	SinkOptions
	origin origin
	queue  chan *spanRecord

	// The fields from here on are for the goroutine of Run.

	traces     *traces
	headers    *headers
	headersAge time.Duration // at which headers are read again
	client     otlptrace.Client
	lastAnswer answer
	warned     rate.Sometimes
	linger     time.Duration // how long the first span of a batch waits for others
	sleep      func(context.Context, time.Duration)
}

var _ telemetry.Sink = (*Sink)(nil)

// SpansEngine is the name of this engine in counters.
const SpansEngine = "otlp"

// NewSink returns a sink, for which it reads the files of the configuration. [Sink.Run] sends.
func NewSink(o SinkOptions) (*Sink, error) {
	silenceSDK()
	s := &Sink{SinkOptions: o, queue: make(chan *spanRecord, o.Config.Queue), traces: newTraces(),
		warned: rate.Sometimes{Interval: warnEvery}}
	s.linger, s.sleep, s.headersAge = usualLinger, sleep, usualAge
	host, _ := os.Hostname()
	s.origin = origin{config: &s.Config, host: host, users: o.Users,
		scope: &commonpb.InstrumentationScope{Name: "ipytracer", Version: text(o.Version)}}
	var err error
	if s.headers, err = newHeaders(o.Config.HeadersFile, o.Open); err != nil {
		return nil, err
	}
	s.client, err = newClient(&s.Config, s.headers, o.Open, &s.lastAnswer)
	return s, err
}

// silenceSDK keeps the SDK from writing to standard error: it may write any number of lines, with values of the
// environment. The sink itself counts what was not sent, and logs that once in a while.
var silenceSDK = sync.OnceFunc(func() {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	otel.SetLogger(logr.Discard())
})

// Cell implements [telemetry.Sink].
func (s *Sink) Cell(c *telemetry.Cell) { s.put(spanRecordOf(c, s.Config.Source)) }

// Task implements [telemetry.Sink].
func (s *Sink) Task(t *telemetry.Task) { s.put(recordOfTask(t)) }

// Death implements [telemetry.Sink]. A kernel's end in a cell is part of the cell's span. Any other end is a span of
// length 0.
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

// Run sends records until the context is done, and then what is left in the queue, for closingTime at most.
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

// closingTime is the most time for sending the last spans.
const closingTime = 2 * time.Second

// flush sends what is left in the queue, until the context sending is done. The context ended is already done: so
// gather does not wait for more spans.
func (s *Sink) flush(ended, sending context.Context) {
	left := 0
	for len(s.queue) > 0 {
		b := s.gather(ended, <-s.queue)
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

// batch has the spans of one request.
type batch struct {
	n      int // number of spans
	spans  []*tracepb.ResourceSpans
	places map[*telemetry.Kernel]*tracepb.ScopeSpans // where in spans a kernel's spans go
}

// Bounds on a batch. Receivers take 4 MiB.
const (
	maxBatch      = 256 // spans
	maxBatchBytes = 1 << 20
	usualLinger   = time.Second
)

// gather returns a batch with a record and the records that come within the time s.linger, up to the bounds.
func (s *Sink) gather(ctx context.Context, first *spanRecord) *batch {
	b := &batch{places: map[*telemetry.Kernel]*tracepb.ScopeSpans{}}
	size := s.add(b, first)
	lingered := time.NewTimer(s.linger)
	defer lingered.Stop()
	for b.n < maxBatch && size < maxBatchBytes {
		select {
		case r := <-s.queue:
			size += s.add(b, r)
			continue
		default:
		}
		select {
		case r := <-s.queue:
			size += s.add(b, r)
		case <-lingered.C:
			return b
		case <-ctx.Done():
			return b
		}
	}
	return b
}

// add adds the span of a record to a batch, and returns the span's size in bytes.
func (s *Sink) add(b *batch, r *spanRecord) int {
	place := b.places[r.kernel]
	if place == nil {
		place = &tracepb.ScopeSpans{Scope: s.origin.scope}
		b.places[r.kernel] = place
		b.spans = append(b.spans, &tracepb.ResourceSpans{
			Resource: s.origin.resource(r.kernel), ScopeSpans: []*tracepb.ScopeSpans{place},
		})
	}
	span := r.span(s.traces.idOf(r))
	place.Spans = append(place.Spans, span)
	b.n++
	return proto.Size(span)
}

// How often a batch is tried. The pause doubles after each attempt.
const (
	attempts   = 4
	firstPause = time.Second
)

// deliver sends a batch, and counts what becomes of it. It makes no further attempt once ctx is done. The context
// sending ends an attempt.
func (s *Sink) deliver(ctx, sending context.Context, b *batch) {
	pause := firstPause
	for n := 1; ; n++ {
		if s.attempt(sending, b) {
			return
		}
		if n == attempts || ctx.Err() != nil {
			break
		}
		s.sleep(ctx, pause)
		pause *= 2
	}
	reason := Unreachable
	if s.lastAnswer.code == tooMany {
		reason = Refused
	}
	s.drop(reason, b.n)
}

// usualAge is the age at which headers are read again.
const usualAge = time.Minute

// tooMany is the HTTP status that says to send less.
const tooMany = "429"

// attempt sends a batch once. done is false if a later attempt may succeed; otherwise attempt has counted all spans.
func (s *Sink) attempt(ctx context.Context, b *batch) (done bool) {
	age := s.headersAge
	if s.lastAnswer.denied {
		age = min(age, time.Second)
	}
	if err := s.headers.renew(time.Now(), age); err != nil {
		s.warn("the headers stay as they are", err)
	}
	s.lastAnswer = answer{}
	ctx, cancel := context.WithTimeout(ctx, s.Config.Timeout)
	defer cancel()
	err := s.client.UploadTraces(ctx, b.spans)
	switch a := &s.lastAnswer; {
	case err == nil || a.accepted:
		n := rejected(err, b.n)
		s.Counts.Sent(b.n - n)
		if n > 0 {
			s.drop(Refused, n)
		}
	case !a.received || a.retryable:
		s.warn("spans could not be sent", localError(err))
		return false
	default:
		s.drop(Refused, b.n)
	}
	return true
}

// rejection matches the end of the SDK's error for an answer that accepts only some of the spans.
var rejection = regexp.MustCompile(`\((\d{1,18}) spans rejected\)`)

// rejected returns how many of n spans an answer has rejected, by the SDK's error.
func rejected(err error, n int) int {
	if err == nil {
		return 0
	}
	matches := rejection.FindAllStringSubmatch(err.Error(), -1)
	if len(matches) == 0 {
		return 0
	}
	count, _ := strconv.ParseInt(matches[len(matches)-1][1], 10, 64)
	return int(min(count, int64(n)))
}

// Problems on the way to a receiver, in words of this program.
var (
	errCertificate = errors.New("the certificate of the receiver is not one that ca_file, or this machine, trusts")
	errNoTLS       = errors.New("the receiver has no TLS at this address")
	errSilent      = errors.New("no answer within the timeout")
)

// localError returns the part of an error that comes from this machine, nil if there is none. The receiver's own text
// may have anything in it, such as the token that it was sent.
func localError(err error) error {
	var (
		op     *net.OpError
		record tls.RecordHeaderError
		wrong  *tls.CertificateVerificationError
		timed  net.Error
	)
	switch {
	case errors.As(err, &wrong):
		return errCertificate
	case errors.As(err, &record), err != nil && strings.HasSuffix(err.Error(), httpAnswer):
		return errNoTLS
	case errors.As(err, &timed) && timed.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return errSilent
	case errors.As(err, &op):
		return op
	}
	return nil
}

// httpAnswer is the end of package http's error for a receiver that answers a TLS client in clear text.
const httpAnswer = "http: server gave HTTP response to HTTPS client"

// drop counts and logs dropped spans.
func (s *Sink) drop(reason string, n int) {
	s.Counts.Dropped(reason, n)
	s.warn("spans are dropped: "+reason, nil)
}

// warn logs a problem, unless it has logged one within [warnEvery].
func (s *Sink) warn(text string, err error) {
	s.warned.Do(func() {
		var more []any
		if s.lastAnswer.code != "" {
			more = append(more, "answer", s.lastAnswer.code)
		}
		if err != nil {
			more = append(more, "error", err)
		}
		s.Log.Warn("otlp: "+text, more...)
	})
}
