package session

import (
	"context"
	"errors"
	"fmt"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/internal/host/process"
	"ipytracer/internal/words"
	"ipytracer/model"
	"ipytracer/tracer"
)

// Trace traces processes until the context ends or they do.
func (s *Session) Trace(ctx context.Context, who []process.Identity, options tracer.Options, does string) error {
	live, err := Begin(ctx, s, who, options)
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

// Begin attaches to processes, and signals that every probe is in place.
func Begin(ctx context.Context, s *Session, who []process.Identity, options tracer.Options) (*tracer.Session, error) {
	if err := s.Prepare(); err != nil {
		return nil, err
	}
	s.Console.Signals.IgnoreStops()
	progress := console.StartProgress(s.Console.Err, s.Options.Quiet, "attaching")
	options.Confine = s.Remains()
	options.Settle, options.Looking = true, s.Last.Within
	live, err := tracer.Attach(ctx, who, options)
	progress.Stop()
	if err != nil {
		return nil, err
	}
	s.Source, s.Running, s.Once = live, live, true
	if err := s.Ready(); err != nil {
		_ = live.Close()
		return nil, err
	}
	return live, nil
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

// Slower names the probes at more expensive places than usual, and their cost so far, in some words.
func Slower(running *tracer.Session, says func(*model.Probe) string) (all []string) {
	for _, p := range tracer.DearProbes(running) {
		one := attribution.Probe(p)
		if text := says(&one); text != "" {
			all = append(all, text)
		}
	}
	return all
}
