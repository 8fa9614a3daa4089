package profiles

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/agent/exports"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
)

// Engine is the name of the counters of what is pulled.
const Engine = "pull"

// Options are what a [Profiler] needs beside its configuration.
type Options struct {
	Config
	Log    *slog.Logger
	Counts *exports.Engine
}

// Profiler makes profiles of kernels. [Profiler.Run] makes them, and [Profiler.ServeHTTP] answers with them. The other
// methods are for the goroutine that reads events, and never wait.
type Profiler struct {
	Options
	queue chan *record
	began time.Time // the interval that runs

	mu     sync.Mutex
	warned time.Time
	pulled map[uint32][]byte // the last interval of each kernel, by its number
}

// record is an interval of a kernel.
type record struct {
	kernel   *telemetry.Kernel
	from, to time.Time
	flows    []attribution.Flow
	over     bool // the kernel has ended
}

// maxQueue is the most intervals of kernels that wait.
const maxQueue = 256

var errTooLarge = errors.New("the profile is larger than 4 MiB")

// New returns a profiler.
func New(o Options) *Profiler {
	return &Profiler{
		Options: o, queue: make(chan *record, maxQueue), began: time.Now(), pulled: map[uint32][]byte{},
	}
}

// Due reports whether the present interval is over at a time.
func (p *Profiler) Due(now time.Time) bool { return now.Sub(p.began) >= p.Every }

// Begin begins the next interval.
func (p *Profiler) Begin(now time.Time) { p.began = now }

// Interval takes in what a kernel has allocated in the interval that ends now, and holds. over: it has ended.
func (p *Profiler) Interval(k *telemetry.Kernel, now time.Time, flows []attribution.Flow, over bool) {
	r := &record{kernel: k, from: p.began, to: now, flows: flows, over: over}
	if r.from.Before(k.Joined) {
		r.from = k.Joined
	}
	select {
	case p.queue <- r:
	default:
		p.drop(exports.QueueFull, nil)
	}
}

// Run makes profiles until the context is done.
func (p *Profiler) Run(ctx context.Context) {
	for {
		select {
		case r := <-p.queue:
			p.take(r)
		case <-ctx.Done():
			return
		}
	}
}

// take makes the profile of a record, and keeps it to be pulled.
func (p *Profiler) take(r *record) {
	raw, err := ofInterval(r.from, r.to, r.flows).bytes()
	if err != nil {
		p.drop(exports.Refused, err)
	}
	p.keep(r, raw)
}

// warnEvery is the time between two warnings.
const warnEvery = time.Minute

// drop counts a profile that is dropped, and logs it, unless that was logged a moment ago.
func (p *Profiler) drop(reason string, err error) {
	p.Counts.Dropped(reason, 1)
	p.mu.Lock()
	silent := time.Since(p.warned) < warnEvery
	if !silent {
		p.warned = time.Now()
	}
	p.mu.Unlock()
	if !silent {
		p.Log.Warn("profiles are dropped: "+reason, "error", err)
	}
}
