package attribution

import (
	"maps"
	"slices"

	"ipytracer/attribution/internal/activity"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// blockQueue passes on the changes that a keeper of blocks takes: in the order in which Linux made them, and none
// before the windows of its segment are open.
type blockQueue struct {
	*windows.State
	blocks   activity.Blocks
	waiting  map[uint32]map[uint64][]event.Change // of segments with windows that have not opened yet, by tree
	waits    int                                  // the number of changes that wait
	spare    spareChanges
	looks    map[uint64]*windows.Refusal // refused requests that wait for their dividers, by number
	asked    uint64                      // the number of these requests so far
	isClosed bool                        // no more changes are taken
}

// await passes on a change that is next in order, or keeps it until its segment's windows are open.
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
	all, known := waiting[until]
	if !known {
		all = q.spare.waiting()
	}
	waiting[until] = append(all, *change)
}

// handOnAll passes on the changes that wait for their order: no more will come.
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
	segments := make([]uint64, 0, few)
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
		q.spare.waited(waiting[s])
		delete(waiting, s)
	}
}

// move passes on a change, with the segment that it belongs to.
func (q *blockQueue) move(tree *windows.Tree, change *event.Change) {
	if change.Caller == looks {
		if refused := q.looks[change.Address]; refused != nil {
			refused.Dividers = q.blocks.DividersAt(refused.Refusal)
			delete(q.looks, change.Address)
		}
		return
	}
	if segment := tree.Chains.Segment(change); segment != change.Segment {
		placed := *change
		placed.Segment, change = segment, &placed
	}
	q.blocks.Move(tree, change)
}

// close drops the changes that wait, and takes in no more.
func (q *blockQueue) close() {
	q.waiting, q.waits, q.spare, q.isClosed = map[uint32]map[uint64][]event.Change{}, 0, spareChanges{}, true
	q.looks = nil
}

// looks is the Caller of a change that only marks the place of a refused request.
const looks = event.Caller(255)

// look returns a change that marks the place of a request that PyTorch refused: when its turn comes, the request gets
// its dividers. It returns nil for all other requests, and where too many wait.
func (q *blockQueue) look(e event.Event) *event.Change {
	refused, ok := e.(*windows.Refusal)
	if !ok || len(q.looks) >= windows.MaxAsked || q.isClosed {
		return nil
	}
	if _, kind, ok := refused.Meter.Device(); !ok || kind != event.Active {
		return nil
	}
	if q.looks == nil {
		q.looks = map[uint64]*windows.Refusal{}
	}
	q.asked++
	q.looks[q.asked] = refused
	return &event.Change{Stream: refused.Stream, Segment: refused.Segment, Time: refused.Time, Root: refused.Root,
		PID: refused.PID, TID: refused.TID, Meter: refused.Meter, Caller: looks, Address: q.asked}
}

// inOrder takes in a number of the change stream. c is the change with that number, nil if another event has it.
func (q *blockQueue) inOrder(r *windows.Tree, stream uint64, c *event.Change) {
	r.Ordered.Add(stream, c, func(c *event.Change) { q.allocate(r, c) })
}

// allocate takes in the next change of the stream. It passes the change on once the windows of its segment are open, if
// it is of use for blocks.
func (q *blockQueue) allocate(tree *windows.Tree, change *event.Change) {
	if q.isClosed {
		return
	}
	if change.Caller == looks {
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

// spareChanges is memory for lists of waiting changes, to be used again.
type spareChanges struct{ changes [][]event.Change }

// waiting returns an empty list of changes.
func (s *spareChanges) waiting() []event.Change {
	last := len(s.changes) - 1
	if last < 0 {
		return nil
	}
	one := s.changes[last]
	s.changes = s.changes[:last]
	return one
}

// waited takes back a list of changes that have been processed.
func (s *spareChanges) waited(all []event.Change) {
	if cap(all) <= few && len(s.changes) < maxSpareWaits {
		s.changes = append(s.changes, all[:0])
	}
}

const (
	few           = 64  // changes
	maxSpareWaits = 144 // lists
)
