package main

import (
	"context"
	"fmt"
	"io"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/model"
	"ipytracer/report/text"
)

// A session that is over has its figures at once, and then a look at the objects of what it has traced, which may take seconds. A terminal shows what of
// the report is known before that look, and meanwhile what is being looked at. All other output comes as a whole, after it.

// lastLook is the end of a session as somebody at a terminal sees it.
type lastLook struct {
	within context.Context // done when the user has had enough
	end    context.CancelFunc
	words  io.Writer
	doing  progress
	first  string        // of the report, that was printed before the look; ""
	shown  chan struct{} // closed once it is, or cannot be; nil where nothing is printed before the look
	err    error         // of printing it
}

func newLastLook(words io.Writer) *lastLook {
	l := &lastLook{words: words}
	l.within, l.end = context.WithCancel(context.Background())
	return l
}

// enoughSaid is the answer to who ends the look.
const enoughSaid = `tracer: the kernel's objects are not looked at any further: the report comes without the holders of memory and without variables; Ctrl-C once more, or Ctrl-\, ends the tracer without it`

// cutShort ends the look, or has it not begin. It never waits.
func (l *lastLook) cutShort() {
	l.doing.stop()
	fmt.Fprintln(l.words, enoughSaid)
	l.end()
}

// settled takes in that every figure is known: what can be shown of the report is. It says whether the event is that.
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
	if err != nil { // the whole report says it
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

// lookingAt says what is being looked at, on a line of 80 cells.
func lookingAt(e *event.Settled) string {
	if e.Holders {
		return "looking at objects: holders of memory, variables (Ctrl-C ends this)"
	}
	return "looking at objects: variables (Ctrl-C ends this)"
}

// show prints the first part of a report on a goroutine of its own: probes are still in place, and a terminal may be stopped.
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

// drain has what was said so far on the terminal before what comes next.
func (l *lastLook) drain() {
	if m, ok := l.words.(*messages); ok {
		m.drain(lastWords)
	}
}

// isOver takes the line away that says what is being looked at.
func (l *lastLook) isOver(ends *endings) {
	ends.lookEnds(nil)
	l.doing.stop()
}

// wait waits until the first part of the report is printed. It fails where it could not be.
func (l *lastLook) wait() error {
	<-l.shown
	l.drain()
	return l.err
}

// printReport prints a report, or what is left of it to print.
func (s *session) printReport(w io.Writer, r *model.Report) error {
	if w != io.Writer(s.to) || s.last.shown == nil {
		return s.options.Print(w, r)
	}
	if err := s.last.wait(); err != nil {
		return err
	}
	return s.options.rest(w, r, s.last.first)
}

// first is the first part of the report as text for a terminal.
func (o *OutputOptions) first(w io.Writer, r *model.Report) (string, error) {
	return text.First(o.wanted(r), o.textOf(w, r))
}

// rest prints what comes after it.
func (o *OutputOptions) rest(w io.Writer, r *model.Report, first string) error {
	return text.Rest(w, o.wanted(r), o.textOf(w, r), first)
}
