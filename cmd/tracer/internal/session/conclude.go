package session

import (
	"context"
	"errors"
	"io"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/report/export"
	"ipytracer/model"
	"ipytracer/tracer"
)

// errIncomplete says that a session's report is printed, but its recording is not complete.
var errIncomplete = console.Errorf(console.Failed, "the report is printed, but something went wrong on the way")

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

// Ended returns an error if the recording has failed, or if the session has ended by itself.
func (s *Session) Ended() error {
	if s.record.failure != nil {
		return errIncomplete
	}
	if why := tracer.EndedEarly(s.Running); why != "" {
		return endedEarlyError(why + "; what it has seen is in the report")
	}
	return nil
}

// asText prints the report as text on standard error, because the requested format would be empty: the session cannot
// be repeated. why is the error of that format.
func (s *Session) asText(tracker *attribution.Tracker, why error) error {
	to := s.Console.Drain() // messages would leave out long texts
	o := s.Options.Options
	o.Format = "text"
	r := tracker.Stream()
	s.AnnounceSize(r)
	if err := o.Print(to, r, nil); err != nil {
		return errors.Join(why, err)
	}
	return console.Elsewhere(why, "above, as text on standard error")
}

// endedEarlyError says why a session has ended by itself. Its report is printed.
type endedEarlyError string

func (e endedEarlyError) Error() string { return string(e) }

// printReport prints a report, or the part that was not printed before the last look.
func (s *Session) printReport(w io.Writer, r *model.Report, audit *model.Audit) error {
	if w != io.Writer(s.To) || s.Last.printed == nil {
		return s.Options.Print(w, r, audit)
	}
	if err := s.Last.wait(); err != nil {
		return err
	}
	return s.Options.Rest(w, r, s.Last.first)
}

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
