package session

import (
	"context"
	"errors"
	"io"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/output"
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/internal/report/export"
	"ipytracer/model"
	"ipytracer/tracer"
)

// errIncomplete says that a session's report is printed, and its recording is not whole.
var errIncomplete = status.Errorf(status.Failed, "the report is printed, but something went wrong on the way")

// Conclude prints the report and returns an error with its exit status.
func (s *Session) Conclude(tracker *attribution.Tracker) error {
	r, err := s.Report(tracker, s.findings, s.printReport)
	if errors.Is(err, export.ErrNoGPU) {
		return s.asText(tracker, err)
	}
	if err == nil {
		err = s.Ended()
	}
	if err != nil {
		return err
	}
	return s.Judge(r)
}

// Ended returns an error where a session's recording failed, or where the session has ended by itself.
func (s *Session) Ended() error {
	if s.record.failure != nil {
		return errIncomplete
	}
	if why := tracer.EndedEarly(s.Running); why != "" {
		return endedEarlyError(why + "; what it has seen is in the report")
	}
	return nil
}

// asText prints a report as text on standard error: in the requested format it would be empty, and the session is over.
func (s *Session) asText(tracker *attribution.Tracker, why error) error {
	to := s.Console.Drain() // messages would leave out long texts
	o := s.Options.Options
	o.Format = "text"
	r := tracker.Stream()
	s.AnnounceSize(r)
	if err := o.Print(to, r, nil); err != nil {
		return errors.Join(why, err)
	}
	return status.Elsewhere(why, "above, as text on standard error")
}

// endedEarlyError says that a session has ended by itself, with its report.
type endedEarlyError string

func (e endedEarlyError) Error() string { return string(e) }

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
