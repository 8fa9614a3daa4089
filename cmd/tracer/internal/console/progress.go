package console

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Patience is the time before progress is shown, so that quick steps do not flicker.
const Patience = 300 * time.Millisecond

// Progress shows a line on a terminal while work goes on. The zero value shows nothing.
type Progress struct {
	mu      sync.Mutex
	to      io.Writer // nil: no display
	doing   string
	began   time.Time
	timer   *time.Timer
	shown   bool
	stopped bool
}

// StartProgress shows the name of the work, if the work takes longer than [Patience].
func StartProgress(w io.Writer, quiet bool, doing string) *Progress {
	p := &Progress{}
	p.Begin(w, quiet, doing)
	p.Start()
	return p
}

// Begin sets the name of the work, and where to show it. [Progress.Start] shows it.
func (p *Progress) Begin(w io.Writer, quiet bool, doing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := Terminal(w); ok && !quiet && os.Getenv("TERM") != "dumb" {
		p.to, p.doing = w, doing
	}
}

// Start shows the line [Patience] from now, unless the work is over by then.
func (p *Progress) Start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.to == nil || p.stopped {
		return
	}
	p.began = time.Now()
	p.timer = time.AfterFunc(Patience, p.show)
}

// show writes the line. After that it adds each second how long the work has taken.
func (p *Progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	line, took := p.doing+" …", time.Since(p.began)
	if p.shown {
		line = fmt.Sprintf("\r%s %d s", line, int(took.Seconds()))
	}
	p.shown = true
	_, _ = io.WriteString(p.to, line)
	p.timer.Reset(time.Second - took%time.Second)
}

// Stop removes the line. It may be called more than once.
func (p *Progress) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
	if p.shown && !p.stopped {
		_, _ = io.WriteString(p.to, "\r\x1b[K")
	}
	p.stopped = true
}
