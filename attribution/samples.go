package attribution

import "ipytracer/event"

// A program that makes small blocks by the hundred thousand is told of by samples: of the others the meter knows, and
// nobody else. A sample stands for [event.SampleOf] bytes. Its stack has a number of its own, so that wherever stacks
// are added up it is known which sums are estimates; both numbers have the same calls.

// sampled is a block as what it stands for; none where it is freed.
func (a *allocations) sampled(c *event.Change) block {
	if c.Size <= 0 {
		return block{}
	}
	return block{size: event.SampleOf, stack: a.stacks.sample(c.Stack)}
}

// sampleSize is how many bytes a sample adds, or takes away, as a block of so many is made or freed.
func sampleSize(size event.Bytes) event.Bytes {
	if size < 0 {
		return -event.SampleOf
	}
	return event.SampleOf
}

// turn takes in a value that a meter fell from as a block went that was not told: what lived then lived at that value.
func (a *allocations) turn(r *root, c *event.Change) {
	key := heldKey{c.PID, c.Meter}
	a.untold = true
	windows := a.concerned(r, c)
	for _, w := range windows.in {
		w.beforeMove(a.holdings, key)
	}
	windows.follow(a.holdings, key, c)
	windows.stood(a.holdings, key, c.Value)
}
