package tracer

import (
	"context"
	"io"
	"slices"
	"time"

	"ipytracer/event"
)

// begin puts the Start event in front of everything.
func (s *Session) begin() {
	s.queue = append([]event.Event{&event.Start{
		Host: thisHost(s.options.Version), Processes: s.starts, Meters: s.meterSources(), Command: s.options.Command,
	}}, s.queue...)
}

// Next returns the next event; it waits for one. When ctx ends, or the last target has, it draws the last
// boundaries, hands out what is left, with [Options.Settle] an *event.Settled once every figure is known, then an *event.Finish, then io.EOF.
func (s *Session) Next(ctx context.Context) (event.Event, error) {
	for !s.Pending() {
		if s.end.over {
			return nil, io.EOF
		}
		s.queue, s.next = compact(s.queue, s.next)
		if err := s.advance(ctx); err != nil {
			return nil, err
		}
	}
	e := s.queue[s.next]
	s.queue[s.next] = nil
	s.next++
	return e, nil
}

// compact moves what is left of a queue to its front, where that is less than half. One event that is held each time must not keep the room of
// those before it.
func compact(queue []event.Event, next int) ([]event.Event, int) {
	if next <= len(queue)/2 {
		return queue, next
	}
	n := copy(queue, queue[next:])
	clear(queue[n:])
	return queue[:n], 0
}

// Pending says whether Next would return at once.
func (s *Session) Pending() bool { return s.next < len(s.queue) && !s.isHeld() }

// maxHeld is how many events wait behind a native stack without names at most.
const maxHeld = 1 << 16

// isHeld says whether the next event waits for its names. Where too many wait behind it, it waits for them
// itself, up to namingPatience.
func (s *Session) isHeld() bool {
	held := s.natives.naming.holds(s.queue[s.next])
	if held && len(s.queue)-s.next > maxHeld {
		s.natives.naming.wait(namingPatience)
		held = false
	}
	return held
}

// tick is how often a session looks around when nothing wakes it.
const tick = time.Second

func (s *Session) advance(ctx context.Context) error {
	if ctx.Err() != nil && s.stopped == "" {
		s.stopped = context.Cause(ctx).Error()
	}
	if s.stopped == "" && !slices.ContainsFunc(s.targets, func(t *target) bool { return t.isRoot() && !t.gone }) {
		s.stopped = "the target ended"
	}
	if s.stopped != "" {
		return s.wind()
	}
	wake := context.AfterFunc(ctx, func() { _ = s.ledger.Wake() })
	defer wake()
	if err := s.ledger.Poll(s.patience(), s); err != nil {
		return err
	}
	return s.settle()
}

// patience is until when the session waits for a record.
func (s *Session) patience() time.Time {
	until := time.Now().Add(tick)
	if s.impatient() {
		until = time.Now().Add(betweenLooks)
	}
	if s.glances.every > 0 {
		until = sooner(until, s.glances.due())
	}
	until = sooner(until, s.allowance.due())
	for _, t := range s.targets {
		if !t.gone && t.python != nil {
			until = sooner(until, t.due())
		}
	}
	return until
}

// settle does what cannot be done while records are being read.
func (s *Session) settle() error {
	s.queue = append(s.queue, s.early.found()...)
	s.targets = slices.DeleteFunc(s.targets, func(t *target) bool {
		if t.child && t.gone {
			_ = t.close()
		}
		return t.child && t.gone
	})
	for _, t := range s.targets {
		if !t.gone && t.python == nil && t.patience > 0 && time.Since(t.looked) >= betweenLooks { // records may come much faster
			s.look(t)
		}
		if !t.gone && t.python != nil && !t.python.complete() && t.python.learning.isDue() {
			s.learn(t)
		}
		if !t.gone && t.python != nil {
			s.settleInstruments(t)
		}
		if !t.gone && t.unlisted {
			s.relist(t)
		}
	}
	s.watches.look()
	s.allowance.refresh()
	s.budget.stepDown(s.targets)
	s.searches.takeIn(s.targets, &s.budget)
	s.budget.stepUp(s.targets)
	if err := s.glances.draw(s.ledger, s.targets); err != nil {
		return err
	}
	return s.budget.prices.settle()
}
