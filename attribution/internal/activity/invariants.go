package activity

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
)

// Invariants are conditions that hold for every session, whatever the target does: a process ends once, a tree is at
// least as high as each of its processes, and a window as each window inside it. Where one of them does not hold,
// attribution took in an input that the kernel half cannot have meant. Figures are then wrong, and nothing else would
// report that.
type Invariants struct {
	words.Broken

	Inside map[*windows.Window]*Inside
	trees  map[uint32]*treeMaxima
}

// Inside is the highest values, so far, of the closed windows inside an open one.
type Inside struct{ Own, Tree course.Levels }

// Skew is the number of boundaries of a tree by which a process's maximum may come before or after its tree's. One
// maximum is taken a moment before the other, and other CPUs may draw boundaries in between.
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
	left  int // the number of boundaries left in which the tree may reach it
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
	left := r.owed[:0]
	for _, o := range r.owed {
		if high[o.meter] >= o.bytes {
			continue
		}
		if o.left--; o.left == 0 {
			missing++
			continue
		}
		left = append(left, o)
	}
	r.owed = left
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

// left checks a closed window, and records its highest values for the window around it. A window that is still open
// will end at its cell's result, and is checked then.
func (i *Invariants) left(window *windows.Window) {
	in := i.Inside[window]
	delete(i.Inside, window)
	if window.IsOpen {
		return
	}
	if in != nil && (in.Own.Above(window.Own, window.Paused) || in.Tree.Above(window.Tree, window.Paused)) ||
		window.Kind == windows.KindSession &&
			window.Opened == window.Process.Began && window.Own.Below(window.Process.Life, window.Paused) {
		i.LowWindows++
	}
	up := window.Parent
	if up == nil || !up.IsOpen || up.Process != window.Process || up.Root != window.Root || up.Since > window.Since {
		return
	}
	in = i.Inside[up]
	if in == nil {
		in = &Inside{}
		if i.Inside == nil {
			i.Inside = map[*windows.Window]*Inside{}
		}
		i.Inside[up] = in
	}
	in.Own.RaiseAll(window.Own)
	in.Tree.RaiseAll(window.Tree)
}
