package blocks

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// If a program allocates small blocks by the hundred thousand, only samples of them are streamed. The meter counts the
// other blocks, and no stack is recorded for them. A sample stands for [event.SampleOf] bytes. Its stack has a number
// of its own, so that wherever stacks are added up it is known which sums are estimates; both numbers have the same
// calls.

// sampled returns the block that a sample stands for; an empty one for a free.
func (a *Blocks) sampled(c *event.Change) stacks.Block {
	if c.Size <= 0 {
		return stacks.Block{}
	}
	return stacks.Block{Size: event.SampleOf, Stack: a.Stacks.Sample(c.Stack)}
}

// turn handles a value from which a meter fell when a block that was not streamed was freed: the meter had that value
// while the blocks before that lived.
func (a *Blocks) turn(r *windows.Tree, c *event.Change) {
	key := course.Key{PID: c.PID, Meter: c.Meter}
	a.Unstreamed = true
	cs := a.affectedBy(r, c)
	for _, w := range cs.in {
		a.beforeMove(w, key)
	}
	a.follow(cs, key, c)
	cs.stands(key.Meter, c.Value)
}
