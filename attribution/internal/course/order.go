package course

import (
	"container/heap"

	"ipytracer/event"
)

// Order passes changes on in the order in which the kernel made them: two CPUs may pass each other on the way into the
// ring. Where numbers are missing it waits for a while, then goes on without them.
type Order struct {
	next    uint64 // the stream number that comes next; 0: 1
	waiting map[uint64]*event.Change
	numbers numbers // of the waiting changes, and some that came since
	skips   uint64  // how often numbers were given up on
}

// Patience is the number of changes that wait for a missing one.
const Patience = 1024

// Add adds a change, nil for a number that is no change, and passes on the changes that are next in order.
func (o *Order) Add(stream uint64, c *event.Change, handOn func(*event.Change)) {
	if o.next == 0 {
		o.next, o.waiting = 1, map[uint64]*event.Change{}
	}
	if stream < o.next { // given up already
		if c != nil {
			handOn(c)
		}
		return
	}
	if stream > o.next {
		var kept *event.Change
		if c != nil {
			one := *c
			kept = &one
		}
		for len(o.numbers) > 0 && o.numbers[0] < o.next {
			heap.Pop(&o.numbers)
		}
		if _, known := o.waiting[stream]; !known {
			heap.Push(&o.numbers, stream)
		}
		o.waiting[stream] = kept
		if len(o.waiting) > Patience {
			o.skip()
			o.run(handOn)
		}
		return
	}
	o.next++
	if c != nil {
		handOn(c)
	}
	o.run(handOn)
}

// run passes on the changes that follow without a gap.
func (o *Order) run(handOn func(*event.Change)) {
	for len(o.waiting) > 0 {
		c, ok := o.waiting[o.next]
		if !ok {
			return
		}
		delete(o.waiting, o.next)
		o.next++
		if c != nil {
			handOn(c)
		}
	}
	o.numbers = o.numbers[:0]
}

// skip gives up on the numbers before the first that is there.
func (o *Order) skip() {
	for {
		first := heap.Pop(&o.numbers).(uint64)
		if _, waits := o.waiting[first]; waits {
			o.next = first
			break
		}
	}
	o.skips++
}

// numbers is a heap, the least first.
type numbers []uint64

func (n numbers) Len() int           { return len(n) }
func (n numbers) Less(i, j int) bool { return n[i] < n[j] }
func (n numbers) Swap(i, j int)      { n[i], n[j] = n[j], n[i] }
func (n *numbers) Push(x any)        { *n = append(*n, x.(uint64)) }
func (n *numbers) Pop() any {
	last := len(*n) - 1
	x := (*n)[last]
	*n = (*n)[:last]
	return x
}

// Flush passes on everything: no more will come.
func (o *Order) Flush(handOn func(*event.Change)) {
	for len(o.waiting) > 0 {
		o.skip()
		o.run(handOn)
	}
}

// Skips returns how often changes were given up on.
func (o *Order) Skips() uint64 { return o.skips }

// WaitsFor reports whether changes wait for others, and not all up to a number have come.
func (o *Order) WaitsFor(number uint64) bool { return o.next <= number && len(o.waiting) > 0 }
