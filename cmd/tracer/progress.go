package main

import (
	"io"
	"os"
	"sync"
	"time"
)

// patience is how long nothing is said of what goes on, so that what is quick does not flicker.
const patience = 300 * time.Millisecond

// progress shows on a terminal that something goes on, on a line that goes when it is over. The zero value shows nothing.
type progress struct {
	to    io.Writer
	timer *time.Timer

	mu    sync.Mutex
	shown bool
	over  bool
}

// startProgress says what is going on, if that takes a while.
func startProgress(w io.Writer, quiet bool, doing string) *progress {
	p := &progress{to: w}
	if _, ok := terminal(w); !ok || quiet || os.Getenv("TERM") == "dumb" {
		return p
	}
	p.timer = time.AfterFunc(patience, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.over {
			p.shown = true
			_, _ = io.WriteString(w, doing+" …")
		}
	})
	return p
}

// stop takes the line away. It may be called more than once.
func (p *progress) stop() {
	if p.timer == nil {
		return
	}
	p.timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown && !p.over {
		_, _ = io.WriteString(p.to, "\r\x1b[K")
	}
	p.over = true
}
