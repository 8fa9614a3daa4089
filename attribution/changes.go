package attribution

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// change takes in one change of a meter: it queues the change for the blocks, and records its value under its segment.
func (in *sequence) change(change *event.Change) {
	tree := in.Processes.Tree(change.Root)
	if isArchived(tree, change.Segment) {
		in.Limits.Late++
		return
	}
	if change.IsTouch() || change.IsCopy() { // it says where memory is, not how much
		tree.Stream.Received(change.Stream)
		in.queue.inOrder(tree, change.Stream, change)
		return
	}
	highs := tree.Changes[change.Segment]
	high, known := highs[change.PID]
	isAhead := change.Passed == 0 && change.Segment > tree.Ended // its segment has not ended
	if isAhead && !known && tree.Ahead >= windows.MaxAhead {
		in.Limits.Ahead++
		return
	}
	tree.Stream.Received(change.Stream)
	in.GPUs.Notes.AddBlock(change)
	if change.Learned {
		in.GPUs.Mark(change.Meter)
		if in.Limits.Room(&in.Limits.Ahead, len(tree.Learned) < windows.MaxAsked) {
			learned := *change
			tree.Learned = append(tree.Learned, &learned) // the windows of its segment may not have opened yet
		}
	}
	in.chart.Tell(tree, change, in.pending)
	in.queue.inOrder(tree, change.Stream, change)
	if change.Caller.Moves() {
		moved := *change
		in.activity.Requests.Add(tree, &moved)
	}
	if change.Passed > 0 {
		if len(tree.Straddling) < maxStraddling {
			tree.Straddling = append(tree.Straddling, *change)
		}
		return
	}
	if change.Segment <= tree.Ended {
		in.late(tree, change)
		return
	}
	if highs == nil {
		highs = map[int32]course.Levels{}
		tree.Changes[change.Segment] = highs
	}
	if !known {
		tree.Ahead++
	}
	high.Raise(change.Meter, change.Highest())
	highs[change.PID] = high
}

// isArchived reports whether the windows of a segment may be archived, so that nothing can be added to them.
func isArchived(tree *windows.Tree, segment uint64) bool {
	return tree.Archived > 0 && segment <= tree.Archived
}

// late adds the value of a change in a segment that is over to the windows that contain the segment.
func (in *sequence) late(tree *windows.Tree, change *event.Change) {
	if p := in.Processes.ByPID[change.PID]; p != nil {
		p.Gauges.Need(change.Meter).Seen.Push(tree.CutOf(change.Segment, in.Session.Cut), change.Highest())
	}
	for _, w := range in.Table.Closed.Holding(change.PID, change.Root, change.Segment) {
		w.Recomputed.Raise(change.Meter, change.Highest())
	}
}

// fileRequest records under its segment a request that moved no meter: a refused one, or one that opened or closed
// memory of another process.
func (in *sequence) fileRequest(e event.Event) {
	if refused, ok := e.(*event.Refusal); ok {
		e = &windows.Refusal{Refusal: refused}
	}
	place := windows.PlaceOf(e)
	tree := in.Processes.Tree(place.Root)
	if isArchived(tree, place.Segment) {
		in.Limits.Late++
		return
	}
	tree.Stream.Received(place.Stream)
	in.queue.inOrder(tree, place.Stream, in.queue.markRefusal(e))
	in.GPUs.Mark(place.Meter)
	in.activity.Requests.Add(tree, e)
}

// applyLearned calls correctWindows for the values that became known up to a segment that ends. The windows of the
// segment are still open.
func (in *sequence) applyLearned(tree *windows.Tree, segment uint64) {
	waiting := tree.Learned[:0]
	for _, change := range tree.Learned {
		if change.Segment > segment {
			waiting = append(waiting, change)
		} else {
			in.correctWindows(change)
		}
	}
	tree.Learned = waiting
}

// correctWindows corrects windows that began before a meter's value was known, such as PyTorch's totals after a late
// attach. The value has not changed since, so the open windows began with it. For closed windows the meter stays
// unknown.
func (in *sequence) correctWindows(change *event.Change) {
	if change.Value == 0 {
		return
	}
	process := in.Processes.Process(change.PID, change.Root)
	if process == nil || process.Gauges.Value(change.Meter) != 0 {
		return
	}
	in.Processes.MoveToTree(process, change.Root)
	process.Gauges.Raise(in.Session.Cut, change.Meter, change.Value)
	process.Gauges.Need(change.Meter).Seen.Push(in.Session.Cut, change.Value)
	process.Life.Raise(change.Meter, change.Value)
	in.Processes.Tree(change.Root).Gauges.Raise(in.Session.Cut, change.Meter, change.Value)
	process.MarkLearned(change.Meter, in.Table.Closings)
	in.chart.DrawLearned(in.Processes.Tree(change.Root), process, change.Meter, change.Value)
}

// maxStraddling bounds the changes of a tree that were made during boundaries and are kept. Such changes are rare.
const maxStraddling = 1 << 16
