package session

import (
	"context"
	"errors"
	"fmt"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/internal/host/process"
	"ipytracer/internal/words"
	"ipytracer/tracer"
)

// Trace traces processes until the context ends or they do.
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

// Begin starts a session by a function, and signals that every probe is in place. If that fails, it returns the session
// with the error.
func (s *Session) Begin(
	options tracer.Options, start func(tracer.Options) (*tracer.Session, error),
) (*tracer.Session, error) {
	if err := s.prepare(); err != nil {
		return nil, err
	}
	options.Confine = s.remains()
	options.Settle, options.Looking = true, s.Last.Within
	live, err := start(options)
	if err != nil {
		return nil, err
	}
	s.Source, s.Running, s.Once = live, live, true
	return live, s.ready()
}

// sayLeftOut reports that there were more kernels than a session traces.
func sayLeftOut(c console.Console, live *tracer.Session) {
	if why := tracer.LeftOut(live); why != "" {
		c.Say("%s", why)
	}
}

// WarnHeap prints the cost of --heap to the target.
func WarnHeap(c console.Console, live *tracer.Session) {
	if cost := live.HeapCost(); cost > 0 {
		c.Say("--heap: each malloc and free together cost the target about %.1f µs more here, "+
			"and their lines 0.4 µs a call on the stack",
			float64(cost.Nanoseconds())/1000)
	}
}

var errDuration = errors.New("the duration was over")

// Limited returns a text with the limit of a process.
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
			"or one that runs has set it; 'sudo tracer limit %d off' takes it away",
			l.PID, words.Bytes(l.Bytes), l.PID)
	}
	if quiet {
		return
	}
	for _, l := range live.Limited() {
		c.Say("--limit: %s; so may each process that it starts", Limited(l))
	}
}
