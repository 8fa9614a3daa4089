package packets

import (
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Closers close descriptors that hostile processes have opened, in the background, on a bounded number of threads. Each
// close has a room, and waits for one if all are taken. The zero value has no rooms.
type Closers struct {
	Most   int // the number of rooms: closes at a time
	MostOf int // the number of rooms of one owner

	closing sync.WaitGroup // the closes that have a room

	mu    sync.Mutex
	total int            // rooms that are taken
	busy  map[uint32]int // rooms that are taken, by owner
	queue []waiting
}

// nudge is the time after which a thread that waits in close(2) gets a signal, and between two signals.
const nudge = 100 * time.Millisecond

// Begin takes a room for a descriptor of an owner, before the descriptor exists. It returns false if no room is free.
// After true, the caller must call [Closers.Close] once.
func (c *Closers) Begin(owner uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begin(owner)
}

// begin does what Begin does, for callers that have c.mu.
func (c *Closers) begin(owner uint32) bool {
	if c.total >= c.Most || c.busy[owner] >= c.MostOf {
		return false
	}
	if c.busy == nil {
		c.busy = map[uint32]int{}
	}
	c.closing.Add(1)
	c.total++
	c.busy[owner]++
	return true
}

// Close closes descriptors in the background, and gives up the room of [Closers.Begin] when they are closed.
func (c *Closers) Close(owner uint32, fds ...int) {
	go func() { // at most c.Most goroutines
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

// waiting are descriptors that wait for a room.
type waiting struct {
	owner uint32
	fds   []int
}

// Put closes descriptors in the background, as soon as there is a room.
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

// Waiting returns how many calls of Put wait for a room.
func (c *Closers) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue)
}

// next gives up an owner's room, and takes one for the first descriptors in the queue that may have it.
func (c *Closers) next(owner uint32) (w waiting, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.closing.Done() // after the next one has begun
	c.total--
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

// Wait waits until all descriptors are closed.
func (c *Closers) Wait() { c.closing.Wait() }

// nudged calls drop, which closes descriptors, and sends signals to its thread meanwhile. Linux stops waiting for a
// lingering connection as soon as a signal is pending for the thread that closes it (sk_stream_wait_close; vsock does
// the same). A close that ignores signals takes its time.
func nudged(drop func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	n := &nudger{thread: unix.Gettid()}
	n.start()
	drop()
	n.stop()
}

// nudger sends signals to a thread until it is stopped.
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

// again sends SIGURG. Go's runtime itself sends that to interrupt threads, so no other code reacts to it.
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
