package attribution

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
)

func (in *intake) settle(drawn *event.Boundary, readings []*event.Reading) {
	one := *drawn // others keep the event as it is
	b := &one
	r := in.processes.root(b.Root)
	r.follows(b)
	in.session.draws(b)
	if p := in.processes.byPID[b.PID]; b.Kind == event.ProcessStart && p != nil && p.ended {
		delete(in.processes.byPID, b.PID) // its pid was reused: that is another process
	}
	in.gpus.note(&b.Value, &b.High, &b.Tree, &b.TreeHigh)
	moved := in.gather(r, b, readings)
	own := course.Movement{Value: &b.Value, High: &b.High, Read: &b.Value}
	// An exec: the same pid with its old memory, which in a forked process was its parent's. Or another CPU's boundary
	// read the process just before it drew this one, and this boundary overtook that one on the way here.
	if before, again := moved[b.PID]; again && (b.Kind != event.ProcessExec || !in.processes.isForked(b.PID)) {
		own.High, own.Read = course.Highest(*own.High, before.High), course.Highest(*own.Read, before.Read)
	}
	moved[b.PID] = own
	in.withAttached(b, moved)
	r.isOne(b, &own)
	in.endSegment(r, b, moved)
	in.apply(r, b)
	r.breaks(b, in.session.cut)
	in.invariants.segment(b, moved, in.processes, in.gpus.meters)
	in.chart.draw(r, b, moved)
	r.drawnAt = b.Time
	in.queue.allocateIn(b.Root, r, r.ended+1)
}

// withAttached raises a boundary's tree to at least the attached process: all that it has is the tree's. The kernel
// half keeps no maximum of a tree before its first child, which may begin anywhere in a segment.
func (in *intake) withAttached(b *event.Boundary, moved course.Movements) {
	for pid, m := range moved {
		p := in.processes.byPID[pid]
		if m.Waited || p == nil || p.parent != 0 || p.session == nil || p.root != b.Root {
			continue
		}
		for _, meter := range in.gpus.meters {
			b.TreeHigh[meter] = max(b.TreeHigh[meter], m.High[meter])
		}
	}
}

// gather collects the readings of a boundary's segment: those that came with the boundary, and those that waited for
// one. Two CPUs' boundaries may pass each other. A reading that came with a boundary of another tree waits for one of
// its own. If the process's own boundary had already been drawn when the process was read, its high belongs to the next
// segment, and waits for the end of that: the windows that opened in between have it.
func (in *intake) gather(r *root, b *event.Boundary, readings []*event.Reading) course.Movements {
	waited := r.readings
	r.readings, in.waiting = nil, in.waiting-len(r.readings)
	moved := course.Movements{}
	for i, from := range slices.Concat(waited, readings) {
		if of := in.processes.rootOf(from, r); of != r || from.Since > b.Segment {
			in.wait(of, from)
			continue
		}
		in.gpus.note(&from.Value, &from.High)
		one := course.Movement{Value: &from.Value, High: &from.High, Read: &from.Value, Waited: i < len(waited) ||
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
func (in *intake) wait(r *root, of *event.Reading) {
	if in.limits.room(&in.limits.Readings, r != nil && in.waiting < maxReadings) {
		r.readings = append(r.readings, of)
		in.waiting++
	}
}

// endSegment adds the segment that ends to every open window of the tree.
func (in *intake) endSegment(r *root, b *event.Boundary, moved course.Movements) {
	changes := r.takeChanges(b.Segment)
	if r.last == nil {
		r.last = &event.Boundary{}
		carry(r.last, b)
	} else if b.Segment >= r.ended {
		carry(r.last, b)
	}
	r.sides.Record(b.Segment, moved, in.gpus.meters)
	r.ended = max(r.ended, b.Segment) // two CPUs' boundaries may pass each other
	in.session.next()
	in.learn(r, b.Segment)
	in.requests.askedIn(r, b.Segment)
	in.doubtSegment(r, &b.Doubts)
	latest := r.latest()
	for kind, bytes := range b.Unsure {
		r.unsure[kind].Push(in.session.cut, bytes)
	}
	r.frees(&b.Frees)
	r.past.See(in.session.cut, latest, &b.Tree, &b.TreeHigh, in.gpus.meters)
	r.past.Certain(in.session.cut, &b.Tree, &b.TreeHigh, &r.freed)
	r.thin(&r.past)
	for pid, m := range moved {
		p := in.processes.process(pid, b.Root)
		if p == nil {
			continue
		}
		if b.Kind == event.ProcessExec && pid == b.PID && p.isForked {
			p.replaced = in.session.cut
		}
		if p.ended && !p.alive && pid != b.PID {
			p.reached(m.High, in.gpus.meters)
			continue
		}
		in.processes.enter(p, b.Root)
		p.past.See(in.session.cut, latest, m.Value, m.High, in.gpus.meters)
		p.past.Certain(in.session.cut, m.Value, m.High, &r.freed)
		p.past.Reach(in.session.cut, m.Read)
		r.thin(&p.past)
		if p.adopted && p.life == nil {
			p.life = course.StartFigures(m.Value, in.gpus.meters)
		}
		p.life.See(m.Value, m.High, in.gpus.meters)
		r.moved(p, in.session.cut)
	}
	r.rises(&b.TreeHigh, moved, in.gpus.meters)
	for pid, highs := range changes {
		if p := in.processes.byPID[pid]; p != nil {
			for _, l := range highs {
				p.past.Need(l.Meter).Seen.Push(in.session.cut, l.Bytes)
			}
		}
	}
	r.stream.Made = max(r.stream.Made, b.Stream)
}

// doubtSegment notes what was lost or guessed by the end of a segment.
func (in *intake) doubtSegment(r *root, d *event.Doubts) {
	before := r.drawn
	r.drawn = in.session.cut
	if !hasDoubts(d) && !hasDoubts(&r.doubts) {
		return
	}
	refused := r.refusedSince(d)
	if d.UntracedNow > 0 || d.Untraced > r.doubts.Untraced {
		r.partly = in.session.cut
	}
	r.doubts.Untraced, r.doubts.UntracedNow = max(r.doubts.Untraced, d.Untraced), d.UntracedNow
	for kind, size := range d.Missing {
		all := &r.missing[kind]
		if all.Push(in.session.cut, size); len(*all) > crowded+2*len(r.open) {
			all.Thin(r.cuts())
		}
	}
	r.loosenOpen(in.session.cut, &refused)
	// those readings were of the boundary before this one
	if refused[event.RefusedReadings] > 0 && r.left == before && before > 0 {
		if r.unread = append(r.unread, before); len(r.unread) > maxUnread {
			r.unread = r.unread[:maxUnread]
		}
	}
}
