package session

import (
	"context"
	"io"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/output"
)

// A finished session has its figures at once. Then a look at the objects of its processes follows, which may take
// seconds. A terminal shows the finished part of the report before that look, and the look's progress during it. All
// other output comes as a whole, after it.

// lastLook is the end of a session on a terminal.
type lastLook struct {
	Within  context.Context // done when the user ends it
	end     context.CancelFunc
	console console.Console
	doing   console.Progress
	first   string        // the part of the report that was printed before the look; ""
	shown   chan struct{} // closed once it is printed, or cannot be; nil if nothing is printed before the look
	err     error         // of the print
}

func newLastLook(c console.Console) *lastLook {
	l := &lastLook{console: c}
	l.Within, l.end = context.WithCancel(context.Background())
	return l
}

// enoughSaid is the message when the user ends the look.
const enoughSaid = `the kernel's objects are not looked at any further: ` +
	`the report comes without the holders of memory and without variables; ` +
	`Ctrl-C once more, or Ctrl-\, ends the tracer without it`

// cutShort ends the look, or keeps it from beginning. It never waits.
func (l *lastLook) cutShort() {
	l.doing.Stop()
	l.console.Say(enoughSaid)
	l.end()
}

// show prints the first part of a report on a goroutine of its own: probes are still in place, and a terminal may be
// stopped.
func (l *lastLook) show(to *output.Destination, first string) {
	l.first, l.shown = first, make(chan struct{})
	go func() {
		defer close(l.shown)
		l.console.Drain()
		if _, l.err = io.WriteString(to, first); l.err == nil {
			l.doing.Start()
		}
	}()
}

// isOver removes the line with the progress of the look.
func (l *lastLook) isOver() {
	l.console.Signals.OnSecondInterrupt(nil)
	l.doing.Stop()
}

// wait waits until the first part of the report is printed. It fails if it could not be.
func (l *lastLook) wait() error {
	<-l.shown
	l.console.Drain()
	return l.err
}
