package course

import (
	"github.com/google/btree"

	"ipytracer/event"
)

// Order passes changes on in the order in which the kernel half made them: on the way into the ring one CPU may
// overtake another. Where numbers are missing, Order waits for a while, and then goes on without them.
type Order struct {
	next    uint64                       // the stream number that comes next
	waiting *btree.BTreeG[waitingChange] // by number; nil before the first change
	skips   uint64                       // how often Order gave up on missing numbers
}

// waitingChange is a change that waits for a missing one. change is nil if an event that is no change has the number.
type waitingChange struct {
	number uint64
	change *event.Change
}

// Patience is the number of changes that wait for a missing one.
const Patience = 1024

// Add adds the change with a number of the stream, and passes on the changes that are next in order. c is nil if an
// event that is no change has the number.
func (o *Order) Add(stream uint64, c *event.Change, handOn func(*event.Change)) {
	if o.waiting == nil {
		o.next = 1
		o.waiting = btree.NewG(16, func(a, b waitingChange) bool { return a.number < b.number })
	}
	if stream > o.next {
		if c != nil {
			kept := *c
			c = &kept
		}
		o.waiting.ReplaceOrInsert(waitingChange{stream, c})
		if o.waiting.Len() > Patience {
			o.skip()
			o.run(handOn)
		}
		return
	}
	isNext := stream == o.next // if not, Order gave up on the number before
	if isNext {
		o.next++
	}
	if c != nil {
		handOn(c)
	}
	if isNext {
		o.run(handOn)
	}
}

// run passes on the changes that follow without a gap.
func (o *Order) run(handOn func(*event.Change)) {
	for {
		first, ok := o.waiting.Min()
		if !ok || first.number != o.next {
			return
		}
		o.waiting.DeleteMin()
		o.next++
		if first.change != nil {
			handOn(first.change)
		}
	}
}

// skip gives up on the missing numbers before the first change that waits.
func (o *Order) skip() {
	if first, ok := o.waiting.Min(); ok {
		o.next = first.number
	}
	o.skips++
}

// Flush passes on all changes that wait: no more will come.
func (o *Order) Flush(handOn func(*event.Change)) {
	for o.isWaiting() {
		o.skip()
		o.run(handOn)
	}
}

// isWaiting reports whether changes wait for others.
func (o *Order) isWaiting() bool { return o.waiting != nil && o.waiting.Len() > 0 }

// Skips returns how often Order gave up on missing numbers.
func (o *Order) Skips() uint64 { return o.skips }

// WaitsFor reports whether any change waits and the changes up to a number have not all been passed on.
func (o *Order) WaitsFor(number uint64) bool { return o.next <= number && o.isWaiting() }
