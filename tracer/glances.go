package tracer

import (
	"errors"
	"time"

	"ipytracer/tracer/ledger"
)

// glances are boundaries at which nothing happens, for who looks on while the session runs: what is open has figures up
// to the last of them.
type glances struct {
	every time.Duration // 0: never
	last  time.Time     // when the last was drawn
	cost  time.Duration // of drawing it
}

// glanceShare is how much of the time drawing them may take, as its reciprocal: the kernel goes through all tasks of
// the machine for each.
const glanceShare = 100

// due is when the next is to be drawn.
func (g *glances) due() time.Time {
	return g.last.Add(max(g.every, glanceShare*g.cost))
}

// draw draws one for each target that lives, if it is time.
func (g *glances) draw(kernel processes, targets []*target) error {
	if g.every <= 0 || time.Now().Before(g.due()) {
		return nil
	}
	g.last = time.Now()
	for _, t := range targets {
		if !t.isRoot() || t.gone {
			continue
		}
		if err := kernel.Look(t.pid); err != nil && !errors.Is(err, ledger.ErrNoProcess) &&
			!errors.Is(err, ledger.ErrFull) {
			return err
		}
	}
	g.cost = time.Since(g.last)
	return nil
}
