package packets

import (
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Closers close descriptors that strangers have opened, in the background, on a bounded number of threads. The zero
// value closes none.
type Closers struct {
	Most   int // that are being closed at a time
	MostOf int // likewise, of one owner

	closing sync.WaitGroup // those with room

	mu    sync.Mutex
	all   int
	busy  map[uint32]int // by owner
	queue []waiting
}

// nudge is the time after which a thread that waits in close(2) is made to go on.
const nudge = 100 * time.Millisecond

// Begin takes the room for a descriptor of an owner, before the descriptor exists. It returns false while too many are
// being closed. After true, the caller calls [Closers.Close] once.
func (c *Closers) Begin(owner uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begin(owner)
}

func (c *Closers) begin(owner uint32) bool {
	if c.all >= c.Most || c.busy[owner] >= c.MostOf {
		return false
	}
	if c.busy == nil {
		c.busy = map[uint32]int{}
	}
	c.closing.Add(1)
	c.all++
	c.busy[owner]++
	return true
}

// Close closes descriptors in the background, and gives the room up when they are closed.
func (c *Closers) Close(owner uint32, fds ...int) {
	go func() { // at most c.Most of them
		for next := (waiting{owner, fds}); ; {
			for _, fd := range next.fds {
				if fd >= 0 {
					nudged(func() { unix.Close(fd) })
				}
			}
			var ok bool
			if next, ok = c.next(next.owner); !ok {
				return
			}
		}
	}()
}

// waiting are descriptors for which there was no room.
type waiting struct {
	owner uint32
	fds   []int
}

// Put closes descriptors in the background, as soon as there is room.
func (c *Closers) Put(owner uint32, fds ...int) {
	c.mu.Lock()
	ok := c.begin(owner)
	if !ok {
		c.queue = append(c.queue, waiting{owner, fds})
	}
	c.mu.Unlock()
	if ok {
		c.Close(owner, fds...)
	}
}

// Waiting is how many wait for room.
func (c *Closers) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue)
}

// next gives up an owner's room, and takes it for the first descriptor that fits now.
func (c *Closers) next(owner uint32) (w waiting, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.closing.Done() // after the next one has begun
	c.all--
	if c.busy[owner]--; c.busy[owner] <= 0 {
		delete(c.busy, owner)
	}
	for i, w := range c.queue {
		if c.begin(w.owner) {
			c.queue = slices.Delete(c.queue, i, i+1)
			return w, true
		}
	}
	return w, false
}

// Wait waits until nothing is being closed, nor waits for that.
func (c *Closers) Wait() { c.closing.Wait() }

// nudged drops descriptors. The kernel stops waiting for a connection that lingers as soon as a signal waits for the
// thread that closes it (sk_stream_wait_close, vsock's wait likewise), and so for every other one that is closed with
// it. A close that does not look for signals takes its time.
func nudged(drop func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	n := &nudger{thread: unix.Gettid()}
	n.start()
	drop()
	n.stop()
}

// nudger sends a thread signals, until it is stopped.
type nudger struct {
	thread int
	timer  *time.Timer

	mu      sync.Mutex
	stopped bool
}

func (n *nudger) start() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.timer = time.AfterFunc(nudge, n.again)
}

// again sends SIGURG, which Go's runtime itself sends to interrupt threads: no other code hears of it.
func (n *nudger) again() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped {
		return
	}
	_ = unix.Tgkill(os.Getpid(), n.thread, unix.SIGURG)
	n.timer.Reset(nudge)
}

func (n *nudger) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopped = true
	n.timer.Stop()
}
