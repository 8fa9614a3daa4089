package gpus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/gpu"
	"ipytracer/internal/words"
)

// Time limits of the driver: quick calls, and those that copy all of a GPU's memory. 10 GiB took 7.3 s on an H200.
const (
	quickCall = 30 * time.Second
	longMove  = 30 * time.Minute
)

// held reads a process's memory on its GPUs, by NVML.
type held struct{ pid int }

var errNotSaid = errors.New("NVML does not say how much the process holds")

func (h *held) now(ctx context.Context) (int64, error) {
	limited, cancel := context.WithTimeoutCause(ctx, quickCall, errors.New("NVML does not answer"))
	defer cancel()
	s, err := gpu.Read(limited)
	if err != nil {
		return 0, err
	}
	bytes, ok := s.UsedBy(h.pid)
	if !ok {
		return 0, errNotSaid
	}
	return bytes, nil
}

// moveProgress shows on a terminal the present step of a move, and the memory that the process still holds on its GPUs.
// Elsewhere it shows nothing.
type moveProgress struct {
	c      console.Console
	pid    int
	held   *held
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	doing string
	since time.Time
	shown int // columns of the visible line
}

// newMoveProgress begins to show.
func newMoveProgress(c console.Console, pid int, held *held) *moveProgress {
	p := &moveProgress{
		c: c, pid: pid, held: held, done: make(chan struct{}), doing: "asking the driver", since: time.Now(),
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	if _, ok := console.Terminal(c.Err); !ok || os.Getenv("TERM") == "dumb" {
		close(p.done)
		return p
	}
	go p.show(ctx)
	return p
}

func (p *moveProgress) step(s gpu.Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch s {
	case gpu.Locking:
		p.doing = "waiting for its GPUs to be idle"
	case gpu.MovingOut:
		p.doing = "moving to the host"
	case gpu.MovingBack:
		p.doing = "moving back"
	case gpu.Unlocking:
		p.doing = "letting it go on"
	}
}

func (p *moveProgress) stop() {
	p.cancel()
	<-p.done
	p.c.Drain() // the result goes to standard output
}

// refresh is the interval of updates; NVML takes at most a fifth of the time.
const refresh = 500 * time.Millisecond

func (p *moveProgress) show(ctx context.Context) {
	defer close(p.done)
	for wait := console.Patience; ; {
		select {
		case <-ctx.Done():
			p.clear()
			return
		case <-time.After(wait):
		}
		began := time.Now()
		bytes, err := p.held.now(ctx)
		wait = max(refresh, 5*time.Since(began))
		p.draw(bytes, err == nil)
	}
}

func (p *moveProgress) draw(bytes int64, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := fmt.Sprintf("process %d: %s", p.pid, p.doing)
	if known {
		line += fmt.Sprintf(" · %s on its GPUs", words.Bytes(bytes))
	}
	line += fmt.Sprintf(" · %.0f s", time.Since(p.since).Seconds())
	fmt.Fprintf(p.c.Err, "\r%-*s", p.shown, line)
	p.shown = max(p.shown, len([]rune(line)))
}

func (p *moveProgress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown > 0 {
		fmt.Fprintf(p.c.Err, "\r%s\r", strings.Repeat(" ", p.shown))
		p.shown = 0
	}
}

// say prints a line in its place.
func (p *moveProgress) say(line string) {
	p.clear()
	fmt.Fprintln(p.c.Err, line)
}
