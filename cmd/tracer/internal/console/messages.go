package console

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// messages is standard error as a queue that another goroutine prints, so that a pipe that nobody reads, or a stopped
// terminal, does not stop the program. It leaves out lines without room, and prints their number instead.
type messages struct {
	to io.Writer

	mu       sync.Mutex
	queue    []byte       // unprinted text
	skipped  int          // lines left out since the end of the queue
	busy     bool         // text is being printed
	receiver func(string) // gets the lines while they must not be printed; nil: they are printed
	changed  *sync.Cond   // of any field
}

// messageRoom is the most bytes in the queue.
const messageRoom = 256 << 10

// NewMessages returns an empty queue, which a goroutine prints to to until the program ends.
func NewMessages(to io.Writer) *messages {
	m := &messages{to: to}
	m.changed = sync.NewCond(&m.mu)
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
	if m.receiver != nil {
		m.receiver(strings.TrimSpace(string(p)))
	}
	m.changed.Broadcast()
	return len(p), nil
}

// hold stops printing, and passes each line from now on to tell. With nil, the lines are printed.
func (m *messages) hold(tell func(string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receiver = tell
	m.changed.Broadcast()
}

func (m *messages) print() {
	for {
		next := m.next()
		_, _ = m.to.Write(next) // an error cannot be reported
		m.mu.Lock()
		m.busy = false
		m.changed.Broadcast()
		m.mu.Unlock()
	}
}

// next waits for text to print and takes it off the queue.
func (m *messages) next() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.receiver != nil || len(m.queue) == 0 && m.skipped == 0 {
		m.changed.Wait()
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

// Drain waits until everything is printed, but no longer than patience.
func (m *messages) Drain(patience time.Duration) {
	done := make(chan struct{})
	go func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for m.busy || len(m.queue) > 0 || m.skipped > 0 {
			m.changed.Wait()
		}
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(patience):
	}
}
