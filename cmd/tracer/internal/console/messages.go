package console

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// messages is standard error while tracing: a queue that another goroutine prints. So an unread pipe, or a stopped
// terminal, stops nothing. Lines for which there is no room are left out, and their number is printed in their place.
type messages struct {
	to io.Writer

	mu      sync.Mutex
	queue   []byte       // unprinted text
	skipped int          // lines left out since the end of the queue
	busy    bool         // a print is under way
	held    func(string) // receives lines while the terminal shows something else; nil: they are printed
	moved   *sync.Cond
}

// messageRoom is the most bytes that may wait.
const messageRoom = 256 << 10

// NewMessages returns a queue. A goroutine prints the queue until the program ends.
func NewMessages(to io.Writer) *messages {
	m := &messages{to: to}
	m.moved = sync.NewCond(&m.mu)
	go m.print()
	return m
}

// Write queues whole lines, or leaves them out. It never waits and never fails.
func (m *messages) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.skipped > 0 || len(m.queue)+len(p) > messageRoom {
		m.skipped += max(1, bytes.Count(p, []byte("\n")))
		return len(p), nil
	}
	m.queue = append(m.queue, p...)
	if m.held != nil {
		m.held(strings.TrimSpace(string(p)))
	}
	m.moved.Broadcast()
	return len(p), nil
}

// hold passes the waiting lines, and all lines from now on, to a function. If the function is nil, the lines are
// printed.
func (m *messages) hold(tell func(string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = tell
	m.moved.Broadcast()
}

func (m *messages) print() {
	for {
		next := m.next()
		_, _ = m.to.Write(next) // an error cannot be reported
		m.mu.Lock()
		m.busy = false
		m.moved.Broadcast()
		m.mu.Unlock()
	}
}

// next waits for text to print and takes it off the queue.
func (m *messages) next() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.held != nil || len(m.queue) == 0 && m.skipped == 0 {
		m.moved.Wait()
	}
	next := m.queue
	m.queue = nil
	if m.skipped > 0 {
		next = fmt.Appendf(next, "tracer: %d lines were left out here: standard error was not read\n", m.skipped)
		m.skipped = 0
	}
	m.busy = true
	return next
}

// Drain waits until everything is printed, but only as long as printing makes progress: a reader that stops reading
// does not hold it up.
func (m *messages) Drain(patience time.Duration) {
	done := make(chan struct{})
	go func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for m.busy || len(m.queue) > 0 || m.skipped > 0 {
			m.moved.Wait()
		}
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(patience):
	}
}
