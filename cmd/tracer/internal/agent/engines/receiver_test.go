package engines

import (
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) {
	silenceGRPC() // before a server is there, which reads the logger
	m.Run()
}

// receiver is an OTLP receiver that keeps what it gets.
type receiver struct {
	coltracepb.UnimplementedTraceServiceServer
	address string

	mu       sync.Mutex
	requests int
	headers  []string // authorization, of each request
	got      []received
	// Answers of the next requests; the last one is that of all others. nil: it takes everything.
	answers []func(w http.ResponseWriter)
	refuses func() (*coltracepb.ExportTraceServiceResponse, error) // gRPC
}

// received is a span with the attributes of its resource.
type received struct {
	*tracepb.Span
	resource map[string]any
	values   map[string]any
}

func valuesOf(all []*commonpb.KeyValue) map[string]any {
	out := map[string]any{}
	for _, one := range all {
		switch v := one.Value.Value.(type) {
		case *commonpb.AnyValue_IntValue:
			out[one.Key] = v.IntValue
		case *commonpb.AnyValue_BoolValue:
			out[one.Key] = v.BoolValue
		case *commonpb.AnyValue_StringValue:
			out[one.Key] = v.StringValue
		}
	}
	return out
}

func (r *receiver) take(all []*tracepb.ResourceSpans) {
	for _, rs := range all {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				r.got = append(r.got, received{s, valuesOf(rs.Resource.Attributes), valuesOf(s.Attributes)})
			}
		}
	}
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	unpacked, err := gzip.NewReader(q.Body)
	if err != nil {
		http.Error(w, "not packed", http.StatusBadRequest)
		return
	}
	raw, err := io.ReadAll(unpacked)
	var request coltracepb.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(raw, &request) != nil || q.URL.Path != "/v1/traces" {
		http.Error(w, "no message", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.headers = append(r.headers, q.Header.Get("Authorization"))
	n := r.requests
	r.requests++
	var answer func(http.ResponseWriter)
	if len(r.answers) > 0 {
		answer = r.answers[min(n, len(r.answers)-1)]
	}
	if answer == nil {
		r.take(request.ResourceSpans)
	}
	r.mu.Unlock()
	if answer != nil {
		answer(w)
	}
}

func (r *receiver) Export(ctx context.Context, q *coltracepb.ExportTraceServiceRequest) (
	*coltracepb.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	of, _ := metadata.FromIncomingContext(ctx)
	r.headers = append(r.headers, of.Get("authorization")...)
	if r.refuses != nil {
		return r.refuses()
	}
	r.take(q.ResourceSpans)
	return &coltracepb.ExportTraceServiceResponse{}, nil
}

func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests
}

// newReceiver returns a receiver of a protocol on this machine.
func newReceiver(t *testing.T, protocol string) *receiver {
	t.Helper()
	r := &receiver{}
	if protocol == HTTP {
		s := httptest.NewServer(r)
		t.Cleanup(s.Close)
		r.address = s.URL
		return r
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	coltracepb.RegisterTraceServiceServer(s, r)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	r.address = "http://" + l.Addr().String()
	return r
}
