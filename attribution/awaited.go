package attribution

import (
	"maps"
	"slices"

	"ipytracer/event"
)

// await takes in a change whose turn it is.
func (t *Tracker) await(r *root, c *event.Change) {
	until, late := r.sides.waitsFor(c, r.ended)
	if late > 0 {
		t.allocateIn(c.Root, r, late)
	}
	if until == 0 && c.Segment <= r.ended+1 {
		t.moveBlock(r, c)
		return
	}
	if !t.limits.room(&t.limits.Waiting, t.allocations.waits < maxWaits) {
		return
	}
	t.allocations.waits++
	waiting := t.allocations.waiting[c.Root]
	if waiting == nil {
		waiting = map[uint64][]event.Change{}
		t.allocations.waiting[c.Root] = waiting
	}
	until = max(until, c.Segment)
	all, known := waiting[until]
	if !known {
		all = t.allocations.spare.waiting()
	}
	waiting[until] = append(all, *c)
}

// handOnAll takes in what waits in the order of changes: nothing more comes.
func (t *Tracker) handOnAll() {
	for _, number := range slices.Sorted(maps.Keys(t.processes.roots)) {
		r := t.processes.roots[number]
		r.ordered.flush(func(c *event.Change) { t.allocate(r, c) })
		r.sides.flush(r.ended, true, func(c *event.Change) { t.await(r, c) })
	}
}

// allocateIn takes in what waited for the segments up to this one.
func (t *Tracker) allocateIn(root uint32, r *root, upTo uint64) {
	waiting := t.allocations.waiting[root]
	r.sides.heard(upTo)
	r.sides.flush(r.ended, false, func(c *event.Change) { t.await(r, c) })
	if len(waiting) == 0 {
		return
	}
	segments := make([]uint64, 0, few)
	for s := range waiting {
		if s <= upTo {
			segments = append(segments, s)
		}
	}
	slices.Sort(segments)
	for _, s := range segments {
		t.allocations.waits -= len(waiting[s])
		for i := range waiting[s] {
			t.moveBlock(r, &waiting[s][i])
		}
		t.allocations.spare.waited(waiting[s])
		delete(waiting, s)
	}
}
