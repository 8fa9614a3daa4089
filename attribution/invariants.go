package attribution

import (
	"slices"

	"ipytracer/event"
	"ipytracer/model/words"
)

// invariants are what holds of every session, whatever the target does: a process ends once, a tree is at least as high
// as each of its processes, and a window as each window inside it. Where one of them does not hold, something was taken
// in that the kernel half cannot have meant, and figures are wrong of which nothing else would say so.
type invariants struct {
	endedAgain uint64 // ends of processes that had ended
	lowTrees   uint64 // maxima of a process that its tree has not reached
	lowWindows uint64 // windows that are lower than one inside them, or a session than its process
	inside     map[*window]*inside
	trees      map[uint32]*treeMaxima
}

// inside is how high the windows inside one that is open were, of those that are over.
type inside struct{ own, tree levels }

// skew is by how many boundaries of a tree what a process reached may come before or after what its tree reached: the
// one is taken a moment earlier or later than the other, and boundaries on other CPUs may be drawn in between.
const skew = 16

// maxOwed is how many maxima are kept that a tree has yet to reach.
const maxOwed = 256

// treeMaxima are the last maxima of a tree, and what it has yet to reach.
type treeMaxima struct {
	last [skew]event.Readings
	next int
	owed []owed
}

// owed is a maximum of a process that none of its tree's has reached so far.
type owed struct {
	meter event.Meter
	bytes event.Bytes
	left  int // how many boundaries there are left for it
}

// ends looks at the end of a process, before it is taken in.
func (i *invariants) ends(p *process) {
	if p.ended && !p.alive {
		i.endedAgain++
	}
}

// segment looks at what a segment did to a tree and to the processes in it, when it has been taken in. Of an exec, the
// old memory's and the new one's maxima are one process's, and were not in the tree together.
func (i *invariants) segment(b *event.Boundary, moved moves, ps *processes, meters []event.Meter) {
	tree := i.trees[b.Root]
	if tree == nil {
		tree = &treeMaxima{}
		if i.trees == nil {
			i.trees = map[uint32]*treeMaxima{}
		}
		i.trees[b.Root] = tree
	}
	i.lowTrees += tree.see(&b.TreeHigh)
	for pid, m := range moved {
		p := ps.byPID[pid]
		if m.waited || p == nil || p.root != b.Root || pid == b.PID && b.Kind == event.ProcessExec {
			continue
		}
		for _, meter := range meters {
			// A forked child's tree has what it shares with its parent once.
			if bytes := m.high[meter]; bytes > b.TreeHigh[meter] && meter.Facts().Kind != event.Sampled {
				tree.owe(meter, bytes-p.copied.of(meter))
			}
		}
	}
}

// see takes a tree's maxima in. It returns how many of what it owed it has not reached in time.
func (r *treeMaxima) see(high *event.Readings) (missing uint64) {
	r.last[r.next%skew] = *high
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

// owe notes a maximum that the tree must reach, unless it has just done so.
func (r *treeMaxima) owe(m event.Meter, bytes event.Bytes) {
	for i := range r.last {
		if r.last[i][m] >= bytes {
			return
		}
	}
	if len(r.owed) < maxOwed {
		r.owed = append(r.owed, owed{m, bytes, skew})
	}
}

// left looks at a window that is over, and notes how high it was for the one around it. One that is open still will end
// where its cell had its result, and is looked at then.
func (i *invariants) left(w *window) {
	in := i.inside[w]
	delete(i.inside, w)
	if w.isOpen {
		return
	}
	if in != nil && (in.own.above(w.own, w.shed) || in.tree.above(w.tree, w.shed)) || w.kind == kindSession &&
		w.opened == w.process.began && w.own.below(w.process.life, w.shed) {
		i.lowWindows++
	}
	up := w.parent
	if up == nil || !up.isOpen || up.process != w.process || up.root != w.root || up.since > w.since {
		return
	}
	in = i.inside[up]
	if in == nil {
		in = &inside{}
		if i.inside == nil {
			i.inside = map[*window]*inside{}
		}
		i.inside[up] = in
	}
	in.own.raiseAll(w.own)
	in.tree.raiseAll(w.tree)
}

// raiseAll makes levels as high as the highest of figures.
func (all *levels) raiseAll(to figures) {
	for _, f := range to {
		all.raise(f.meter, f.highest())
	}
}

// above says whether any level is above the highest of its figure. Of meters that were stepped down figures are lower
// bounds, each for itself.
func (all levels) above(of figures, shed []event.Meter) bool {
	for _, l := range all {
		if !slices.Contains(shed, l.meter) && l.bytes > of.of(l.meter).highest() {
			return true
		}
	}
	return false
}

// below says whether any figure is below another one of its meter, apart from those of meters that were stepped down.
func (all figures) below(others figures, shed []event.Meter) bool {
	for _, f := range others {
		if !slices.Contains(shed, f.meter) && all.of(f.meter).highest() < f.highest() {
			return true
		}
	}
	return false
}

// broken says in words which invariants do not hold.
func (i *invariants) broken() (reasons []string) {
	for _, one := range []struct {
		n    uint64
		text func(uint64) string
	}{{i.endedAgain, words.EndedAgain}, {i.lowTrees, words.TreesTooLow}, {i.lowWindows, words.WindowsTooLow}} {
		if one.n > 0 {
			reasons = append(reasons, one.text(one.n))
		}
	}
	return reasons
}
