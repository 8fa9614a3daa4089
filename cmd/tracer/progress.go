package main

import (
	"io"
	"os"
	"sync"
	"time"
)

// patience is the time before progress is shown, so that quick steps do not flicker.
const patience = 300 * time.Millisecond

// progress shows on a terminal that work goes on, on a line that disappears at its end. The zero value shows nothing.
type progress struct {
	mu    sync.Mutex
	to    io.Writer // nil: no display
	doing string
	timer *time.Timer
	shown bool
	over  bool
}

// startProgress names the work in progress, once it takes a while.
func startProgress(w io.Writer, quiet bool, doing string) *progress {
	p := &progress{}
	p.begin(w, quiet, doing)
	p.start()
	return p
}

// begin sets the name of the work, and the place at which it is shown.
func (p *progress) begin(w io.Writer, quiet bool, doing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := terminal(w); ok && !quiet && os.Getenv("TERM") != "dumb" {
		p.to, p.doing = w, doing
	}
}

// start shows the line after a while from now on, unless the work is over by then.
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

// stop removes the line. It may be called more than once.
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
