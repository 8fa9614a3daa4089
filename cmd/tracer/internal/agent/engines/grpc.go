package engines

import (
	"context"
	"crypto/tls"
	"io"
	"net/url"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

// newGRPC returns a client for OTLP/gRPC, on a connection of its own: nothing in the environment, and no record of the
// name service, decides about it.
func newGRPC(to *url.URL, c *Spans, secure *tls.Config, h *Headers, last *answer) (otlptrace.Client, error) {
	silenceGRPC()
	channel := credentials.NewTLS(secure)
	if to.Scheme == "http" {
		channel = insecure.NewCredentials()
	}
	conn, err := grpc.NewClient("dns:///"+to.Host,
		grpc.WithTransportCredentials(channel), grpc.WithPerRPCCredentials(ofCalls{h}), grpc.WithNoProxy(),
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

// quietTime is after which time without an answer a connection is tested; receivers close those with more tests.
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

// intercept writes an answer down.
func (a *answer) intercept(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
	call grpc.UnaryInvoker, options ...grpc.CallOption) error {
	err := call(ctx, method, request, reply, conn, options...)
	code := status.Code(err)
	*a = answer{came: code != codes.Unavailable && code != codes.DeadlineExceeded && code != codes.Canceled,
		taken: code == codes.OK, code: code.String()}
	switch code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Aborted, codes.Canceled, codes.OutOfRange, codes.DataLoss:
		a.again = true
	case codes.Unauthenticated, codes.PermissionDenied:
		a.denied = true
	}
	return err
}

// ofCalls sets the headers of calls.
type ofCalls struct{ *Headers }

// GetRequestMetadata implements [credentials.PerRPCCredentials].
func (h ofCalls) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return h.All(), nil
}

// RequireTransportSecurity implements [credentials.PerRPCCredentials]. The configuration has been asked about that.
func (h ofCalls) RequireTransportSecurity() bool { return false }

// silenceGRPC keeps gRPC from writing to standard error: its lines have texts of the receiver's.
var silenceGRPC = sync.OnceFunc(func() {
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
})
