package attribution

import "ipytracer/event"

// A program that makes small blocks by the hundred thousand is told of by samples: of the others the meter knows, and
// nobody else. A sample stands for [event.SampleOf] bytes. Its stack has a number of its own, so that wherever stacks
// are added up it is known which sums are estimates; both numbers have the same calls.

// sampleMark tells the number of a stack of samples from that of the same stack of blocks that were all told.
const sampleMark = 0x5a4d_504c_e5a4_d50d

// maxSampled is how many stacks of samples are told apart. Those of the others are not known.
const maxSampled = 1 << 17

// sampled is a block as what it stands for; none where it is freed.
func (a *allocations) sampled(c *event.Change) block {
	if c.Size <= 0 {
		return block{}
	}
	number := c.Stack ^ sampleMark
	if _, known := a.stacks.sampled[number]; !known {
		if a.stacks.sampled == nil {
			a.stacks.sampled = map[uint64]struct{}{sampleMark: {}}
		}
		if len(a.stacks.sampled) >= maxSampled {
			number = sampleMark
		}
		a.stacks.sampled[number] = struct{}{}
	}
	return block{size: event.SampleOf, stack: number}
}

// sampleSize is how many bytes a sample adds, or takes away, as a block of so many is made or freed.
func sampleSize(size event.Bytes) event.Bytes {
	if size < 0 {
		return -event.SampleOf
	}
	return event.SampleOf
}

// isSampled says whether a stack's number is that of samples.
func (a *allocations) isSampled(stack uint64) bool {
	_, is := a.stacks.sampled[stack]
	return is
}

// sampled is what samples stand for of what all stacks had at the peak.
func (all *tallies) sampled(a *allocations, key heldKey) (sum event.Bytes) {
	if len(a.stacks.sampled) == 0 {
		return 0
	}
	held := a.of(key).byStack
	for stack, size := range held {
		if a.isSampled(stack) {
			sum += size
		}
	}
	all.each(a, key, func(y *tally) {
		if a.isSampled(y.stack) {
			sum += y.atPeak - held[y.stack]
		}
	})
	return sum
}

// timesOf is how many blocks the one of a change stands for.
func timesOf(c *event.Change) int64 {
	if !c.Sample || c.Size <= 0 || c.Size > event.SampleOf {
		return 1
	}
	return int64((event.SampleOf + c.Size/2) / c.Size)
}

// turn takes in a value that a meter fell from as a block went that was not told: what lived then lived at that value.
func (a *allocations) turn(r *root, c *event.Change) {
	key := heldKey{c.PID, c.Meter}
	a.untold = true
	windows := a.concerned(r, c)
	for _, w := range windows.in {
		w.beforeMove(a, key)
	}
	windows.follow(a, key, c)
	windows.stood(a, key, c.Value)
}

// follow has windows look for their peaks where the meter's value says, and no longer where what is known adds up to
// the most. Until now that was the same. The change is still to come.
func (windows concerned) follow(a *allocations, key heldKey, c *event.Change) {
	from := c.Value - c.Size
	for _, w := range windows.in {
		w.beforeMove(a, key)
		if all := w.tallies[key.meter]; all != nil && !all.byValue {
			all.byValue, all.value = true, from+all.highest-a.of(key).total
		}
	}
	windows.stood(a, key, from)
}

// stood takes in that a meter has a value now.
func (windows concerned) stood(a *allocations, key heldKey, value event.Bytes) {
	for _, w := range windows.in {
		if all := w.tallies[key.meter]; all != nil && all.byStack != nil && value > all.value {
			all.value = value
			all.isAtPeak()
		}
	}
}
