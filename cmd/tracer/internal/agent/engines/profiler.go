package engines

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/agent/telemetry"

	"golang.org/x/time/rate"
)

// Profiles is the section profiles of an agent's configuration. It is read at the start only, because a kernel's stacks
// are walked from its first event on, or never.
type Profiles struct {
	// Every is the length of an interval; 0: a minute.
	Every time.Duration `yaml:"every"`
	// Pull offers the last interval of each kernel at /debug/pprof/kernel/SLOT. It must be true, since there is no
	// other way.
	Pull bool `yaml:"pull"`
}

// PushedFields are the fields of earlier versions, which pushed profiles.
var PushedFields = []string{"url", "headers_file", "insecure", "otlp"}

// Bounds and defaults of the configuration.
const (
	usualEvery = time.Minute
	leastEvery = 10 * time.Second
	mostEvery  = time.Hour
)

var errNowhere = errors.New("it must be true: profiles are pulled")

// Check fills in the defaults, and returns the first field with a mistake.
func (c *Profiles) Check() (key string, err error) {
	c.Every = cmp.Or(c.Every, usualEvery)
	if !c.Pull {
		return "pull", errNowhere
	}
	return "every", telemetry.InRange(c.Every, leastEvery, mostEvery)
}

// ProfilesEngine is the name of the counters of what is pulled.
const ProfilesEngine = "pull"

// ProfilerOptions are what a [Profiler] needs beside its configuration.
type ProfilerOptions struct {
	Profiles
	Log    *slog.Logger
	Counts *Counter
}

// Profiler makes profiles of kernels. [Profiler.Run] makes them, and [Profiler.ServeHTTP] answers with them. The other
// methods are for the goroutine that reads events, and never wait.
type Profiler struct {
	ProfilerOptions
	queue  chan *profileRecord
	began  time.Time // when the present interval began
	warned rate.Sometimes

	mu           sync.Mutex
	lastProfiles map[uint32][]byte // of the last interval of each kernel, by its slot
}

// profileRecord has the figures of a kernel in an interval.
type profileRecord struct {
	kernel   *telemetry.Kernel
	from, to time.Time
	flows    []attribution.Flow
	ended    bool // the kernel has ended
}

// maxIntervals is the most records that wait.
const maxIntervals = 256

// NewProfiler returns a profiler.
func NewProfiler(o ProfilerOptions) *Profiler {
	return &Profiler{
		ProfilerOptions: o, queue: make(chan *profileRecord, maxIntervals), began: time.Now(),
		lastProfiles: map[uint32][]byte{}, warned: rate.Sometimes{Interval: warnEvery},
	}
}

// Due reports whether the present interval is over at a time.
func (p *Profiler) Due(now time.Time) bool { return now.Sub(p.began) >= p.Every }

// Begin begins the next interval.
func (p *Profiler) Begin(now time.Time) { p.began = now }

// Interval takes in what a kernel has allocated in the interval that ends now, and what it holds. ended: the kernel has
// ended, so that its profile is not offered any more.
func (p *Profiler) Interval(k *telemetry.Kernel, now time.Time, flows []attribution.Flow, ended bool) {
	r := &profileRecord{kernel: k, from: p.began, to: now, flows: flows, ended: ended}
	if r.from.Before(k.Joined) {
		r.from = k.Joined
	}
	select {
	case p.queue <- r:
	default:
		p.drop(QueueFull, nil)
	}
}

// Run makes profiles until the context is done.
func (p *Profiler) Run(ctx context.Context) {
	for {
		select {
		case r := <-p.queue:
			p.handle(r)
		case <-ctx.Done():
			return
		}
	}
}

// handle makes the profile of a record, and keeps it to be pulled.
func (p *Profiler) handle(r *profileRecord) {
	raw, err := ofInterval(r.from, r.to, r.flows).bytes()
	if err != nil {
		p.drop(Refused, err)
	}
	p.keep(r, raw)
}

// drop counts a dropped profile. It logs one within [warnEvery].
func (p *Profiler) drop(reason string, err error) {
	p.Counts.Dropped(reason, 1)
	p.warned.Do(func() { p.Log.Warn("profiles are dropped: "+reason, "error", err) })
}

// ProfilesPath is the path of a kernel's profile.
const ProfilesPath = "/debug/pprof/kernel/{slot}"

// keep offers the profile of an interval until the next interval of the kernel ends.
func (p *Profiler) keep(r *profileRecord, interval []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.ended || len(interval) == 0 {
		delete(p.lastProfiles, r.kernel.Slot)
		return
	}
	p.lastProfiles[r.kernel.Slot] = interval
}

// ServeHTTP answers with the profile of a kernel's last interval.
func (p *Profiler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	slot, err := strconv.ParseUint(r.PathValue("slot"), 10, 8)
	p.mu.Lock()
	data := p.lastProfiles[uint32(slot)]
	p.mu.Unlock()
	if err != nil || data == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="kernel-`+strconv.FormatUint(slot, 10)+`.pb.gz"`)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if _, err := w.Write(data); err == nil {
		p.Counts.Sent(1)
	}
}
