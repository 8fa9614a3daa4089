package attribution

import (
	"maps"
	"slices"

	"ipytracer/attribution/internal/activity"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// blockQueue passes changes on to a keeper of blocks, in the order in which they were made, and each only when the
// windows of its segment are open.
type blockQueue struct {
	*windows.State
	blocks   activity.Blocks
	waiting  map[uint32]map[uint64][]event.Change // changes that wait for their windows, by tree and segment
	waits    int                                  // number of changes that wait
	spare    spareChanges
	refusals map[uint64]*windows.Refusal // refused requests that wait for their dividers, by number
	asked    uint64                      // the number of these requests so far
	isClosed bool                        // no more changes are taken
}

// await passes on a change that is next in order, or keeps the change until the windows of its segment are open.
func (q *blockQueue) await(tree *windows.Tree, change *event.Change) {
	until, late := tree.Chains.WaitsFor(change, tree.Ended)
	if late > 0 {
		q.allocateIn(change.Root, tree, late)
	}
	if until == 0 && change.Segment <= tree.Ended+1 {
		q.move(tree, change)
		return
	}
	if !q.Limits.Room(&q.Limits.Waiting, q.waits < stacks.MaxWaits) {
		return
	}
	q.waits++
	waiting := q.waiting[change.Root]
	if waiting == nil {
		waiting = map[uint64][]event.Change{}
		q.waiting[change.Root] = waiting
	}
	until = max(until, change.Segment)
	changes, known := waiting[until]
	if !known {
		changes = q.spare.list()
	}
	waiting[until] = append(changes, *change)
}

// handOnAll passes on the changes that wait for earlier changes: no more will come.
func (q *blockQueue) handOnAll() {
	for _, number := range slices.Sorted(maps.Keys(q.Processes.Trees)) {
		r := q.Processes.Trees[number]
		r.Ordered.Flush(func(c *event.Change) { q.allocate(r, c) })
		r.Chains.Flush(r.Ended, true, func(c *event.Change) { q.await(r, c) })
	}
}

// allocateIn passes on the changes that waited for the segments up to this one.
func (q *blockQueue) allocateIn(root uint32, tree *windows.Tree, upTo uint64) {
	waiting := q.waiting[root]
	tree.Chains.Passed(upTo)
	tree.Chains.Flush(tree.Ended, false, func(c *event.Change) { q.await(tree, c) })
	if len(waiting) == 0 {
		return
	}
	segments := make([]uint64, 0, usualChanges)
	for s := range waiting {
		if s <= upTo {
			segments = append(segments, s)
		}
	}
	slices.Sort(segments)
	for _, s := range segments {
		q.waits -= len(waiting[s])
		for i := range waiting[s] {
			q.move(tree, &waiting[s][i])
		}
		q.spare.takeBack(waiting[s])
		delete(waiting, s)
	}
}

// move passes on a change, with the segment that it belongs to.
func (q *blockQueue) move(tree *windows.Tree, change *event.Change) {
	if change.Caller == marksRefusal {
		if refused := q.refusals[change.Address]; refused != nil {
			refused.Dividers = q.blocks.DividersAt(refused.Refusal)
			delete(q.refusals, change.Address)
		}
		return
	}
	if segment := tree.Chains.Segment(change); segment != change.Segment {
		placed := *change
		placed.Segment, change = segment, &placed
	}
	q.blocks.Move(tree, change)
}

// close drops the changes that wait. Later changes are ignored.
func (q *blockQueue) close() {
	q.waiting, q.waits, q.spare, q.isClosed = map[uint32]map[uint64][]event.Change{}, 0, spareChanges{}, true
	q.refusals = nil
}

// marksRefusal is the Caller of a change that only marks the place of a refused request.
const marksRefusal = event.Caller(255)

// markRefusal returns a change that marks the place of a request that PyTorch refused: when its turn comes, the request
// gets its dividers. It returns nil for all other requests, and where too many wait.
func (q *blockQueue) markRefusal(e event.Event) *event.Change {
	refused, ok := e.(*windows.Refusal)
	if !ok || len(q.refusals) >= windows.MaxAsked || q.isClosed {
		return nil
	}
	if _, kind, ok := refused.Meter.Device(); !ok || kind != event.Active {
		return nil
	}
	if q.refusals == nil {
		q.refusals = map[uint64]*windows.Refusal{}
	}
	q.asked++
	q.refusals[q.asked] = refused
	return &event.Change{Stream: refused.Stream, Segment: refused.Segment, Time: refused.Time, Root: refused.Root,
		PID: refused.PID, TID: refused.TID, Meter: refused.Meter, Caller: marksRefusal, Address: q.asked}
}

// inOrder takes in a number of the change stream, and passes on the changes that are now in order. c is the change with
// that number, nil if an event that is no change has it.
func (q *blockQueue) inOrder(r *windows.Tree, stream uint64, c *event.Change) {
	r.Ordered.Add(stream, c, func(c *event.Change) { q.allocate(r, c) })
}

// allocate takes in the next change of the stream, if the keeper of blocks takes it. Changes whose values form a chain
// are first put into the order of their values.
func (q *blockQueue) allocate(tree *windows.Tree, change *event.Change) {
	if q.isClosed {
		return
	}
	if change.Caller == marksRefusal {
		q.await(tree, change)
		return
	}
	if !change.IsBlock() && change.Meter.Facts().Kind == event.Total {
		tree.Chains.Restart(change, func(c *event.Change) { q.await(tree, c) })
	}
	if !q.blocks.Takes(change) {
		return
	}
	if change.IsBlock() && change.Meter.Facts().Chained() {
		tree.Chains.Link(change, tree.Ended, tree.Ordered.Skips(), func(c *event.Change) { q.await(tree, c) })
		return
	}
	q.await(tree, change)
}

// spareChanges has memory for lists of waiting changes, to be used again.
type spareChanges struct{ changes [][]event.Change }

// list returns an empty list of changes.
func (s *spareChanges) list() []event.Change {
	last := len(s.changes) - 1
	if last < 0 {
		return nil
	}
	list := s.changes[last]
	s.changes = s.changes[:last]
	return list
}

// takeBack takes back a list of changes that have been processed.
func (s *spareChanges) takeBack(list []event.Change) {
	if cap(list) <= usualChanges && len(s.changes) < maxSpareWaits {
		s.changes = append(s.changes, list[:0])
	}
}

const (
	usualChanges  = 64  // changes
	maxSpareWaits = 144 // lists
)
