package engines

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

// answer is the receiver's answer to the last request. One request is made at a time.
type answer struct {
	received  bool   // the receiver has answered
	accepted  bool   // the spans were taken, except those that the request's error counts
	retryable bool   // the spans may be sent again
	denied    bool   // the headers are not right
	code      string // the status, in HTTP or in gRPC; "" without an answer
}

// maxAnswer is the greatest size of an answer, in bytes.
const maxAnswer = 64 << 10

// newClient returns the SDK's client for a configuration. The client writes each answer into last.
func newClient(c *Spans, h *headers, open func(string) (*os.File, error), last *answer) (
	otlptrace.Client, error) {
	secure, err := c.tls(open)
	if err != nil {
		return nil, err
	}
	to, err := c.address()
	if err != nil {
		return nil, err
	}
	if c.Protocol == GRPC {
		return newGRPC(to, c, secure, h, last)
	}
	return newHTTP(to, c, secure, h, last), nil
}

// maxCA is the greatest size of a file of certificates, in bytes.
const maxCA = 1 << 20

var errCA = errors.New("it has no certificate in PEM")

func (c *Spans) tls(open func(string) (*os.File, error)) (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile == "" {
		return out, nil
	}
	f, err := open(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxCA))
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	out.RootCAs = x509.NewCertPool()
	if !out.RootCAs.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("ca_file: %s: %w", c.CAFile, errCA)
	}
	return out, nil
}

// CheckFiles reads the files that a configuration names, and returns the first mistake.
func (c *Spans) CheckFiles(open func(string) (*os.File, error)) error {
	if _, err := c.tls(open); err != nil {
		return err
	}
	_, err := newHeaders(c.HeadersFile, open)
	return err
}

// stop ends a client's connections.
func stop(c otlptrace.Client) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // no request is under way
	_ = c.Stop(ctx)
}

// newGRPC returns a client for OTLP/gRPC. It makes the connection itself, so that neither the environment nor a record
// of the name service can configure it.
func newGRPC(to *url.URL, c *Spans, secure *tls.Config, h *headers, last *answer) (otlptrace.Client, error) {
	silenceGRPC()
	channel := credentials.NewTLS(secure)
	if to.Scheme == "http" {
		channel = insecure.NewCredentials()
	}
	conn, err := grpc.NewClient("dns:///"+to.Host,
		grpc.WithTransportCredentials(channel), grpc.WithPerRPCCredentials(callHeaders{h}), grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(), grpc.WithUnaryInterceptor(last.intercept),
		grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name), grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithMaxHeaderListSize(maxAnswer),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: quietTime, Timeout: c.Timeout}))
	if err != nil {
		return nil, err
	}
	inner := otlptracegrpc.NewClient(otlptracegrpc.WithGRPCConn(conn), otlptracegrpc.WithHeaders(nil),
		otlptracegrpc.WithTimeout(c.Timeout), otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{}))
	return &owner{inner, conn}, nil
}

// quietTime is how long a connection is silent before gRPC tests it. Receivers close connections with more frequent
// tests.
const quietTime = 6 * time.Minute

// owner closes the connection of a client.
type owner struct {
	otlptrace.Client
	conn io.Closer
}

func (o *owner) Stop(ctx context.Context) error {
	err := o.Client.Stop(ctx)
	_ = o.conn.Close()
	return err
}

// intercept notes the answer to a call.
func (a *answer) intercept(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
	call grpc.UnaryInvoker, options ...grpc.CallOption) error {
	err := call(ctx, method, request, reply, conn, options...)
	code := status.Code(err)
	*a = answer{received: code != codes.Unavailable && code != codes.DeadlineExceeded && code != codes.Canceled,
		accepted: code == codes.OK, code: code.String()}
	switch code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Aborted, codes.Canceled, codes.OutOfRange, codes.DataLoss:
		a.retryable = true
	case codes.Unauthenticated, codes.PermissionDenied:
		a.denied = true
	}
	return err
}

// callHeaders sets the headers of calls.
type callHeaders struct{ *headers }

// GetRequestMetadata implements [credentials.PerRPCCredentials].
func (h callHeaders) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return h.all(), nil
}

// RequireTransportSecurity implements [credentials.PerRPCCredentials]. The configuration decides that.
func (h callHeaders) RequireTransportSecurity() bool { return false }

// silenceGRPC keeps gRPC from writing to standard error: its lines have texts that the receiver has chosen.
var silenceGRPC = sync.OnceFunc(func() {
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
})

// newHTTP returns a client for OTLP/HTTP. It ignores the environment: OTEL_… and HTTP_PROXY.
func newHTTP(to *url.URL, c *Spans, secure *tls.Config, h *headers, last *answer) otlptrace.Client {
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: c.Timeout}).DialContext,
		TLSClientConfig:     secure,
		TLSHandshakeTimeout: c.Timeout, ResponseHeaderTimeout: c.Timeout, IdleConnTimeout: time.Minute,
		MaxConnsPerHost: 1, MaxResponseHeaderBytes: maxAnswer,
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}, // no HTTP/2: a dead connection would stay
	}
	options := []otlptracehttp.Option{
		otlptracehttp.WithEndpoint(to.Host), otlptracehttp.WithURLPath(path.Join("/", to.Path, "v1/traces")),
		otlptracehttp.WithHeaders(nil), otlptracehttp.WithTLSClientConfig(nil),
		otlptracehttp.WithEncoding(otlptracehttp.EncodingProtobuf),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression), otlptracehttp.WithTimeout(c.Timeout),
		otlptracehttp.WithMaxResponseSize(maxAnswer), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}),
		otlptracehttp.WithHTTPClient(&http.Client{
			Transport: &observedTransport{transport, h, last}, Timeout: c.Timeout,
			// Headers must not go to another place than the configured one.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}),
	}
	if to.Scheme == "http" {
		options = append(options, otlptracehttp.WithInsecure())
	}
	return otlptracehttp.NewClient(options...)
}

// observedTransport sets the headers of requests, and notes the answers.
type observedTransport struct {
	*http.Transport
	headers *headers
	last    *answer
}

// RoundTrip implements [http.RoundTripper].
func (t *observedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range t.headers.all() {
		r.Header.Set(name, value)
	}
	got, err := t.Transport.RoundTrip(r)
	if err == nil {
		*t.last = answer{received: true, accepted: got.StatusCode/100 == 2, code: strconv.Itoa(got.StatusCode)}
		switch got.StatusCode {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
			http.StatusGatewayTimeout:
			t.last.retryable = true
		case http.StatusUnauthorized, http.StatusForbidden:
			t.last.denied = true
		}
	}
	return got, err
}
