package tracer

import (
	"errors"
	"time"

	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/tracee"
)

// glances are boundaries at which nothing happens. They serve a viewer of the running session: open windows have
// figures up to the last glance.
type glances struct {
	every time.Duration // 0: never
	last  time.Time     // when the last glance was drawn
	cost  time.Duration // of drawing it
}

// glanceShare is the reciprocal of the share of time that drawing glances may take: for each, the kernel goes through
// all tasks of the machine.
const glanceShare = 100

// due returns when the next glance is to be drawn.
func (g *glances) due() time.Time {
	return g.last.Add(max(g.every, glanceShare*g.cost))
}

// draw draws a glance for each running target, if it is time.
func (g *glances) draw(kernel tracee.Processes, targets []*tracee.Target) error {
	if g.every <= 0 || time.Now().Before(g.due()) {
		return nil
	}
	g.last = time.Now()
	for _, t := range targets {
		if !t.IsRoot() || t.Gone {
			continue
		}
		if err := kernel.Look(t.PID); err != nil && !errors.Is(err, ledger.ErrNoProcess) &&
			!errors.Is(err, ledger.ErrFull) {
			return err
		}
	}
	g.cost = time.Since(g.last)
	return nil
}
