package attribution

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// change files one value of the stream under its segment.
func (in *sequence) change(change *event.Change) {
	tree := in.Processes.Tree(change.Root)
	if change.Segment <= tree.Archived && tree.Archived > 0 { // too late: its windows may be archived
		in.Limits.Late++
		return
	}
	segment := tree.Changes[change.Segment]
	if _, known := segment[change.PID]; change.Passed == 0 && change.Segment > tree.Ended && !known &&
		tree.Ahead >= windows.MaxAhead {
		in.Limits.Ahead++
		return
	}
	tree.Stream.Received(change.Stream)
	in.GPUs.Notes.Take(change)
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
		in.activity.Requests.Request(tree, &moved)
	}
	if change.Passed > 0 {
		if len(tree.Straddling) < maxBetween {
			tree.Straddling = append(tree.Straddling, *change)
		}
		return
	}
	if change.Segment <= tree.Ended {
		in.late(tree, change)
		return
	}
	if segment == nil {
		segment = map[int32]course.Levels{}
		tree.Changes[change.Segment] = segment
	}
	high, known := segment[change.PID]
	if !known {
		tree.Ahead++
	}
	high.Raise(change.Meter, change.Highest())
	segment[change.PID] = high
}

// late adds a change of a segment that is over to the windows that hold the segment.
func (in *sequence) late(tree *windows.Tree, change *event.Change) {
	if p := in.Processes.ByPID[change.PID]; p != nil {
		p.Gauges.Need(change.Meter).Seen.Push(tree.CutOf(change.Segment, in.Session.Cut), change.Highest())
	}
	for _, w := range in.Table.Closed.With(change.PID, change.Root, change.Segment) {
		w.Recomputed.Raise(change.Meter, change.Highest())
	}
}

// asked files, under its segment, a request that moved no meter: one that was refused, or that opened or closed memory
// of another process.
func (in *sequence) asked(e event.Event) {
	if refused, ok := e.(*event.Refusal); ok {
		e = &windows.Refusal{Refusal: refused}
	}
	at := windows.PlaceOf(e)
	tree := in.Processes.Tree(at.Root)
	if at.Segment <= tree.Archived && tree.Archived > 0 {
		in.Limits.Late++
		return
	}
	tree.Stream.Received(at.Stream)
	in.queue.inOrder(tree, at.Stream, in.queue.look(e))
	in.GPUs.Mark(at.Meter)
	in.activity.Requests.Request(tree, e)
}

// learn takes in the values that became known in a segment that ends, while the windows of the segment are open: see
// [sequence.learned].
func (in *sequence) learn(tree *windows.Tree, segment uint64) {
	waiting := tree.Learned[:0]
	for _, change := range tree.Learned {
		if change.Segment > segment {
			waiting = append(waiting, change)
		} else {
			in.learned(change)
		}
	}
	tree.Learned = waiting
}

// learned corrects the windows that began before a meter's value was known: PyTorch's totals after a late attach.
// Nothing has changed them since, so the open windows began with that value; for windows that are over, it is unknown.
func (in *sequence) learned(change *event.Change) {
	if change.Value == 0 {
		return
	}
	process := in.Processes.Process(change.PID, change.Root)
	if process == nil || process.Gauges.Value(change.Meter) != 0 {
		return
	}
	in.Processes.Enter(process, change.Root)
	process.Gauges.Raise(in.Session.Cut, change.Meter, change.Value)
	process.Gauges.Need(change.Meter).Seen.Push(in.Session.Cut, change.Value)
	process.Life.Raise(change.Meter, change.Value)
	in.Processes.Tree(change.Root).Gauges.Raise(in.Session.Cut, change.Meter, change.Value)
	process.Learn(change.Meter, in.Table.Closings)
	in.chart.DrawLearned(in.Processes.Tree(change.Root), process, change.Meter, change.Value)
}

// maxBetween is the most changes made during boundaries that are kept: they are rare.
const maxBetween = 1 << 16
