// Package session runs one session of the tracer for a command: it attaches, records, answers notebooks, looks at
// objects in the end, and prints the report.
package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/output"
	"ipytracer/event"
	"ipytracer/internal/companion"
	"ipytracer/internal/host/invoker"
	"ipytracer/internal/report/text"
	"ipytracer/internal/words"
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
	recorder *invoker.Recording
	trouble  error  // the recording failed; the trace went on
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
	return &Session{Document: d, Options: o, Tracker: tracker, Live: !o.Quiet, Last: newLastLook(c)}, nil
}

// Close gives up files that were not completed.
func (s *Session) Close() {
	s.abandon()
	s.Document.Close()
}

// Prepare opens the output files before tracing begins: a bad path costs nothing then.
func (s *Session) Prepare() (err error) {
	if s.Options.ReadyFile != "" {
		if s.sign, err = newReadySign(s.Rights, s.Options.ReadyFile); err != nil {
			return err
		}
		s.Console.Signals.RemoveOnExit(s.sign)
	}
	if s.Options.Record != "" {
		s.recorder, err = invoker.CreateRecording(s.Rights, s.Options.Record, invoker.RecordingOptions{
			Version: s.Console.Version, Force: s.Options.Force,
		})
		if err == nil {
			s.Console.Signals.RemoveOnExit(s.recorder)
		}
	}
	s.Console.Signals.ExpectReport()
	s.Console.Signals.OnSecondInterrupt(s.Last.cutShort)
	return err
}

// abandon gives up prepared files that were not completed.
func (s *Session) abandon() {
	if s.sign != nil {
		s.sign.Discard()
	}
	if s.recorder != nil {
		s.recorder.Discard()
	}
}

// sayOlder reports that a notebook's package is too old to get its figures. Any goroutine calls it.
func sayOlder(w io.Writer, pid int) {
	fmt.Fprintf(w, "tracer: the ipytracer package in process %d cannot be answered: it seems to be older than this "+
		"tracer; update it (pip install --upgrade ipytracer) and restart the kernel\n", pid)
}

// Listen answers notebooks from now on. findings are of the audit of the same session. report is the path of the coming
// report, "" if notebooks must not know it.
func (s *Session) Listen(tracker *attribution.Tracker, findings *attribution.Findings, report string) tracer.Companion {
	s.hub = companion.New(companion.Options{
		Version: s.Console.Version, Report: report, Who: text.Who, NoSource: s.Options.NoSource, Words: spoken(),
		Slower:     func() []string { return Slower(s.Running, words.ExpensiveProbesSoFar) },
		FreeOnGPUs: func() map[int]int64 { return tracer.FreeOnGPUs(s.Running) },
		Older:      func(pid int) { sayOlder(s.Console.Err, pid) },
	}, tracker)
	s.answers = &answers{session: s, reports: tracker}
	s.answers.findings.Store(findings)
	if s.Options.HasLeaks() {
		s.findings, s.answers.needed = findings, true
	}
	s.hub.Look(looker{s.answers})
	return s.hub
}

// Follow processes every event until the source ends.
func (s *Session) Follow(ctx context.Context, pending func() bool) error {
	defer s.Last.isOver()
	if s.answers != nil {
		defer context.AfterFunc(ctx, s.answers.giveUp)()
	}
	for {
		e, err := s.Source.Next(ctx)
		if errors.Is(err, io.EOF) {
			return s.closeRecording()
		}
		if err != nil {
			return errors.Join(err, s.closeRecording())
		}
		if !s.lookedAt(e) && !s.settled(e) {
			s.take(e)
		}
		s.Garbage.Pace()
		s.thrift.pace(s)
		if pending() {
			continue
		}
		s.lull()
		s.flush()
		s.print()
		if s.View != nil {
			if err := s.View.Update(); err != nil {
				return err
			}
		}
	}
}

// print concludes a finished session. Messages to standard error cannot end a session (see [messages]).
func (s *Session) print() {
	finished := s.Tracker.Finished()
	if s.hub != nil { // a notebook waits for its figures
		s.hub.Finished(finished)
		s.hub.Answer()
	}
	if s.View != nil {
		s.View.Closed(finished)
	}
	for _, w := range finished {
		if !s.Live {
			continue
		}
		if s.Options.NoSource {
			w.Source = ""
		}
		_ = text.Live(s.Console.Err, w, console.TextOptions(s.Console.Err))
	}
}

// Remains returns the tasks of the program besides tracing, from its first look into the target on.
func (s *Session) Remains() *tracer.Remains {
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
	if s.recorder != nil {
		files = append(files, s.recorder.Place())
	}
	for _, f := range files {
		if f != nil {
			r.Folders = append(r.Folders, f.Folder())
		}
	}
	r.Overrides = output.Override(files...)
	return r
}

// Ready gives the recording its name, and signals that every probe is in.
func (s *Session) Ready() error {
	if s.recorder != nil {
		if err := s.recorder.Keep(); err != nil {
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
