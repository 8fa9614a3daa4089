package attribution

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// settle ends a segment at a boundary, now that its readings are in, and applies the boundary to windows and processes.
// It changes the boundary, which is no event's own memory.
func (in *sequence) settle(boundary *event.Boundary, readings []*event.Reading) {
	tree := in.Processes.Tree(boundary.Root)
	tree.EnsureLater(boundary)
	in.Session.RecordBoundary(boundary)
	if p := in.Processes.ByPID[boundary.PID]; boundary.Kind == event.ProcessStart && p != nil && p.Ended {
		delete(in.Processes.ByPID, boundary.PID) // the pid was reused: this is another process
	}
	in.GPUs.MarkUsed(&boundary.Value, &boundary.High, &boundary.Tree, &boundary.TreeHigh)
	moved := in.gather(tree, boundary, readings)
	own := course.SegmentEnd{Value: &boundary.Value, High: &boundary.High, Read: &boundary.Value}
	// There may be an earlier reading of the boundary's own process, and both count. At an exec it is a reading of the
	// old memory. Otherwise another CPU's boundary read the process a moment earlier, and arrives later. At the exec of
	// a forked process the old memory was its parent's, and does not count.
	isForkedExec := boundary.Kind == event.ProcessExec && in.Processes.IsForked(boundary.PID)
	if before, wasRead := moved[boundary.PID]; wasRead && !isForkedExec {
		own.High, own.Read = course.Highest(*own.High, before.High), course.Highest(*own.Read, before.Read)
	}
	moved[boundary.PID] = own
	in.raiseTree(boundary, moved)
	tree.CopyIfAlone(boundary, &own)
	in.endSegment(tree, boundary, moved)
	in.apply(tree, boundary)
	tree.FollowPauses(boundary, in.Session.Cut)
	in.activity.Invariants.Segment(boundary, moved, in.Processes, in.GPUs.Meters)
	in.chart.Draw(tree, boundary, moved)
	tree.DrawnAt = boundary.Time
	in.queue.allocateIn(boundary.Root, tree, tree.Ended+1)
}

// raiseTree raises the highs of a boundary's tree to those of the attached process, whose memory is part of the tree.
// The kernel half keeps no high of a tree before its first child, which may begin in the middle of a segment.
func (in *sequence) raiseTree(boundary *event.Boundary, moved course.SegmentEnds) {
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

// gather collects the readings of the segment that a boundary ends: the readings that came with the boundary, and the
// readings that waited. Boundaries of two CPUs may arrive in the wrong order, so two kinds of readings wait. A reading
// of another tree waits for a boundary of that tree. A reading that began after this segment (Since) belongs to a later
// segment, and waits for its end: windows that opened in between have its high.
// The result is valid until the next call.
func (in *sequence) gather(tree *windows.Tree, boundary *event.Boundary, readings []*event.Reading) course.SegmentEnds {
	waited := tree.Readings
	tree.Readings, in.waiting = nil, in.waiting-len(tree.Readings)
	const usual = 64
	if in.moved == nil || len(in.moved) > usual { // a map that was large takes long to clear
		in.moved = course.SegmentEnds{}
	}
	moved := in.moved
	clear(moved)
	if len(waited)+len(readings) == 0 {
		return moved
	}
	for i, reading := range slices.Concat(waited, readings) {
		if itsTree := in.Processes.TreeOfReading(reading, tree); itsTree != tree || reading.Since > boundary.Segment {
			in.wait(itsTree, reading)
			continue
		}
		in.GPUs.MarkUsed(&reading.Value, &reading.High)
		coversEarlier := reading.Since != 0 && reading.Since < boundary.Segment
		end := course.SegmentEnd{Value: &reading.Value, High: &reading.High, Read: &reading.Value,
			Waited: i < len(waited) || coversEarlier}
		if before, wasRead := moved[reading.PID]; wasRead {
			end.High, end.Read = course.Highest(*end.High, before.High), course.Highest(*end.Read, before.Read)
		}
		moved[reading.PID] = end
	}
	return moved
}

// wait keeps a reading until its tree's next boundary.
func (in *sequence) wait(tree *windows.Tree, reading *event.Reading) {
	if in.Limits.Room(&in.Limits.Readings, tree != nil && in.waiting < windows.MaxReadings) {
		tree.Readings = append(tree.Readings, reading)
		in.waiting++
	}
}

// endSegment records the values and highs of a segment that ends, of the tree and of each process that moved.
func (in *sequence) endSegment(tree *windows.Tree, boundary *event.Boundary, moved course.SegmentEnds) {
	changes := tree.TakeChanges(boundary.Segment)
	isFirst := tree.Last == nil
	if isFirst {
		tree.Last = &event.Boundary{}
	}
	if isFirst || boundary.Segment >= tree.Ended {
		windows.CarryCounts(tree.Last, boundary)
	}
	tree.Chains.Record(boundary.Segment, moved, in.GPUs.Meters)
	tree.Ended = max(tree.Ended, boundary.Segment) // two CPUs' boundaries may pass each other
	in.Session.NextCut()
	in.applyLearned(tree, boundary.Segment)
	in.activity.Requests.AddAsked(tree, boundary.Segment)
	in.doubtSegment(tree, &boundary.Doubts)
	latest := tree.Latest()
	for kind, bytes := range boundary.Unsure {
		tree.Unsure[kind].Push(in.Session.Cut, bytes)
	}
	tree.RecordFrees(&boundary.Frees)
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
			process.RaiseLate(m.High, in.GPUs.Meters)
			continue
		}
		in.Processes.MoveToTree(process, boundary.Root)
		process.Gauges.See(in.Session.Cut, latest, m.Value, m.High, in.GPUs.Meters)
		process.Gauges.Certain(in.Session.Cut, m.Value, m.High, &tree.Freed)
		process.Gauges.Reach(in.Session.Cut, m.Read)
		tree.Thin(&process.Gauges)
		if process.Adopted && process.Life == nil {
			process.Life = course.StartFigures(m.Value, in.GPUs.Meters)
		}
		process.Life.See(m.Value, m.High, in.GPUs.Meters)
		tree.MarkMoved(process, in.Session.Cut)
	}
	tree.RecordSummits(&boundary.TreeHigh, moved, in.GPUs.Meters)
	for pid, highs := range changes {
		if p := in.Processes.ByPID[pid]; p != nil {
			for _, l := range highs {
				p.Gauges.Need(l.Meter).Seen.Push(in.Session.Cut, l.Bytes)
			}
		}
	}
	tree.Stream.Made = max(tree.Stream.Made, boundary.Stream)
}

// doubtSegment records the losses and guesses that the kernel half counted up to the end of a segment, and marks the
// windows that they may concern.
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
		peaks := &tree.Missing[kind]
		if peaks.Push(in.Session.Cut, size); len(*peaks) > windows.Crowded+2*len(tree.Open) {
			peaks.Thin(tree.Cuts())
		}
	}
	tree.LoosenOpen(in.Session.Cut, &refused)
	// The refused readings belonged to the boundary before this one. Windows that closed there lack them.
	if refused[event.RefusedReadings] > 0 && tree.Left == before && before > 0 {
		if tree.Unread = append(tree.Unread, before); len(tree.Unread) > windows.MaxUnread {
			tree.Unread = tree.Unread[:windows.MaxUnread]
		}
	}
}
