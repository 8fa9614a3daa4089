// Package session runs one session of the tracer for a command: it attaches, records, answers notebooks, looks at
// objects in the end, and prints the report.
package session

import (
	"os"
	"time"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/output"
	"ipytracer/event"
	"ipytracer/internal/companion"
	"ipytracer/internal/host/invoker"
	"ipytracer/model"
	"ipytracer/tracer"
)

// consumer processes a session's events: for a report, or for an audit.
type consumer interface {
	Add(event.Event)
	Finished() []model.Window
}

// Screen shows a session while it runs, or prints it once.
type Screen interface {
	Begin() error
	End()
	// Update shows what is new, if it is time. It fails with an error that ends the session.
	Update() error
	// Closed tells it of windows that are over.
	Closed([]model.Window)
	// Terminal returns the descriptor of the terminal; false without one.
	Terminal() (int, bool)
}

// Session is a trace that becomes a report.
type Session struct {
	*output.Document
	Options  *Options
	Source   event.Source
	Tracker  consumer
	sign     *readySign // nil without, and once it was given
	record   recordFile
	Live     bool   // cells are printed as they end
	View     Screen // nil unless a screen shows the session
	Last     *lastLook
	Running  *tracer.Session // the source, if it is live
	thrift   thrift
	hub      *companion.Hub        // nil if notebooks get no answers
	answers  *answers              // likewise
	findings *attribution.Findings // of an audit, nil unless the report has leaks, too
	// unsettled: a boundary has come since the last lull.
	unsettled bool
}

// New checks whether the report can be written to its place.
func New(o *Options, c console.Console, tracker consumer) (*Session, error) {
	d, err := output.NewDocument(&o.Options, c)
	if err != nil {
		return nil, err
	}
	d.Beside = o.Record
	return &Session{
		Document: d, Options: o, Tracker: tracker, Live: !o.Quiet, Last: newLastLook(c),
		record: recordFile{console: c, noSource: o.NoSource},
	}, nil
}

// Close gives up files that were not completed.
func (s *Session) Close() {
	if s.sign != nil {
		s.sign.Discard()
	}
	if s.record.file != nil {
		s.record.file.Discard()
	}
	s.Document.Close()
}

// prepare opens the output files before tracing begins: a bad path costs nothing then.
func (s *Session) prepare() (err error) {
	if s.Options.ReadyFile != "" {
		if s.sign, err = newReadySign(s.Rights, s.Options.ReadyFile); err != nil {
			return err
		}
		s.Console.Signals.RemoveOnExit(s.sign)
	}
	if s.Options.Record != "" {
		s.record.file, err = invoker.CreateRecording(s.Rights, s.Options.Record, invoker.RecordingOptions{
			Version: s.Console.Version, Force: s.Options.Force,
		})
		if err == nil {
			s.Console.Signals.RemoveOnExit(s.record.file)
		}
	}
	s.Console.Signals.ExpectReport()
	s.Console.Signals.OnSecondInterrupt(s.Last.cutShort)
	return err
}

// remains returns the tasks of the program besides tracing, from its first look into the target on.
func (s *Session) remains() *tracer.Remains {
	_, _ = time.Now().Zone() // the time zone is read while files can be
	r := &tracer.Remains{Files: true, Folders: []string{os.TempDir()}, User: s.Who.Heir()}
	if s.View != nil {
		if fd, ok := s.View.Terminal(); ok {
			r.Terminals = append(r.Terminals, fd)
		}
	}
	files := []*invoker.File{s.To.File}
	if s.sign != nil {
		files = append(files, s.sign.file)
	}
	if s.record.file != nil {
		files = append(files, s.record.file.Place())
	}
	for _, f := range files {
		if f != nil {
			r.Folders = append(r.Folders, f.Folder())
		}
	}
	r.Overrides = output.Override(files...)
	return r
}

// ready gives the recording its name, and signals that every probe is in.
func (s *Session) ready() error {
	if s.record.file != nil {
		if err := s.record.file.Keep(); err != nil {
			return err
		}
	}
	if s.sign == nil {
		return nil
	}
	if err := s.sign.give(); err != nil {
		return err
	}
	s.sign = nil
	return nil
}
