package engines

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

const token = "Bearer a-token-that-nobody-else-sees"

func caFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestTokenGoesToTheReceiverAlone: a token goes to the configured receiver and nowhere else: not to the place that this
// one points to, and not into the log, though the receiver sends it back. A file that has changed is read again.
func TestTokenGoesToTheReceiverAlone(t *testing.T) {
	other := newReceiver(t, HTTP)
	for _, protocol := range []string{HTTP, GRPC} {
		to := newReceiver(t, protocol)
		to.answers = []func(http.ResponseWriter){
			answerOf(http.StatusTemporaryRedirect, token, "Location", other.address+"/v1/traces"),
			answerOf(http.StatusUnauthorized, token, "Www-Authenticate", token), nil,
		}
		to.refuses = func() (*coltracepb.ExportTraceServiceResponse, error) {
			return nil, status.Error(codes.Unauthenticated, token)
		}
		name := caFile(t, "# of the node\nAuthorization: "+token+"\nX-Scope-OrgID: lab\n")
		s := newSender(t, Spans{Endpoint: to.address, Protocol: protocol, HeadersFile: name})
		if err := s.client.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			s.deliver(t.Context(), t.Context(), s.gatherTen(t))
			s.warned = rate.Sometimes{Interval: warnEvery}
		}
		if s.dropped(Refused) < 20 || strings.Contains(s.log.String(), "token") || other.count() != 0 {
			t.Errorf("%s: %d refused, %d requests elsewhere, log:\n%s", protocol, s.dropped(Refused),
				other.count(), s.log)
		}
		if err := os.WriteFile(name, []byte("authorization:Bearer new\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.headersAge = 0
		s.deliver(t.Context(), t.Context(), s.gatherTen(t))
		if err := os.WriteFile(name, []byte("no header, secret\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.warned = rate.Sometimes{Interval: warnEvery}
		s.deliver(t.Context(), t.Context(), s.gatherTen(t))
		stop(s.client)
		if got := fmt.Sprint(to.headers); got != fmt.Sprint([]string{token, token, token, "Bearer new", "Bearer new"}) {
			t.Errorf("%s: %s", protocol, got)
		}
		if log := s.log.String(); !strings.Contains(log, ":1: it is no header") || strings.Contains(log, "secret") {
			t.Errorf("%s: %s", protocol, log)
		}
	}
}

// TestEnvironmentDecidesNothing: the variables that the SDK and HTTP clients read decide nothing.
func TestEnvironmentDecidesNothing(t *testing.T) {
	other := newReceiver(t, HTTP)
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": other.address, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": other.address + "/x",
		"OTEL_EXPORTER_OTLP_HEADERS": "authorization=stray", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "x=%zz",
		"OTEL_EXPORTER_OTLP_COMPRESSION": "none", "OTEL_EXPORTER_OTLP_TIMEOUT": "1", "OTEL_SDK_DISABLED": "true",
		"OTEL_EXPORTER_OTLP_CERTIFICATE": "/nowhere", "OTEL_RESOURCE_ATTRIBUTES": "user.name=stray",
		"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json", "HTTP_PROXY": other.address, "HTTPS_PROXY": other.address,
		"OTEL_EXPORTER_OTLP_INSECURE": "false",
	} {
		t.Setenv(name, value)
	}
	for _, protocol := range []string{HTTP, GRPC} {
		to := newReceiver(t, protocol)
		s := newSender(t, Spans{Endpoint: to.address, Protocol: protocol})
		handTen(t, s)
		if s.sent() != 10 || other.count() != 0 || strings.Contains(fmt.Sprint(to.headers), "stray") ||
			to.all()[0].resource["user.name"] != "ann" {
			t.Errorf("%s: %d sent, headers %q, log %s", protocol, s.sent(), to.headers, s.log)
		}
	}
}

// TestSpansGoToTrustedReceiversAlone: spans go to a receiver with a certificate of the configured authority, and to no
// other.
func TestSpansGoToTrustedReceiversAlone(t *testing.T) {
	to := &receiver{}
	server := httptest.NewUnstartedServer(to)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	calls := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: server.TLS.Certificates})))
	coltracepb.RegisterTraceServiceServer(calls, to)
	go func() { _ = calls.Serve(l) }()
	t.Cleanup(calls.Stop)
	ca := caFile(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	for protocol, address := range map[string]string{HTTP: server.URL, GRPC: "https://" + l.Addr().String()} {
		s := newSender(t, Spans{Endpoint: address, Protocol: protocol, CAFile: ca})
		handTen(t, s)
		if s.sent() != 10 {
			t.Errorf("%s: %d sent: %s", protocol, s.sent(), s.log)
		}
		s = newSender(t, Spans{Endpoint: address, Protocol: protocol})
		handTen(t, s)
		if s.dropped(Unreachable) != 10 {
			t.Errorf("%s, with another authority: %d sent", protocol, s.sent())
		}
		if protocol == HTTP && !strings.Contains(s.log.String(), errCertificate.Error()) {
			t.Errorf("%s", s.log)
		}
	}
	s := newSender(t, Spans{Endpoint: "https" + strings.TrimPrefix(newReceiver(t, HTTP).address, "http")})
	handTen(t, s)
	if s.dropped(Unreachable) != 10 || !strings.Contains(s.log.String(), errNoTLS.Error()) {
		t.Errorf("without TLS: %d sent: %s", s.sent(), s.log)
	}
	bad := Spans{Endpoint: server.URL, CAFile: caFile(t, "nothing")}
	if err := bad.CheckFiles(os.Open); err == nil || !strings.Contains(err.Error(), "no certificate in PEM") {
		t.Error(err)
	}
}

// TestConfigCheck: each field has its bounds. No message has a part of an endpoint.
func TestConfigCheck(t *testing.T) {
	const local = "http://localhost:4318"
	for _, c := range []struct {
		config Spans
		key    string
	}{
		{Spans{Endpoint: local}, ""},
		{Spans{Endpoint: "http://[::1]:4317", Protocol: GRPC}, ""},
		{Spans{Endpoint: "https://otel.example.org"}, ""},
		{Spans{Endpoint: "https://otel.example.org/tenant/secret"}, ""},
		{Spans{Endpoint: "http://otel.example.org:4318", Insecure: true}, ""},
		{Spans{}, "endpoint"},
		{Spans{Endpoint: "otel.example.org:4318"}, "endpoint"},
		{Spans{Endpoint: "unix:///run/secret"}, "endpoint"},
		{Spans{Endpoint: "https://secret%zz"}, "endpoint"},
		{Spans{Endpoint: "http://otel.example.org:4318"}, "endpoint"},
		{Spans{Endpoint: "http://localhost.secret.example:4318"}, "endpoint"},
		{Spans{Endpoint: "https://me:secret@otel.example.org"}, "endpoint"},
		{Spans{Endpoint: "https://otel.example.org/?key=secret"}, "endpoint"},
		{Spans{Endpoint: "https://otel.example.org/x", Protocol: GRPC}, "endpoint"},
		{Spans{Endpoint: local, Protocol: "udp"}, "protocol"},
		{Spans{Endpoint: local, Timeout: time.Hour}, "timeout"},
		{Spans{Endpoint: local, Timeout: time.Millisecond}, "timeout"},
		{Spans{Endpoint: local, Queue: -1}, "queue"},
		{Spans{Endpoint: local, Queue: 1 << 20}, "queue"},
		{Spans{Endpoint: local, Resource: map[string]string{"a": "\x00"}}, "resource"},
		{Spans{Endpoint: local, Resource: map[string]string{"": "x"}}, "resource"},
		{Spans{Endpoint: local, Resource: map[string]string{"a": strings.Repeat("x", 300)}}, "resource"},
	} {
		key, err := c.config.Check()
		if key != c.key || (err == nil) != (key == "") || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %q, %v", c.config, key, err)
		}
	}
	c := Spans{Endpoint: local}
	if _, err := c.Check(); err != nil || c.Protocol != HTTP || c.Timeout != 10*time.Second || c.Queue != 2048 {
		t.Errorf("%+v, %v", c, err)
	}
}
