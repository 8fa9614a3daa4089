package session

import (
	"context"
	"io"

	"ipytracer/cmd/tracer/internal/console"
)

// lastLook is the look at the objects of a session's processes when the session has ended. The session's figures are
// known before it, but it may take seconds. So a terminal shows the finished part of the report before the look, and
// the look's progress during it. Any other output comes as a whole after the look.
type lastLook struct {
	Within   context.Context // done when the user has ended the look
	end      context.CancelFunc
	console  console.Console
	progress console.Progress
	first    string        // the part of the report that is printed before the look
	printed  chan struct{} // closed once first is printed or printing has failed; nil without first
	err      error         // of printing first
}

func newLastLook(c console.Console) *lastLook {
	l := &lastLook{console: c}
	l.Within, l.end = context.WithCancel(context.Background())
	return l
}

// cutShortMessage is the message when the user ends the look.
const cutShortMessage = `the kernel's objects are not looked at any further: ` +
	`the report comes without the holders of memory and without variables; ` +
	`Ctrl-C once more, or Ctrl-\, ends the tracer without it`

// cutShort ends the look, or keeps it from beginning, without waiting.
func (l *lastLook) cutShort() {
	l.progress.Stop()
	l.console.Say(cutShortMessage)
	l.end()
}

// show prints the first part of a report on another goroutine, because a stopped terminal must not hold up the session:
// its probes are still in place.
func (l *lastLook) show(to *console.Destination, first string) {
	l.first, l.printed = first, make(chan struct{})
	go func() {
		defer close(l.printed)
		l.console.Drain()
		if _, l.err = io.WriteString(to, first); l.err == nil {
			l.progress.Start()
		}
	}()
}

// isOver removes the line with the progress of the look.
func (l *lastLook) isOver() {
	l.console.Signals.OnSecondInterrupt(nil)
	l.progress.Stop()
}

// wait waits until the first part of the report is printed, and returns the error of printing it.
func (l *lastLook) wait() error {
	<-l.printed
	l.console.Drain()
	return l.err
}
