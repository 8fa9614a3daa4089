package tracer

import (
	"context"
	"io"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/tracer/internal/tracee"
)

// Next returns the next event and waits for one. When ctx or the last target has ended, it draws the last boundaries
// and hands out the remaining events. With [Options.Settle] an *event.Settled follows once every figure is known. The
// last results are an *event.Finish and io.EOF.
func (s *Session) Next(ctx context.Context) (event.Event, error) {
	for !s.Pending() {
		if s.end.over {
			return nil, io.EOF
		}
		s.queue.compact()
		if err := s.advance(ctx); err != nil {
			return nil, err
		}
	}
	return s.queue.take(), nil
}

// Pending reports whether Next would return at once.
func (s *Session) Pending() bool { return s.queue.waiting() > 0 && !s.queue.isHeld() }

// tick is the interval at which a session examines its targets when nothing wakes it. A session of [Follow] in which
// nothing happens waits for calmTick, because tracing idle kernels must cost next to nothing.
const tick, calmTick = time.Second, 5 * time.Second

func (s *Session) advance(ctx context.Context) error {
	if ctx.Err() != nil && s.end.stopped == "" {
		s.end.stopped = context.Cause(ctx).Error()
	}
	if s.end.stopped == "" && !s.joining.open && !s.targets.HaveRoot() {
		s.end.stopped = "the target ended"
	}
	if s.end.stopped != "" {
		return s.wind()
	}
	wake := context.AfterFunc(ctx, func() {
		s.fs.Helper.Hurry(askedAtTheEnd)
		_ = s.ledger.Wake()
	})
	defer wake()
	before := s.ledger.Received()
	if err := s.ledger.Poll(s.patience(), &s.intake); err != nil {
		return err
	}
	s.joining.calm = s.joining.open && s.ledger.Received() == before
	return s.settle()
}

// patience returns the time until which the session waits for a record: the earliest time at which other work is due.
func (s *Session) patience() time.Time {
	until := time.Now().Add(tick)
	if s.joining.calm && !s.targets.IsEnding() && !s.budget.AnyPaused() {
		until = time.Now().Add(calmTick)
	}
	if s.targets.Impatient() {
		until = time.Now().Add(tracee.BetweenLooks)
	}
	if s.Looks.glances.every > 0 {
		until = tracee.Sooner(until, s.Looks.glances.due())
	}
	until = tracee.Sooner(until, s.allowance.due())
	for _, t := range s.targets.All {
		if !t.Gone && t.Python != nil {
			until = tracee.Sooner(until, t.Due())
		}
	}
	return until
}

// settle does the work that must not be done while records are read.
func (s *Session) settle() error {
	s.queue.add(s.Looks.found()...)
	s.targets.All = slices.DeleteFunc(s.targets.All, func(t *tracee.Target) bool {
		if t.Child && t.Gone {
			_ = t.Close()
		}
		return t.Child && t.Gone
	})
	for _, t := range s.targets.All {
		// settle may be called much more often, as records come
		if !t.Gone && t.Python == nil && t.Patience > 0 && time.Since(t.Looked) >= tracee.BetweenLooks {
			s.examiner.look(t)
		}
		if !t.Gone && t.Python != nil && !t.Python.Complete() && t.Python.Learning.IsDue() {
			s.examiner.learn(t)
		}
		if !t.Gone && t.Python != nil {
			s.examiner.settleInstruments(t)
		}
		if !t.Gone && t.Mappings.Stale && t.Mappings.Rest.IsOver() {
			s.examiner.relist(t)
		}
	}
	if s.joining.open {
		s.releaseEnded()
		removeLeaving(s)
		s.joinNext()
		s.joining.announce(s.Births)
	}
	s.watches.Look(s.joining.calm)
	s.allowance.refresh(s.joining.calm)
	s.budget.TakeOut(s.targets.All)
	s.budget.Searches.TakeIn(s.targets.All, s.budget.Roots)
	s.budget.Resume(s.targets.All)
	if err := s.Looks.glances.draw(s.ledger, s.targets.All); err != nil {
		return err
	}
	return s.budget.Prices.Settle()
}

// meterSources names for each meter the probe that serves it on this kernel.
func (s *Session) meterSources() []event.MeterSource {
	sources := MeterSources(s.ledger.Capabilities(), s.targets.Threads())
	for _, m := range RequestedSources() {
		if m.Meter == event.Heap && s.options.Heap {
			sources = append(sources, m)
		}
	}
	return sources
}
