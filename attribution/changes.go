package attribution

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// change files one value of the stream under its segment.
func (in *sequence) change(c *event.Change) {
	r := in.Processes.Tree(c.Root)
	if c.Segment <= r.Archived && r.Archived > 0 { // too late: its windows may be archived
		in.Limits.Late++
		return
	}
	segment := r.Changes[c.Segment]
	if _, known := segment[c.PID]; c.Passed == 0 && c.Segment > r.Ended && !known && r.Ahead >= windows.MaxAhead {
		in.Limits.Ahead++
		return
	}
	r.Stream.Received(c.Stream)
	in.GPUs.Notes.Take(c)
	if c.Learned {
		in.GPUs.Mark(c.Meter)
		if in.Limits.Room(&in.Limits.Ahead, len(r.Learned) < windows.MaxAsked) {
			learned := *c
			r.Learned = append(r.Learned, &learned) // the windows of its segment may not have opened yet
		}
	}
	in.chart.Tell(r, c, in.pending)
	in.queue.inOrder(r, c.Stream, c)
	if c.Caller.Moves() {
		moved := *c
		in.activity.Requests.Request(r, &moved)
	}
	if c.Passed > 0 {
		if len(r.Straddling) < maxBetween {
			r.Straddling = append(r.Straddling, *c)
		}
		return
	}
	if c.Segment <= r.Ended {
		in.late(r, c)
		return
	}
	if segment == nil {
		segment = map[int32]course.Levels{}
		r.Changes[c.Segment] = segment
	}
	high, known := segment[c.PID]
	if !known {
		r.Ahead++
	}
	high.Raise(c.Meter, c.Highest())
	segment[c.PID] = high
}

// late adds a change of a segment that is over to the windows that hold the segment.
func (in *sequence) late(r *windows.Tree, c *event.Change) {
	if p := in.Processes.ByPID[c.PID]; p != nil {
		p.Gauges.Need(c.Meter).Seen.Push(r.CutOf(c.Segment, in.Session.Cut), c.Highest())
	}
	for _, w := range in.Table.Closed.With(c.PID, c.Root, c.Segment) {
		w.Recomputed.Raise(c.Meter, c.Highest())
	}
}

// asked files, under its segment, a request that moved no meter: one that was refused, or that opened or closed memory
// of another process.
func (in *sequence) asked(e event.Event) {
	if refused, ok := e.(*event.Refusal); ok {
		e = &windows.Refusal{Refusal: refused}
	}
	at := windows.PlaceOf(e)
	r := in.Processes.Tree(at.Root)
	if at.Segment <= r.Archived && r.Archived > 0 {
		in.Limits.Late++
		return
	}
	r.Stream.Received(at.Stream)
	in.queue.inOrder(r, at.Stream, in.queue.look(e))
	in.GPUs.Mark(at.Meter)
	in.activity.Requests.Request(r, e)
}

// learn takes in the values that became known in a segment that ends, while the windows of the segment are open: see
// [sequence.learned].
func (in *sequence) learn(r *windows.Tree, segment uint64) {
	waiting := r.Learned[:0]
	for _, c := range r.Learned {
		if c.Segment > segment {
			waiting = append(waiting, c)
		} else {
			in.learned(c)
		}
	}
	r.Learned = waiting
}

// learned corrects the windows that began before a meter's value was known: PyTorch's totals after a late attach.
// Nothing has changed them since, so the open windows began with that value; for windows that are over, it is unknown.
func (in *sequence) learned(c *event.Change) {
	if c.Value == 0 {
		return
	}
	p := in.Processes.Process(c.PID, c.Root)
	if p == nil || p.Gauges.Value(c.Meter) != 0 {
		return
	}
	in.Processes.Enter(p, c.Root)
	p.Gauges.Raise(in.Session.Cut, c.Meter, c.Value)
	p.Gauges.Need(c.Meter).Seen.Push(in.Session.Cut, c.Value)
	p.Life.Raise(c.Meter, c.Value)
	in.Processes.Tree(c.Root).Gauges.Raise(in.Session.Cut, c.Meter, c.Value)
	p.Learn(c.Meter, in.Table.Closings)
	in.chart.DrawLearned(in.Processes.Tree(c.Root), p, c.Meter, c.Value)
}

// maxBetween is the most changes made during boundaries that are kept: they are rare.
const maxBetween = 1 << 16
