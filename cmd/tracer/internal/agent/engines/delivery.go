package engines

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
)

// batch are spans that are sent together.
type batch struct {
	n      int
	spans  []*tracepb.ResourceSpans
	places map[*telemetry.Kernel]*tracepb.ScopeSpans
}

func newBatch() *batch { return &batch{places: map[*telemetry.Kernel]*tracepb.ScopeSpans{}} }

// Bounds on a batch. Receivers take 4 MiB.
const (
	maxBatch      = 256
	maxBatchBytes = 1 << 20
	usualLinger   = time.Second
)

// gather returns a batch with a record and those that come within a moment.
func (s *Sink) gather(ctx context.Context, first *spanRecord) *batch {
	b := newBatch()
	size := s.add(b, first)
	over := time.NewTimer(s.linger)
	defer over.Stop()
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
		case <-over.C:
			return b
		case <-ctx.Done():
			return b
		}
	}
	return b
}

// add adds a record to a batch, and returns its size in bytes.
func (s *Sink) add(b *batch, r *spanRecord) int {
	place := b.places[r.kernel]
	if place == nil {
		place = &tracepb.ScopeSpans{Scope: s.origin.scope}
		b.places[r.kernel] = place
		b.spans = append(b.spans, &tracepb.ResourceSpans{
			Resource: s.origin.resource(r.kernel), ScopeSpans: []*tracepb.ScopeSpans{place},
		})
	}
	trace := s.traces.idOf(r)
	span := r.span(trace)
	place.Spans = append(place.Spans, span)
	b.n++
	return proto.Size(span)
}

// Attempts to send a batch, and the time between the first two of them. It doubles.
const (
	attempts   = 4
	firstPause = time.Second
)

// deliver sends a batch, and counts what becomes of it. Once ctx is done nothing is tried again; an attempt lasts until
// sending is done.
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
	if s.last.came && s.last.code == tooMany {
		s.drop(Refused, b.n)
		return
	}
	s.drop(Unreachable, b.n)
}

// usualAge is the age of headers that are read again.
const usualAge = time.Minute

// tooMany is the status of an answer that says to send less.
const tooMany = "429"

// attempt sends a batch once. over is false if that can be tried again; otherwise all of its spans are counted.
func (s *Sink) attempt(ctx context.Context, b *batch) (over bool) {
	age := s.age
	if s.last.denied {
		age = min(age, time.Second)
	}
	if err := s.headers.Renew(time.Now(), age); err != nil {
		s.warn("the headers stay as they are", err)
	}
	s.last = answer{}
	ctx, cancel := context.WithTimeout(ctx, s.Config.Timeout)
	defer cancel()
	err := s.client.UploadTraces(ctx, b.spans)
	switch a := &s.last; {
	case err == nil || a.taken:
		n := rejected(err, b.n)
		s.Counts.Sent(b.n - n)
		if n > 0 {
			s.drop(Refused, n)
		}
	case !a.came || a.again:
		s.warn("spans could not be sent", network(err))
		return false
	default:
		s.drop(Refused, b.n)
	}
	return true
}

// rejection is the end of the SDK's error for an answer that takes only some of the spans.
var rejection = regexp.MustCompile(`\((\d{1,18}) spans rejected\)`)

// rejected returns the number of spans of n that an answer rejects.
func rejected(err error, n int) int {
	if err == nil {
		return 0
	}
	all := rejection.FindAllStringSubmatch(err.Error(), -1)
	if len(all) == 0 {
		return 0
	}
	count, _ := strconv.ParseInt(all[len(all)-1][1], 10, 64)
	return int(min(count, int64(n)))
}

// Problems on the way to a receiver, in words of this program.
var (
	errCertificate = errors.New("the certificate of the receiver is not one that ca_file, or this machine, trusts")
	errNoTLS       = errors.New("the receiver has no TLS at this address")
	errSilent      = errors.New("no answer within the timeout")
)

// network returns the part of an error that comes from this machine: a text of the receiver's may have anything in it,
// a token that it was sent as well.
func network(err error) error {
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

// httpAnswer is the end of the error of package http for a receiver that answers TLS in clear text.
const httpAnswer = "http: server gave HTTP response to HTTPS client"

// drop counts spans that are dropped, and logs it.
func (s *Sink) drop(reason string, n int) {
	s.Counts.Dropped(reason, n)
	s.warn("spans are dropped: "+reason, nil)
}

// warnEvery is the time between two warnings.
const warnEvery = time.Minute

// warn logs a problem, unless one was logged a moment ago.
func (s *Sink) warn(text string, err error) {
	now := time.Now()
	if !s.warned.IsZero() && now.Sub(s.warned) < warnEvery {
		return
	}
	s.warned = now
	more := []any{}
	if s.last.code != "" {
		more = append(more, "answer", s.last.code)
	}
	if err != nil {
		more = append(more, "error", err)
	}
	s.Log.Warn("otlp: "+text, more...)
}
