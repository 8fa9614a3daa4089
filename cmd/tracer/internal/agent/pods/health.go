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

// sayAgain is how long a mistake goes on before it is logged again, and sayNext how long before another one is.
const (
	sayAgain = 10 * time.Minute
	sayNext  = time.Minute
)

// health is how the API server, or a container runtime, has answered.
type health struct {
	log     *slog.Logger
	up      atomic.Bool
	refused atomic.Uint64 // times that a pod had no room
	now     func() time.Time
	advise  func(error) string // what a mistake means, and what to do
	well    string             // logged once it is over

	mu   sync.Mutex
	text string    // the last mistake that was logged; "" after it was over
	said time.Time // when
}

// refuse counts a pod without room.
func (h *health) refuse() { h.refused.Add(1) }

// heard takes in the answer to a request, nil if it was good.
func (h *health) heard(ctx context.Context, err error) {
	if err != nil && (ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded)) {
		return // the agent ends
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // usual: the pods are listed again
	}
	h.up.Store(err == nil)
	if err == nil {
		if h.text != "" {
			h.log.Info(h.well)
		}
		h.text = ""
		return
	}
	text, since := h.advise(err), h.now().Sub(h.said)
	if since < sayNext || text == h.text && since < sayAgain {
		return
	}
	h.text, h.said = text, h.now()
	h.log.Warn(text, "error", err)
}

// advice returns what a mistake means for the agent, and what to do about it.
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

// series are the time series of a source of names. They have its store and its health.
type series struct {
	name   string         // of the source, in those of the series
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
	name := func(of string) string { return "ipytracer_" + s.name + "_" + of }
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name("up"), Help: s.help[0]}, up),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name("pods"), Help: s.help[1]},
			func() float64 { return float64(s.store.count()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name("refused_total"), Help: s.help[2]},
			func() float64 { return float64(s.health.refused.Load()) }),
	}
}
