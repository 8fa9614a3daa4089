package activity

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
)

// Invariants checks three conditions that hold for every session, whatever the target does: a process ends once, a tree
// is at least as high as each of its processes, and a window is at least as high as each window inside it. If one does
// not hold, the input cannot be what the kernel half meant. Figures are then wrong, and nothing else reports that.
type Invariants struct {
	words.Broken

	Inside map[*windows.Window]*Inside
	trees  map[uint32]*treeMaxima
}

// Inside has the highest values so far of the closed windows inside an open window.
type Inside struct{ Own, Tree course.Levels }

// Skew is the largest number of boundaries between a process's maximum and the same maximum of its tree. The two are
// taken one after the other, and other CPUs may draw boundaries in between.
const Skew = 16

// maxOwed limits the maxima that are kept because a tree has yet to reach them.
const maxOwed = 256

// treeMaxima are the last maxima of a tree, and the maxima that it has yet to reach.
type treeMaxima struct {
	last [Skew]event.Readings
	next int
	owed []owed
}

// owed is a maximum of a process that no maximum of its tree has reached so far.
type owed struct {
	meter event.Meter
	bytes event.Bytes
	left  int // number of boundaries by which the tree must reach it
}

// Ends checks the end of a process, before it is taken in.
func (i *Invariants) Ends(p *windows.Process) {
	if p.Ended && !p.Alive {
		i.EndedAgain++
	}
}

// Segment checks the effect of a segment on a tree and on the processes in it, after it was taken in. At an exec the
// maxima of the old memory and of the new memory belong to one process, but the two were not in the tree together.
func (i *Invariants) Segment(boundary *event.Boundary, moved course.SegmentEnds, ps *windows.Processes,
	meters []event.Meter) {
	tree := i.trees[boundary.Root]
	if tree == nil {
		tree = &treeMaxima{}
		if i.trees == nil {
			i.trees = map[uint32]*treeMaxima{}
		}
		i.trees[boundary.Root] = tree
	}
	i.LowTrees += tree.see(&boundary.TreeHigh)
	for pid, m := range moved {
		process := ps.ByPID[pid]
		if m.Waited || process == nil || process.Root != boundary.Root ||
			pid == boundary.PID && boundary.Kind == event.ProcessExec {
			continue
		}
		for _, meter := range meters {
			// The tree counts the memory that a forked child shares with its parent once.
			if bytes := m.High[meter]; bytes > boundary.TreeHigh[meter] && meter.Facts().Kind != event.Sampled {
				tree.owe(meter, bytes-process.Copied.Of(meter))
			}
		}
	}
}

// see takes in a tree's maxima. It returns the number of owed maxima that the tree did not reach in time.
func (r *treeMaxima) see(high *event.Readings) (missing uint64) {
	r.last[r.next%Skew] = *high
	r.next++
	open := r.owed[:0]
	for _, o := range r.owed {
		if high[o.meter] >= o.bytes {
			continue
		}
		if o.left--; o.left == 0 {
			missing++
			continue
		}
		open = append(open, o)
	}
	r.owed = open
	return missing
}

// owe records a maximum that the tree must reach, unless the tree has just reached it.
func (r *treeMaxima) owe(m event.Meter, bytes event.Bytes) {
	for i := range r.last {
		if r.last[i][m] >= bytes {
			return
		}
	}
	if len(r.owed) < maxOwed {
		r.owed = append(r.owed, owed{m, bytes, Skew})
	}
}

// check checks a closed window against the windows inside it, and records its highest values for the window around it.
// An open window will end at its cell's result, and is checked then.
func (i *Invariants) check(window *windows.Window) {
	inside := i.Inside[window]
	delete(i.Inside, window)
	if window.IsOpen {
		return
	}
	isBelowInside := inside != nil &&
		(inside.Own.Above(window.Own, window.Paused) || inside.Tree.Above(window.Tree, window.Paused))
	isWholeLife := window.Kind == windows.KindSession && window.Opened == window.Process.Began
	if isBelowInside || isWholeLife && window.Own.Below(window.Process.Life, window.Paused) {
		i.LowWindows++
	}
	parent := window.Parent
	if parent == nil || !parent.IsOpen || parent.Process != window.Process || parent.Root != window.Root ||
		parent.Since > window.Since {
		return
	}
	inside = i.Inside[parent]
	if inside == nil {
		inside = &Inside{}
		if i.Inside == nil {
			i.Inside = map[*windows.Window]*Inside{}
		}
		i.Inside[parent] = inside
	}
	inside.Own.RaiseAll(window.Own)
	inside.Tree.RaiseAll(window.Tree)
}
