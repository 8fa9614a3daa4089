package session

import (
	"context"
	"io"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/output"
	"ipytracer/event"
	"ipytracer/model"
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

// settled handles the event after which every figure is known, and prints the finished part of the report. It reports
// whether the event was a [event.Settled].
func (s *Session) settled(e event.Event) bool {
	now, ok := e.(*event.Settled)
	if !ok {
		return false
	}
	s.lull()
	s.take(now)
	s.flush()
	s.print()
	s.Last.doing.Begin(s.Console.Err, s.Options.Quiet || s.Options.Verbose, lookingAt(now))
	tracker, ok := s.Tracker.(*attribution.Tracker)
	if !ok || !showsFirst(s) {
		s.Last.doing.Start()
		return true
	}
	if s.View != nil {
		s.View.End()
		s.View = nil
	}
	first, err := s.Options.First(s.To.Writer, tracker.Stream())
	if err != nil { // the whole report will have the error
		s.Last.doing.Start()
		return true
	}
	s.Last.show(s.To, first)
	return true
}

// showsFirst reports whether a session's report goes to a terminal, to be read from its first screen on.
func showsFirst(s *Session) bool {
	if s.View != nil {
		if _, ok := s.View.Terminal(); !ok || s.Options.Quiet {
			return false
		}
	}
	_, is := console.Terminal(s.To.Writer)
	return is && s.To.Path == "" && s.Options.Format == "text" && !s.Options.Full
}

// lookingAt describes the look, on a line of 80 cells.
func lookingAt(e *event.Settled) string {
	if e.Holders {
		return "looking at objects: holders of memory, variables (Ctrl-C ends this)"
	}
	return "looking at objects: variables (Ctrl-C ends this)"
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

// printReport prints a report, or its unprinted part.
func (s *Session) printReport(w io.Writer, r *model.Report, audit *model.Audit) error {
	if w != io.Writer(s.To) || s.Last.shown == nil {
		return s.Options.Print(w, r, audit)
	}
	if err := s.Last.wait(); err != nil {
		return err
	}
	return s.Options.Rest(w, r, s.Last.first)
}
