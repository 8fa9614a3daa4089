package inventory

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

// Time limits of the driver's calls.
const (
	quickCall = 30 * time.Second
	longMove  = 30 * time.Minute // for a copy of a GPU's memory; 10 GiB took 7.3 s on an H200
)

// memoryReader reads from NVML how much GPU memory a process holds.
type memoryReader struct{ pid int }

var errUnknownMemory = errors.New("NVML does not say how much the process holds")

func (h *memoryReader) read(ctx context.Context) (int64, error) {
	limited, cancel := context.WithTimeoutCause(ctx, quickCall, errors.New("NVML does not answer"))
	defer cancel()
	s, err := gpu.Read(limited)
	if err != nil {
		return 0, err
	}
	bytes, ok := s.UsedBy(h.pid)
	if !ok {
		return 0, errUnknownMemory
	}
	return bytes, nil
}

// moveProgress shows the present step of a move, and the GPU memory that the process still holds. It shows them only on
// a terminal.
type moveProgress struct {
	c      console.Console
	pid    int
	memory *memoryReader
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	doing   string
	since   time.Time
	columns int // columns of the visible line
}

func newMoveProgress(c console.Console, pid int, memory *memoryReader) *moveProgress {
	p := &moveProgress{
		c: c, pid: pid, memory: memory, done: make(chan struct{}), doing: "asking the driver", since: time.Now(),
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	if _, ok := console.Terminal(c.Err); !ok || os.Getenv("TERM") == "dumb" {
		close(p.done)
		return p
	}
	go p.run(ctx)
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
	p.c.Drain() // before the result goes to standard output
}

// refresh is the least interval of updates. It grows so that NVML takes at most a fifth of the time.
const refresh = 500 * time.Millisecond

func (p *moveProgress) run(ctx context.Context) {
	defer close(p.done)
	for wait := console.Patience; ; {
		select {
		case <-ctx.Done():
			p.clear()
			return
		case <-time.After(wait):
		}
		began := time.Now()
		bytes, err := p.memory.read(ctx)
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
	fmt.Fprintf(p.c.Err, "\r%-*s", p.columns, line)
	p.columns = max(p.columns, len([]rune(line)))
}

func (p *moveProgress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.columns > 0 {
		fmt.Fprintf(p.c.Err, "\r%s\r", strings.Repeat(" ", p.columns))
		p.columns = 0
	}
}

// say prints a line in place of the progress.
func (p *moveProgress) say(line string) {
	p.clear()
	fmt.Fprintln(p.c.Err, line)
}
