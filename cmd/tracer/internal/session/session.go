// Package session runs one session of the tracer for a command. It attaches, records, answers notebooks, looks at
// objects in the end, and prints the report.
package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/cmd/tracer/internal/output"
	"ipytracer/event"
	"ipytracer/internal/companion"
	"ipytracer/internal/host/invoker"
	"ipytracer/internal/host/process"
	"ipytracer/internal/words"
	"ipytracer/model"
	"ipytracer/tracer"
)

// consumer processes a session's events: it is an [attribution.Tracker] or an [attribution.Auditor].
type consumer interface {
	Add(event.Event)
	Finished() []model.Window
}

// Screen shows a session on a terminal while it runs, or prints one screen of it.
type Screen interface {
	Begin() error
	End()
	// Update shows what is new, if it is time. An error ends the session.
	Update() error
	// Closed takes in windows that have ended.
	Closed([]model.Window)
	// Terminal returns the descriptor of the terminal, and false if there is none.
	Terminal() (int, bool)
}

// Session follows a source of events, and makes a report of them.
type Session struct {
	*output.Document
	Options   *Options
	Source    event.Source
	Tracker   consumer
	readySign *readySign // the ready file; nil for none, and once it has appeared
	record    recordFile
	Live      bool   // print cells as they end
	View      Screen // nil unless a screen shows the session
	Last      *lastLook
	Running   *tracer.Session // the source, if it is live
	guard     memoryGuard
	hub       *companion.Hub        // nil if notebooks get no answers
	answers   *answers              // nil if notebooks get no answers
	findings  *attribution.Findings // of an audit; nil unless the report has the audit, too
	// unsettled: a boundary has come since the last lull.
	needsLull bool
}

// New returns a session without a source. It fails if the report cannot be written to its place.
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
	if s.readySign != nil {
		s.readySign.Discard()
	}
	if s.record.file != nil {
		s.record.file.Discard()
	}
	s.Document.Close()
}

// prepare opens the output files before tracing begins, so that a bad path is found first.
func (s *Session) prepare() (err error) {
	if s.Options.ReadyFile != "" {
		if s.readySign, err = newReadySign(s.Rights, s.Options.ReadyFile); err != nil {
			return err
		}
		s.Console.Signals.RemoveOnExit(s.readySign)
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

// confinement returns what this program still has to do besides tracing once the session looks into the target: the
// session gives up all rights for anything else.
func (s *Session) confinement() *tracer.Remains {
	_, _ = time.Now().Zone() // reads the file of the time zone, which cannot be opened later
	r := &tracer.Remains{Files: true, Folders: []string{os.TempDir()}, User: s.Who.Heir()}
	if s.View != nil {
		if fd, ok := s.View.Terminal(); ok {
			r.Terminals = append(r.Terminals, fd)
		}
	}
	files := []*invoker.File{s.To.File}
	if s.readySign != nil {
		files = append(files, s.readySign.file)
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

// ready makes the recording and the ready file appear: every probe is in place.
func (s *Session) ready() error {
	if s.record.file != nil {
		if err := s.record.file.Keep(); err != nil {
			return err
		}
	}
	if s.readySign == nil {
		return nil
	}
	if err := s.readySign.appear(); err != nil {
		return err
	}
	s.readySign = nil
	return nil
}

// Trace traces processes until they or the context end. does says what happens at the end, such as "prints the report".
func (s *Session) Trace(ctx context.Context, who []process.Identity, options tracer.Options, does string) error {
	live, err := s.Attach(ctx, who, options)
	if err != nil {
		return err
	}
	defer live.Close()
	SayLimits(s.Console, live, s.Options.Quiet)
	sayLeftOut(s.Console, live)
	if !s.Options.Quiet && does != "" {
		WarnHeap(s.Console, live)
		s.Console.Say("attached to %s; Ctrl-C detaches and %s", inventory.Describe(who), does)
	}
	if s.Options.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.Options.Duration, errDuration)
		defer cancel()
	}
	if s.View != nil {
		if err := s.View.Begin(); err != nil {
			return err
		}
		defer s.View.End()
	}
	return s.Follow(ctx, live.Pending)
}

// Attach attaches to processes, and signals that every probe is in place.
func (s *Session) Attach(
	ctx context.Context, who []process.Identity, options tracer.Options,
) (*tracer.Session, error) {
	live, err := s.Begin(options, func(options tracer.Options) (*tracer.Session, error) {
		s.Console.Signals.IgnoreStops()
		progress := console.StartProgress(s.Console.Err, s.Options.Quiet, "attaching")
		defer progress.Stop()
		return tracer.Attach(ctx, who, options)
	})
	if err != nil && live != nil {
		_ = live.Close()
	}
	return live, err
}

// Begin starts a session by calling start, and signals that every probe is in place. If that signal fails, Begin
// returns both the session and the error.
func (s *Session) Begin(
	options tracer.Options, start func(tracer.Options) (*tracer.Session, error),
) (*tracer.Session, error) {
	if err := s.prepare(); err != nil {
		return nil, err
	}
	options.Confine = s.confinement()
	options.Settle, options.Looking = true, s.Last.Within
	live, err := start(options)
	if err != nil {
		return nil, err
	}
	s.Source, s.Running, s.Once = live, live, true
	return live, s.ready()
}

// sayLeftOut reports the kernels that the session does not trace because there are too many.
func sayLeftOut(c console.Console, live *tracer.Session) {
	if why := tracer.LeftOut(live); why != "" {
		c.Say("%s", why)
	}
}

// WarnHeap reports what --heap costs the target.
func WarnHeap(c console.Console, live *tracer.Session) {
	if tracer.HeapCounted(live) {
		c.Say("--heap: the command counts malloc's blocks itself, which adds some 5 to 15 ns to a malloc and its free")
		return
	}
	if cost := live.HeapCost(); cost > 0 {
		c.Say("--heap: each malloc and free together cost the target about %.1f µs more here, "+
			"and their lines 0.4 µs a call on the stack", float64(cost.Nanoseconds())/1000)
	}
}

var errDuration = errors.New("the duration was over")

// Limited describes the limit of a process.
func Limited(l tracer.Limited) string {
	text := fmt.Sprintf("process %d may map %s", l.PID, words.Bytes(l.Bytes))
	if l.Why != "" {
		text += fmt.Sprintf(", which is safe below %q", l.Why)
	}
	return text
}

// SayLimits reports the limits that a session has set or found.
func SayLimits(c console.Console, live *tracer.Session, quiet bool) {
	for _, l := range live.LeftLimits() {
		c.Say("process %d may map %s only: a tracer that was killed has left that limit, "+
			"or one that runs has set it; 'sudo tracer limit %d off' takes it away", l.PID, words.Bytes(l.Bytes), l.PID)
	}
	if quiet {
		return
	}
	for _, l := range live.Limited() {
		c.Say("--limit: %s; so may each process that it starts", Limited(l))
	}
}
