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
	mu    sync.Mutex
	to    io.Writer // nil: nothing is shown
	doing string
	timer *time.Timer
	shown bool
	over  bool
}

// startProgress says what is going on, if that takes a while.
func startProgress(w io.Writer, quiet bool, doing string) *progress {
	p := &progress{}
	p.begin(w, quiet, doing)
	p.start()
	return p
}

// begin says what will be going on, and where that is to be shown.
func (p *progress) begin(w io.Writer, quiet bool, doing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := terminal(w); ok && !quiet && os.Getenv("TERM") != "dumb" {
		p.to, p.doing = w, doing
	}
}

// start has it shown if it takes a while from now on, unless it is over already.
func (p *progress) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.to == nil || p.over {
		return
	}
	p.timer = time.AfterFunc(patience, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.over {
			p.shown = true
			_, _ = io.WriteString(p.to, p.doing+" …")
		}
	})
}

// stop takes the line away. It may be called more than once.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
	if p.shown && !p.over {
		_, _ = io.WriteString(p.to, "\r\x1b[K")
	}
	p.over = true
}
