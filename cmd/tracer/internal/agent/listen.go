package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/net/netutil"

	"ipytracer/cmd/tracer/internal/agent/profiles"
	"ipytracer/cmd/tracer/internal/agent/users"
)

// Bounds on what strangers who reach the address can take of the agent.
const (
	maxConnections = 64
	maxCollections = 4 // at a time; more are answered with 503
	headerTime     = 5 * time.Second
	answerTime     = 30 * time.Second
	idleTime       = time.Minute
	maxHeader      = 16 << 10
	closingTime    = 2 * time.Second
)

// pages are /metrics, /healthz and, where they are switched on, profiles and what a user of JupyterHub has.
func (m *metrics) pages() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: maxCollections, EnableOpenMetrics: true, ErrorHandling: promhttp.ContinueOnError,
	}))
	if m.pull != nil {
		mux.Handle("GET "+profiles.Path, m.pull)
	}
	if m.users != nil {
		mux.Handle("GET "+users.Path, m.users)
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	return mux
}

// serve answers /metrics and /healthz until the context is done. It returns nil then.
func serve(ctx context.Context, l net.Listener, m *metrics, to *slog.Logger) error {
	s := &http.Server{
		Handler: m.pages(), ReadHeaderTimeout: headerTime, ReadTimeout: headerTime, WriteTimeout: answerTime,
		IdleTimeout: idleTime, MaxHeaderBytes: maxHeader, ErrorLog: log.New(io.Discard, "", 0),
	}
	defer context.AfterFunc(ctx, func() {
		closing, cancel := context.WithTimeout(context.Background(), closingTime)
		defer cancel()
		if s.Shutdown(closing) != nil {
			_ = s.Close()
		}
	})()
	if err := s.Serve(netutil.LimitListener(l, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("answer at %v: %w", l.Addr(), err)
	}
	to.Debug("no more answers", "address", l.Addr().String())
	return nil
}
