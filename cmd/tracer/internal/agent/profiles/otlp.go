package profiles

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"net/url"
	"time"

	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"

	"ipytracer/cmd/tracer/internal/agent/exports"
	"ipytracer/cmd/tracer/internal/agent/otlpprofiles"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
)

// OTLPEngine is the name of the counters of what is sent by OTLP.
const OTLPEngine = "otlp profiles"

// Receiver takes profiles by OTLP, over HTTP. Its functions may be called from any goroutine.
type Receiver struct {
	To          *url.URL
	Secure      *tls.Config
	HeadersFile string
	Counts      *exports.Engine
	// Resource describes a kernel.
	Resource func(*telemetry.Kernel) *resourcepb.Resource
	// Trace returns the trace of a span, if it is known.
	Trace func(telemetry.SpanID) (trace [16]byte, known bool)
}

// OTLPPath is the path of the receiver's that takes profiles.
const OTLPPath = "v1development/profiles"

// newOTLP returns a pusher of messages of OTLP.
func newOTLP(o *Options) (*pusher, error) {
	p, err := newPusher(o.Receiver.To, o.Receiver.HeadersFile, o.Receiver.Secure, o)
	if err != nil {
		return nil, err
	}
	p.kind, p.packing = "application/x-protobuf", "gzip"
	return p, nil
}

// Bounds on a message. Receivers take 20 MiB over HTTP, unless they are configured otherwise.
const (
	maxMessageProfiles = 64
	maxMessageSamples  = 8000
	maxMessage         = 8 << 20
)

// sendAll sends the profile of an interval, and those of its cells, by OTLP.
func (p *Profiler) sendAll(ctx context.Context, r *record, interval *builder) {
	message := p.newMessage(r.kernel)
	add := func(b *builder) {
		if b == nil {
			return
		}
		n, samples := message.Len()
		if n == maxMessageProfiles || n > 0 && samples+len(b.profile.Sample) > maxMessageSamples {
			p.send(ctx, message)
			message = p.newMessage(r.kernel)
		}
		message.Add(b.profile)
	}
	add(interval)
	for _, c := range r.cells {
		add(ofCell(c))
	}
	p.send(ctx, message)
}

func (p *Profiler) newMessage(k *telemetry.Kernel) *otlpprofiles.Message {
	return otlpprofiles.NewMessage(p.Receiver.Resource(k), p.Version, p.Receiver.Trace)
}

// send sends a message, and counts what becomes of its profiles.
func (p *Profiler) send(ctx context.Context, m *otlpprofiles.Message) {
	n, _ := m.Len()
	if n == 0 {
		return
	}
	reason, err := exports.Refused, errTooLarge
	if raw, problem := m.Bytes(); problem != nil {
		err = problem
	} else if len(raw) <= maxMessage {
		if problem := p.otlp.headers.Renew(time.Now(), time.Minute); problem != nil {
			p.warn("the headers stay as they are", problem)
		}
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(raw) // a buffer takes everything
		_ = w.Close()
		reason, err = p.otlp.post(ctx, packed.Bytes())
	}
	if reason == "" {
		p.Receiver.Counts.Sent(n)
		return
	}
	p.Receiver.Counts.Dropped(reason, n)
	p.warn("profiles are dropped: "+reason, err)
}
