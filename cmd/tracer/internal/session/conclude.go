package session

import (
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
