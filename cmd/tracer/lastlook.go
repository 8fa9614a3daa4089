package main

import (
	"context"
	"fmt"
	"io"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/internal/report/text"
	"ipytracer/model"
)

// A finished session has its figures at once. Then a look at the objects of its processes follows, which may take
// seconds. A terminal shows the finished part of the report before that look, and the look's progress during it. All
// other output comes as a whole, after it.

// lastLook is the end of a session on a terminal.
type lastLook struct {
	within context.Context // done when the user ends it
	end    context.CancelFunc
	words  io.Writer
	doing  progress
	first  string        // the part of the report that was printed before the look; ""
	shown  chan struct{} // closed once it is printed, or cannot be; nil if nothing is printed before the look
	err    error         // of the print
}

func newLastLook(words io.Writer) *lastLook {
	l := &lastLook{words: words}
	l.within, l.end = context.WithCancel(context.Background())
	return l
}

// enoughSaid is the message when the user ends the look.
const enoughSaid = `tracer: the kernel's objects are not looked at any further: ` +
	`the report comes without the holders of memory and without variables; ` +
	`Ctrl-C once more, or Ctrl-\, ends the tracer without it`

// cutShort ends the look, or keeps it from beginning. It never waits.
func (l *lastLook) cutShort() {
	l.doing.stop()
	fmt.Fprintln(l.words, enoughSaid)
	l.end()
}

// settled handles the event after which every figure is known, and prints the finished part of the report. It reports
// whether the event was a [event.Settled].
func (s *session) settled(e event.Event) bool {
	now, ok := e.(*event.Settled)
	if !ok {
		return false
	}
	s.lull()
	s.take(now)
	s.flush()
	s.print()
	s.last.doing.begin(s.console.err, s.options.Quiet || s.options.Verbose, lookingAt(now))
	tracker, ok := s.tracker.(*attribution.Tracker)
	if !ok || !showsFirst(s) {
		s.last.doing.start()
		return true
	}
	if s.view != nil {
		s.view.end()
		s.view = nil
	}
	first, err := s.options.first(s.to.Writer, tracker.Stream())
	if err != nil { // the whole report will have the error
		s.last.doing.start()
		return true
	}
	s.last.show(s.to, first)
	return true
}

// showsFirst reports whether a session's report goes to a terminal, to be read from its first screen on.
func showsFirst(s *session) bool {
	if s.view != nil && (s.view.display == nil || s.options.Quiet) {
		return false
	}
	_, is := terminal(s.to.Writer)
	return is && s.to.path == "" && s.options.Format == "text" && !s.options.Full
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
func (l *lastLook) show(to *destination, first string) {
	l.first, l.shown = first, make(chan struct{})
	go func() {
		defer close(l.shown)
		l.drain()
		if _, l.err = io.WriteString(to, first); l.err == nil {
			l.doing.start()
		}
	}()
}

// drain waits until earlier messages are on the terminal.
func (l *lastLook) drain() {
	if m, ok := l.words.(*messages); ok {
		m.drain(lastWords)
	}
}

// isOver removes the line with the progress of the look.
func (l *lastLook) isOver(ends *endings) {
	ends.lookEnds(nil)
	l.doing.stop()
}

// wait waits until the first part of the report is printed. It fails if it could not be.
func (l *lastLook) wait() error {
	<-l.shown
	l.drain()
	return l.err
}

// printReport prints a report, or its unprinted part.
func (s *session) printReport(w io.Writer, r *model.Report) error {
	if w != io.Writer(s.to) || s.last.shown == nil {
		return s.options.Print(w, r)
	}
	if err := s.last.wait(); err != nil {
		return err
	}
	return s.options.rest(w, r, s.last.first)
}

// first returns the first part of the report as text for a terminal.
func (o *OutputOptions) first(w io.Writer, r *model.Report) (string, error) {
	return text.First(o.wanted(r), o.textOf(w, r))
}

// rest prints the remaining part.
func (o *OutputOptions) rest(w io.Writer, r *model.Report, first string) error {
	return text.Rest(w, o.wanted(r), o.textOf(w, r), first)
}
