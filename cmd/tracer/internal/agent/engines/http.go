package engines

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
)

// newHTTP returns a client for OTLP/HTTP. Nothing in the environment decides about it: neither OTEL_… nor HTTP_PROXY.
func newHTTP(to *url.URL, c *Spans, secure *tls.Config, h *Headers, last *answer) otlptrace.Client {
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: c.Timeout}).DialContext,
		TLSClientConfig:     secure,
		TLSHandshakeTimeout: c.Timeout, ResponseHeaderTimeout: c.Timeout, IdleConnTimeout: time.Minute,
		MaxConnsPerHost: 1, MaxResponseHeaderBytes: maxAnswer,
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}, // a silent HTTP/2 connection stays
	}
	options := []otlptracehttp.Option{
		otlptracehttp.WithEndpoint(to.Host), otlptracehttp.WithURLPath(path.Join("/", to.Path, "v1/traces")),
		otlptracehttp.WithHeaders(nil), otlptracehttp.WithTLSClientConfig(nil),
		otlptracehttp.WithEncoding(otlptracehttp.EncodingProtobuf),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression), otlptracehttp.WithTimeout(c.Timeout),
		otlptracehttp.WithMaxResponseSize(maxAnswer), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}),
		otlptracehttp.WithHTTPClient(&http.Client{
			Transport: &witness{transport, h, last}, Timeout: c.Timeout,
			// Headers must not go to another place than the configured one.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}),
	}
	if to.Scheme == "http" {
		options = append(options, otlptracehttp.WithInsecure())
	}
	return otlptracehttp.NewClient(options...)
}

// witness sets the headers of requests, and writes the answers down.
type witness struct {
	*http.Transport
	headers *Headers
	last    *answer
}

// RoundTrip implements [http.RoundTripper].
func (w *witness) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range w.headers.All() {
		r.Header.Set(name, value)
	}
	got, err := w.Transport.RoundTrip(r)
	if err == nil {
		*w.last = answer{came: true, taken: got.StatusCode/100 == 2, code: strconv.Itoa(got.StatusCode)}
		switch got.StatusCode {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
			http.StatusGatewayTimeout:
			w.last.again = true
		case http.StatusUnauthorized, http.StatusForbidden:
			w.last.denied = true
		}
	}
	return got, err
}
