package attribution

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

func (in *sequence) settle(drawn *event.Boundary, readings []*event.Reading) {
	one := *drawn // others keep the event as it is
	b := &one
	r := in.Processes.Tree(b.Root)
	r.Follows(b)
	in.Session.Draws(b)
	if p := in.Processes.ByPID[b.PID]; b.Kind == event.ProcessStart && p != nil && p.Ended {
		delete(in.Processes.ByPID, b.PID) // its pid was reused: that is another process
	}
	in.GPUs.Note(&b.Value, &b.High, &b.Tree, &b.TreeHigh)
	moved := in.gather(r, b, readings)
	own := course.SegmentEnd{Value: &b.Value, High: &b.High, Read: &b.Value}
	// An exec: the same pid with its old memory, which in a forked process was its parent's. Or another CPU's boundary
	// read the process just before it drew this one, and this boundary overtook that one on the way here.
	if before, again := moved[b.PID]; again && (b.Kind != event.ProcessExec || !in.Processes.IsForked(b.PID)) {
		own.High, own.Read = course.Highest(*own.High, before.High), course.Highest(*own.Read, before.Read)
	}
	moved[b.PID] = own
	in.withAttached(b, moved)
	r.IsOne(b, &own)
	in.endSegment(r, b, moved)
	in.apply(r, b)
	r.Breaks(b, in.Session.Cut)
	in.activity.Invariants.Segment(b, moved, in.Processes, in.GPUs.Meters)
	in.chart.Draw(r, b, moved)
	r.DrawnAt = b.Time
	in.queue.allocateIn(b.Root, r, r.Ended+1)
}

// withAttached raises a boundary's tree to at least the attached process: all that it has is the tree's. The kernel
// half keeps no maximum of a tree before its first child, which may begin anywhere in a segment.
func (in *sequence) withAttached(b *event.Boundary, moved course.SegmentEnds) {
	for pid, m := range moved {
		p := in.Processes.ByPID[pid]
		if m.Waited || p == nil || p.Parent != 0 || p.Session == nil || p.Root != b.Root {
			continue
		}
		for _, meter := range in.GPUs.Meters {
			b.TreeHigh[meter] = max(b.TreeHigh[meter], m.High[meter])
		}
	}
}

// gather collects the readings of a boundary's segment: those that came with the boundary, and those that waited for
// one. Two CPUs' boundaries may pass each other. A reading that came with a boundary of another tree waits for one of
// its own. If the process's own boundary had already been drawn when the process was read, its high belongs to the next
// segment, and waits for the end of that: the windows that opened in between have it.
func (in *sequence) gather(r *windows.Tree, b *event.Boundary, readings []*event.Reading) course.SegmentEnds {
	waited := r.Readings
	r.Readings, in.waiting = nil, in.waiting-len(r.Readings)
	moved := course.SegmentEnds{}
	for i, from := range slices.Concat(waited, readings) {
		if of := in.Processes.RootOf(from, r); of != r || from.Since > b.Segment {
			in.wait(of, from)
			continue
		}
		in.GPUs.Note(&from.Value, &from.High)
		one := course.SegmentEnd{Value: &from.Value, High: &from.High, Read: &from.Value, Waited: i < len(waited) ||
			from.Since != 0 &&
				from.Since < b.Segment}
		if before, again := moved[from.PID]; again {
			one.High, one.Read = course.Highest(*one.High, before.High), course.Highest(*one.Read, before.Read)
		}
		moved[from.PID] = one
	}
	return moved
}

// wait keeps a reading until its tree's next boundary.
func (in *sequence) wait(r *windows.Tree, of *event.Reading) {
	if in.Limits.Room(&in.Limits.Readings, r != nil && in.waiting < windows.MaxReadings) {
		r.Readings = append(r.Readings, of)
		in.waiting++
	}
}

// endSegment adds the segment that ends to every open window of the tree.
func (in *sequence) endSegment(r *windows.Tree, b *event.Boundary, moved course.SegmentEnds) {
	changes := r.TakeChanges(b.Segment)
	if r.Last == nil {
		r.Last = &event.Boundary{}
		windows.Carry(r.Last, b)
	} else if b.Segment >= r.Ended {
		windows.Carry(r.Last, b)
	}
	r.Chains.Record(b.Segment, moved, in.GPUs.Meters)
	r.Ended = max(r.Ended, b.Segment) // two CPUs' boundaries may pass each other
	in.Session.Next()
	in.learn(r, b.Segment)
	in.activity.Requests.AskedIn(r, b.Segment)
	in.doubtSegment(r, &b.Doubts)
	latest := r.Latest()
	for kind, bytes := range b.Unsure {
		r.Unsure[kind].Push(in.Session.Cut, bytes)
	}
	r.Frees(&b.Frees)
	r.Gauges.See(in.Session.Cut, latest, &b.Tree, &b.TreeHigh, in.GPUs.Meters)
	r.Gauges.Certain(in.Session.Cut, &b.Tree, &b.TreeHigh, &r.Freed)
	r.Thin(&r.Gauges)
	for pid, m := range moved {
		p := in.Processes.Process(pid, b.Root)
		if p == nil {
			continue
		}
		if b.Kind == event.ProcessExec && pid == b.PID && p.IsForked {
			p.Replaced = in.Session.Cut
		}
		if p.Ended && !p.Alive && pid != b.PID {
			p.Reached(m.High, in.GPUs.Meters)
			continue
		}
		in.Processes.Enter(p, b.Root)
		p.Gauges.See(in.Session.Cut, latest, m.Value, m.High, in.GPUs.Meters)
		p.Gauges.Certain(in.Session.Cut, m.Value, m.High, &r.Freed)
		p.Gauges.Reach(in.Session.Cut, m.Read)
		r.Thin(&p.Gauges)
		if p.Adopted && p.Life == nil {
			p.Life = course.StartFigures(m.Value, in.GPUs.Meters)
		}
		p.Life.See(m.Value, m.High, in.GPUs.Meters)
		r.Moved(p, in.Session.Cut)
	}
	r.Rises(&b.TreeHigh, moved, in.GPUs.Meters)
	for pid, highs := range changes {
		if p := in.Processes.ByPID[pid]; p != nil {
			for _, l := range highs {
				p.Gauges.Need(l.Meter).Seen.Push(in.Session.Cut, l.Bytes)
			}
		}
	}
	r.Stream.Made = max(r.Stream.Made, b.Stream)
}

// doubtSegment notes what was lost or guessed by the end of a segment.
func (in *sequence) doubtSegment(r *windows.Tree, d *event.Doubts) {
	before := r.Drawn
	r.Drawn = in.Session.Cut
	if !windows.HasDoubts(d) && !windows.HasDoubts(&r.Doubts) {
		return
	}
	refused := r.RefusedSince(d)
	if d.UntracedNow > 0 || d.Untraced > r.Doubts.Untraced {
		r.Partly = in.Session.Cut
	}
	r.Doubts.Untraced, r.Doubts.UntracedNow = max(r.Doubts.Untraced, d.Untraced), d.UntracedNow
	for kind, size := range d.Missing {
		all := &r.Missing[kind]
		if all.Push(in.Session.Cut, size); len(*all) > windows.Crowded+2*len(r.Open) {
			all.Thin(r.Cuts())
		}
	}
	r.LoosenOpen(in.Session.Cut, &refused)
	// those readings were of the boundary before this one
	if refused[event.RefusedReadings] > 0 && r.Left == before && before > 0 {
		if r.Unread = append(r.Unread, before); len(r.Unread) > windows.MaxUnread {
			r.Unread = r.Unread[:windows.MaxUnread]
		}
	}
}
