package attribution

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

func (in *sequence) settle(drawn *event.Boundary, readings []*event.Reading) {
	one := *drawn // others keep the event as it is
	boundary := &one
	tree := in.Processes.Tree(boundary.Root)
	tree.Follows(boundary)
	in.Session.Draws(boundary)
	if p := in.Processes.ByPID[boundary.PID]; boundary.Kind == event.ProcessStart && p != nil && p.Ended {
		delete(in.Processes.ByPID, boundary.PID) // its pid was reused: that is another process
	}
	in.GPUs.Note(&boundary.Value, &boundary.High, &boundary.Tree, &boundary.TreeHigh)
	moved := in.gather(tree, boundary, readings)
	own := course.SegmentEnd{Value: &boundary.Value, High: &boundary.High, Read: &boundary.Value}
	// An exec: the same pid with its old memory, which in a forked process was its parent's. Or another CPU's boundary
	// read the process just before it drew this one, and this boundary overtook that one on the way here.
	if before, again := moved[boundary.PID]; again &&
		(boundary.Kind != event.ProcessExec || !in.Processes.IsForked(boundary.PID)) {
		own.High, own.Read = course.Highest(*own.High, before.High), course.Highest(*own.Read, before.Read)
	}
	moved[boundary.PID] = own
	in.withAttached(boundary, moved)
	tree.IsOne(boundary, &own)
	in.endSegment(tree, boundary, moved)
	in.apply(tree, boundary)
	tree.Breaks(boundary, in.Session.Cut)
	in.activity.Invariants.Segment(boundary, moved, in.Processes, in.GPUs.Meters)
	in.chart.Draw(tree, boundary, moved)
	tree.DrawnAt = boundary.Time
	in.queue.allocateIn(boundary.Root, tree, tree.Ended+1)
}

// withAttached raises a boundary's tree to at least the attached process: all that it has is the tree's. The kernel
// half keeps no maximum of a tree before its first child, which may begin anywhere in a segment.
func (in *sequence) withAttached(boundary *event.Boundary, moved course.SegmentEnds) {
	for pid, m := range moved {
		process := in.Processes.ByPID[pid]
		if m.Waited || process == nil || process.Parent != 0 || process.Session == nil ||
			process.Root != boundary.Root {
			continue
		}
		for _, meter := range in.GPUs.Meters {
			boundary.TreeHigh[meter] = max(boundary.TreeHigh[meter], m.High[meter])
		}
	}
}

// gather collects the readings of a boundary's segment: those that came with the boundary, and those that waited for
// one. Two CPUs' boundaries may pass each other. A reading that came with a boundary of another tree waits for one of
// its own. If the process's own boundary had already been drawn when the process was read, its high belongs to the next
// segment, and waits for the end of that: the windows that opened in between have it.
func (in *sequence) gather(tree *windows.Tree, boundary *event.Boundary, readings []*event.Reading) course.SegmentEnds {
	waited := tree.Readings
	tree.Readings, in.waiting = nil, in.waiting-len(tree.Readings)
	moved := course.SegmentEnds{}
	for i, from := range slices.Concat(waited, readings) {
		if of := in.Processes.RootOf(from, tree); of != tree || from.Since > boundary.Segment {
			in.wait(of, from)
			continue
		}
		in.GPUs.Note(&from.Value, &from.High)
		one := course.SegmentEnd{Value: &from.Value, High: &from.High, Read: &from.Value, Waited: i < len(waited) ||
			from.Since != 0 &&
				from.Since < boundary.Segment}
		if before, again := moved[from.PID]; again {
			one.High, one.Read = course.Highest(*one.High, before.High), course.Highest(*one.Read, before.Read)
		}
		moved[from.PID] = one
	}
	return moved
}

// wait keeps a reading until its tree's next boundary.
func (in *sequence) wait(tree *windows.Tree, of *event.Reading) {
	if in.Limits.Room(&in.Limits.Readings, tree != nil && in.waiting < windows.MaxReadings) {
		tree.Readings = append(tree.Readings, of)
		in.waiting++
	}
}

// endSegment adds the segment that ends to every open window of the tree.
func (in *sequence) endSegment(tree *windows.Tree, boundary *event.Boundary, moved course.SegmentEnds) {
	changes := tree.TakeChanges(boundary.Segment)
	if tree.Last == nil {
		tree.Last = &event.Boundary{}
		windows.Carry(tree.Last, boundary)
	} else if boundary.Segment >= tree.Ended {
		windows.Carry(tree.Last, boundary)
	}
	tree.Chains.Record(boundary.Segment, moved, in.GPUs.Meters)
	tree.Ended = max(tree.Ended, boundary.Segment) // two CPUs' boundaries may pass each other
	in.Session.Next()
	in.learn(tree, boundary.Segment)
	in.activity.Requests.AskedIn(tree, boundary.Segment)
	in.doubtSegment(tree, &boundary.Doubts)
	latest := tree.Latest()
	for kind, bytes := range boundary.Unsure {
		tree.Unsure[kind].Push(in.Session.Cut, bytes)
	}
	tree.Frees(&boundary.Frees)
	tree.Gauges.See(in.Session.Cut, latest, &boundary.Tree, &boundary.TreeHigh, in.GPUs.Meters)
	tree.Gauges.Certain(in.Session.Cut, &boundary.Tree, &boundary.TreeHigh, &tree.Freed)
	tree.Thin(&tree.Gauges)
	for pid, m := range moved {
		process := in.Processes.Process(pid, boundary.Root)
		if process == nil {
			continue
		}
		if boundary.Kind == event.ProcessExec && pid == boundary.PID && process.IsForked {
			process.Replaced = in.Session.Cut
		}
		if process.Ended && !process.Alive && pid != boundary.PID {
			process.Reached(m.High, in.GPUs.Meters)
			continue
		}
		in.Processes.Enter(process, boundary.Root)
		process.Gauges.See(in.Session.Cut, latest, m.Value, m.High, in.GPUs.Meters)
		process.Gauges.Certain(in.Session.Cut, m.Value, m.High, &tree.Freed)
		process.Gauges.Reach(in.Session.Cut, m.Read)
		tree.Thin(&process.Gauges)
		if process.Adopted && process.Life == nil {
			process.Life = course.StartFigures(m.Value, in.GPUs.Meters)
		}
		process.Life.See(m.Value, m.High, in.GPUs.Meters)
		tree.Moved(process, in.Session.Cut)
	}
	tree.Rises(&boundary.TreeHigh, moved, in.GPUs.Meters)
	for pid, highs := range changes {
		if p := in.Processes.ByPID[pid]; p != nil {
			for _, l := range highs {
				p.Gauges.Need(l.Meter).Seen.Push(in.Session.Cut, l.Bytes)
			}
		}
	}
	tree.Stream.Made = max(tree.Stream.Made, boundary.Stream)
}

// doubtSegment notes what was lost or guessed by the end of a segment.
func (in *sequence) doubtSegment(tree *windows.Tree, d *event.Doubts) {
	before := tree.Drawn
	tree.Drawn = in.Session.Cut
	if !windows.HasDoubts(d) && !windows.HasDoubts(&tree.Doubts) {
		return
	}
	refused := tree.RefusedSince(d)
	if d.UntracedNow > 0 || d.Untraced > tree.Doubts.Untraced {
		tree.Partly = in.Session.Cut
	}
	tree.Doubts.Untraced, tree.Doubts.UntracedNow = max(tree.Doubts.Untraced, d.Untraced), d.UntracedNow
	for kind, size := range d.Missing {
		all := &tree.Missing[kind]
		if all.Push(in.Session.Cut, size); len(*all) > windows.Crowded+2*len(tree.Open) {
			all.Thin(tree.Cuts())
		}
	}
	tree.LoosenOpen(in.Session.Cut, &refused)
	// those readings were of the boundary before this one
	if refused[event.RefusedReadings] > 0 && tree.Left == before && before > 0 {
		if tree.Unread = append(tree.Unread, before); len(tree.Unread) > windows.MaxUnread {
			tree.Unread = tree.Unread[:windows.MaxUnread]
		}
	}
}
