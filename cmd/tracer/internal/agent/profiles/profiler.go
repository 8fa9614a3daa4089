package profiles

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/agent/exports"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
)

// Engine is the name of the counters of what is pushed.
const Engine = "pyroscope"

// Options are what a [Profiler] needs beside its configuration.
type Options struct {
	Config
	Version string
	Log     *slog.Logger
	Counts  *exports.Engine
	// Open opens the file of headers.
	Open func(name string) (*os.File, error)
	// Receiver is where profiles go by OTLP; nil for nowhere.
	Receiver *Receiver
	// Users reports whether profiles have the names of users.
	Users func() bool
}

// Profiler makes profiles of kernels and their cells. [Profiler.Run] makes and sends them. The other methods are for
// the goroutine that reads events, and never wait.
type Profiler struct {
	Options
	pusher *pusher // nil: nothing is pushed
	otlp   *pusher // nil: nothing is sent by OTLP
	queue  chan *record
	began  time.Time // the interval that runs
	cells  map[key]*cells
	warned time.Time

	mu     sync.Mutex
	pulled map[uint32][]byte // the last interval of each kernel, by its number
}

// record is what is sent at once: an interval of a kernel, with the cells that closed in it.
type record struct {
	kernel   *telemetry.Kernel
	from, to time.Time
	flows    []attribution.Flow
	cells    []*telemetry.Cell
	over     bool // the kernel has ended
}

// key identifies a kernel, whatever names it has by now.
type key struct {
	slot   uint32
	pid    int
	joined time.Time
}

func keyOf(k *telemetry.Kernel) key { return key{k.Slot, k.PID, k.Joined} }

// cells are the cells of a kernel that wait for the end of the interval.
type cells struct {
	all     []*telemetry.Cell
	samples int
}

// Bounds on what waits.
const (
	maxQueue       = 256   // intervals of kernels
	maxCells       = 1000  // of a kernel in an interval
	maxCellSamples = 16000 // of a kernel's cells in an interval
)

var errTooLarge = errors.New("the profile is larger than 4 MiB")

// New returns a profiler. The error is about the file of headers.
func New(o Options) (*Profiler, error) {
	p := &Profiler{
		Options: o, queue: make(chan *record, maxQueue), began: time.Now(), cells: map[key]*cells{},
		pulled: map[uint32][]byte{},
	}
	to, err := o.address()
	if err != nil {
		return nil, err
	}
	if to != nil {
		if p.pusher, err = newPusher(to, o.HeadersFile, nil, &o); err != nil {
			return nil, err
		}
	}
	if o.Receiver != nil {
		p.otlp, err = newOTLP(&o)
	}
	return p, err
}

// Task implements [telemetry.Sink]: a task has no profile of its own.
func (p *Profiler) Task(*telemetry.Task) {}

// Cell implements [telemetry.Sink].
func (p *Profiler) Cell(c *telemetry.Cell) {
	if p.pusher == nil && p.otlp == nil {
		return
	}
	all := p.cells[keyOf(c.Kernel)]
	if all == nil {
		all = &cells{}
		p.cells[keyOf(c.Kernel)] = all
	}
	n := len(c.Window.Allocations) + 2*len(c.Window.Meters)
	if len(all.all) >= maxCells || all.samples+n > maxCellSamples {
		p.noRoom(1)
		return
	}
	all.all, all.samples = append(all.all, c), all.samples+n
}

// Death implements [telemetry.Sink]: the kernel's last cells came. Its last interval ends with [Profiler.Interval].
func (p *Profiler) Death(d *telemetry.Death) {
	if p.cells[keyOf(d.Kernel)] != nil {
		p.queued(&record{kernel: d.Kernel, from: p.began, to: d.At, over: true})
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
	p.queued(r)
}

// queued adds a record to the queue, with the cells of its kernel.
func (p *Profiler) queued(r *record) {
	if all := p.cells[keyOf(r.kernel)]; all != nil {
		r.cells = all.all
		delete(p.cells, keyOf(r.kernel))
	}
	select {
	case p.queue <- r:
	default:
		p.noRoom(1 + len(r.cells))
	}
}

// noRoom counts profiles that find no room to wait.
func (p *Profiler) noRoom(n int) {
	if p.otlp != nil {
		p.Receiver.Counts.Dropped(exports.QueueFull, n)
	}
	if p.pusher != nil || p.otlp == nil {
		p.Counts.Dropped(exports.QueueFull, n)
	}
	p.warn("profiles are dropped: "+exports.QueueFull, nil)
}

// closingTime is how long what is left is sent for at the end.
const closingTime = 5 * time.Second

// Run makes and sends profiles until the context is done.
func (p *Profiler) Run(ctx context.Context) {
	for {
		select {
		case r := <-p.queue:
			p.take(ctx, r)
			continue
		default:
		}
		select {
		case r := <-p.queue:
			p.take(ctx, r)
		case <-ctx.Done():
			p.empty()
			return
		}
	}
}

// empty sends what is left, and counts what there is no time for.
func (p *Profiler) empty() {
	ctx, cancel := context.WithTimeout(context.Background(), closingTime)
	defer cancel()
	for {
		select {
		case r := <-p.queue:
			p.take(ctx, r)
		default:
			return
		}
	}
}

// take makes the profiles of a record: it keeps one to be pulled, and sends all.
func (p *Profiler) take(ctx context.Context, r *record) {
	interval := ofInterval(r.from, r.to, r.flows)
	if p.pusher != nil || p.Pull {
		raw, err := interval.bytes()
		if err != nil {
			p.drop(exports.Refused, 1, err)
		}
		p.keep(r, raw)
		if p.pusher != nil {
			p.pushAll(ctx, r, raw)
		}
	}
	if p.otlp != nil {
		p.sendAll(ctx, r, interval)
	}
}

// pushAll pushes the profile of an interval, packed, and those of its cells.
func (p *Profiler) pushAll(ctx context.Context, r *record, interval []byte) {
	b := batch{of: r, users: p.Users()}
	if len(interval) > 0 {
		p.add(ctx, &b, interval)
	}
	for _, c := range r.cells {
		one, err := ofCell(c).bytes()
		switch {
		case err != nil:
			p.drop(exports.Refused, 1, err)
		case len(one) > 0:
			p.add(ctx, &b, one)
		}
	}
	p.push(ctx, &b)
}

// add adds a profile to a batch, which is pushed first where there is no room for it.
func (p *Profiler) add(ctx context.Context, b *batch, one []byte) {
	if b.size+len(one) > maxBatch {
		p.push(ctx, b)
	}
	b.profiles, b.size = append(b.profiles, one), b.size+len(one)
}

// push sends a batch, and empties it.
func (p *Profiler) push(ctx context.Context, b *batch) {
	n := len(b.profiles)
	if n == 0 {
		return
	}
	if err := p.pusher.headers.Renew(time.Now(), 0); err != nil {
		p.warn("the headers stay as they are", err)
	}
	reason, err := p.pusher.push(ctx, b)
	b.profiles, b.size = nil, 0
	if reason == "" {
		p.Counts.Sent(n)
		return
	}
	p.drop(reason, n, err)
}

// warnEvery is the time between two warnings.
const warnEvery = time.Minute

// drop counts profiles that are dropped, and logs it.
func (p *Profiler) drop(reason string, n int, err error) {
	p.Counts.Dropped(reason, n)
	p.warn("profiles are dropped: "+reason, err)
}

// warn logs a problem, unless one was logged a moment ago.
func (p *Profiler) warn(text string, err error) {
	p.mu.Lock()
	silent := time.Since(p.warned) < warnEvery
	if !silent {
		p.warned = time.Now()
	}
	p.mu.Unlock()
	if !silent {
		p.Log.Warn(text, "error", err)
	}
}
