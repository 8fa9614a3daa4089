package session

import (
	"errors"
	"io"

	"ipytracer/attribution"
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
