package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// messages is standard error as it is written to while tracing: a queue that somebody else prints. So a pipe that nobody reads, or a
// terminal that is stopped, stops nothing. What finds no room is left out and counted, and the count is printed in its place.
type messages struct {
	to io.Writer

	mu      sync.Mutex
	queue   []byte       // what waits to be printed
	skipped int          // lines left out since the end of the queue
	busy    bool         // something is being printed
	held    func(string) // is told what is not printed yet: the terminal shows something else; nil: it is printed
	moved   *sync.Cond
}

// messageRoom is how many bytes may wait.
const messageRoom = 256 << 10

// newMessages starts to print what is written to it. It prints until the program ends.
func newMessages(to io.Writer) *messages {
	m := &messages{to: to}
	m.moved = sync.NewCond(&m.mu)
	go m.print()
	return m
}

// Write queues what is written, at least whole lines of it, or leaves it out. It never waits and never fails.
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

// hold keeps what is written from now on, and what waits; nil: it is printed.
func (m *messages) hold(tell func(string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = tell
	m.moved.Broadcast()
}

func (m *messages) print() {
	for {
		next := m.next()
		_, _ = m.to.Write(next) // there is nobody to tell
		m.mu.Lock()
		m.busy = false
		m.moved.Broadcast()
		m.mu.Unlock()
	}
}

// next waits for something to print and takes it off the queue.
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

// drain waits until everything is printed, as long as it goes on: one that does not read for a while keeps nobody.
func (m *messages) drain(patience time.Duration) {
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
