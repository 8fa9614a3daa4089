package pods

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// The least time from one logged mistake to the next.
const (
	repeatAfter = 10 * time.Minute // if the next is the same mistake
	pauseAfter  = time.Minute      // if it is another one
)

// health knows whether the API server, or a container runtime, answers. It logs mistakes.
type health struct {
	log     *slog.Logger
	up      atomic.Bool
	refused atomic.Uint64 // times that a pod had no room
	now     func() time.Time
	advise  func(error) string // what a mistake means, and what to do
	// recovered is logged once there are good answers again.
	recovered string

	mu         sync.Mutex
	lastText   string    // of the mistake that goes on; "" for none
	lastLogged time.Time // when a mistake was last logged
}

// refuse counts a pod without room.
func (h *health) refuse() { h.refused.Add(1) }

// note takes in the error of a request, nil for a good answer.
func (h *health) note(ctx context.Context, err error) {
	if err != nil && (ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded)) {
		return // the agent is ending
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // no mistake: the reflector lists the pods again
	}
	h.up.Store(err == nil)
	if err == nil {
		if h.lastText != "" {
			h.log.Info(h.recovered)
		}
		h.lastText = ""
		return
	}
	text, sinceLast := h.advise(err), h.now().Sub(h.lastLogged)
	isRepeated := text == h.lastText && sinceLast < repeatAfter
	if sinceLast < pauseAfter || isRepeated {
		return
	}
	h.lastText, h.lastLogged = text, h.now()
	h.log.Warn(text, "error", err)
}

// advice returns what a mistake of the API server means for the agent, and what to do about it.
func advice(err error) string {
	const without = "; until then pods go by their UIDs"
	var refusal apierrors.APIStatus
	if errors.As(err, &refusal) {
		switch refusal.Status().Code {
		case http.StatusUnauthorized:
			return "Kubernetes does not accept the agent's credentials: renew its token or certificate" + without
		case http.StatusForbidden:
			return "Kubernetes does not let the agent see pods: allow its service account to get, list and watch pods" +
				without
		}
	}
	if errors.Is(err, errNonsense) {
		return "Kubernetes' API server answers what is no list of pods: see that its address is right" + without
	}
	return "Kubernetes' API server does not answer: see that it runs and can be reached from here" + without
}

// Series is the number of time series of a [Watcher], and of a [Runtime].
const Series = 3

// series makes the time series of a [Watcher] or a [Runtime].
type series struct {
	name   string         // in the names of the series
	help   [Series]string // of up, pods and refused
	store  *store
	health *health
}

// Series returns the time series.
func (s *series) Series() []prometheus.Collector {
	up := func() float64 {
		if s.health.up.Load() {
			return 1
		}
		return 0
	}
	name := func(suffix string) string { return "ipytracer_" + s.name + "_" + suffix }
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name("up"), Help: s.help[0]}, up),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name("pods"), Help: s.help[1]},
			func() float64 { return float64(s.store.count()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name("refused_total"), Help: s.help[2]},
			func() float64 { return float64(s.health.refused.Load()) }),
	}
}
