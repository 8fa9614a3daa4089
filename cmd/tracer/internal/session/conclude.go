package session

import (
	"errors"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/internal/report/export"
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
	if s.trouble != nil {
		return errIncomplete
	}
	return s.EndedEarly()
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
