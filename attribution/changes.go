package attribution

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/event"
)

// change files one value of the stream under its segment.
func (in *intake) change(c *event.Change) {
	r := in.processes.root(c.Root)
	if c.Segment <= r.archived && r.archived > 0 { // too late: its windows may be archived
		in.limits.Late++
		return
	}
	segment := r.changes[c.Segment]
	if _, known := segment[c.PID]; c.Passed == 0 && c.Segment > r.ended && !known && r.ahead >= maxAhead {
		in.limits.Ahead++
		return
	}
	r.stream.Received(c.Stream)
	in.gpus.notes.take(c)
	if c.Learned {
		in.gpus.mark(c.Meter)
		if in.limits.room(&in.limits.Ahead, len(r.learned) < maxAsked) {
			learned := *c
			r.learned = append(r.learned, &learned) // the windows of its segment may not have opened yet
		}
	}
	in.chart.tell(r, c, in.pending)
	in.queue.inOrder(r, c.Stream, c)
	if c.Caller.Moves() {
		moved := *c
		in.requests.request(r, &moved)
	}
	if c.Passed > 0 {
		if len(r.between) < maxBetween {
			r.between = append(r.between, *c)
		}
		return
	}
	if c.Segment <= r.ended {
		in.late(r, c)
		return
	}
	if segment == nil {
		segment = map[int32]course.Levels{}
		r.changes[c.Segment] = segment
	}
	high, known := segment[c.PID]
	if !known {
		r.ahead++
	}
	high.Raise(c.Meter, c.Highest())
	segment[c.PID] = high
}

// late adds a change of a segment that is over to the windows that hold the segment.
func (in *intake) late(r *root, c *event.Change) {
	if p := in.processes.byPID[c.PID]; p != nil {
		p.past.Need(c.Meter).Seen.Push(r.cutOf(c.Segment, in.session.cut), c.Highest())
	}
	for _, w := range in.table.closed.with(c.PID, c.Root, c.Segment) {
		w.recomputed.Raise(c.Meter, c.Highest())
	}
}

// asked files, under its segment, a request that moved no meter: one that was refused, or that opened or closed memory
// of another process.
func (in *intake) asked(e event.Event) {
	if refused, ok := e.(*event.Refusal); ok {
		e = &refusal{Refusal: refused}
	}
	at := placeOf(e)
	r := in.processes.root(at.root)
	if at.segment <= r.archived && r.archived > 0 {
		in.limits.Late++
		return
	}
	r.stream.Received(at.stream)
	in.queue.inOrder(r, at.stream, in.queue.look(e))
	in.gpus.mark(at.meter)
	in.requests.request(r, e)
}

// learn takes in the values that became known in a segment that ends, while the windows of the segment are open: see
// [intake.learned].
func (in *intake) learn(r *root, segment uint64) {
	waiting := r.learned[:0]
	for _, c := range r.learned {
		if c.Segment > segment {
			waiting = append(waiting, c)
		} else {
			in.learned(c)
		}
	}
	r.learned = waiting
}

// learned corrects the windows that began before a meter's value was known: PyTorch's totals after a late attach.
// Nothing has changed them since, so the open windows began with that value; for windows that are over, it is unknown.
func (in *intake) learned(c *event.Change) {
	if c.Value == 0 {
		return
	}
	p := in.processes.process(c.PID, c.Root)
	if p == nil || p.past.Value(c.Meter) != 0 {
		return
	}
	in.processes.enter(p, c.Root)
	p.past.Raise(in.session.cut, c.Meter, c.Value)
	p.past.Need(c.Meter).Seen.Push(in.session.cut, c.Value)
	p.life.Raise(c.Meter, c.Value)
	in.processes.root(c.Root).past.Raise(in.session.cut, c.Meter, c.Value)
	p.learn(c.Meter, in.table.closings)
	in.chart.drawLearned(in.processes.root(c.Root), p, c.Meter, c.Value)
}

// maxBetween is the most changes made during boundaries that are kept: they are rare.
const maxBetween = 1 << 16
