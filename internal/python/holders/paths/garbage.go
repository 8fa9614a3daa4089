package paths

import (
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// counts is for objects without a root. As the garbage collector does, it compares each object's reference count with
// the references that come from others of the kind: an object with more is held by code in C, and so is everything that
// it holds. The rest is garbage: objects that hold each other.
type counts struct {
	*walk.Finder
	taker walk.ArrayTaker // takes arrays that are met meanwhile
	first int32           // nodes from here on were not reached from a root
	refs  []int64         // seen of node first+i
	live  []bool          // second pass: held from outside
	queue []int32
	lost  *LostCycles // third pass: takes the references of those that are not
}

var (
	_ walk.Visitor      = (*counts)(nil)
	_ walk.ArrayTaker   = (*counts)(nil)
	_ walk.LibraryTaker = (*counts)(nil)
)

func (c *counts) Over() bool { return false }

// Refer follows a class's references to itself, too.
func (c *counts) Refer(from int32, to uint64, kind objects.Step, l walk.Label) bool {
	if kind == objects.StepCounting {
		return c.Reach(from, to, l)
	}
	return c.Finder.Refer(from, to, kind, l)
}

// Count adds a reference that the first pass has not added. (In the second pass other callers mark the target as held,
// too.)
func (c *counts) Count(from, to int32) {
	switch {
	case c.lost != nil:
		c.lost.take(c, from, to)
	case !c.Uncounted || c.live != nil:
		c.reference(to)
	}
}

func (c *counts) Array(n int32, addr, data uint64) { c.taker.Array(n, addr, data) }

func (c *counts) ArrayNoted(n int32, a objects.ArrayNote) { c.taker.ArrayNoted(n, a) }

func (c *counts) ReadsArrays() bool { return c.taker.ReadsArrays() }

// Library does nothing: the holders of blocks that lie in C++ objects follow from the holders of these.
func (c *counts) Library(int32, uint64, *objects.Type) {}

// reference counts a reference to a node, or in the second pass passes on that it is held.
func (c *counts) reference(n int32) {
	if n < c.first {
		return
	}
	i := int(n - c.first)
	for len(c.refs) <= i {
		c.refs = append(c.refs, 0)
	}
	if c.live == nil {
		c.refs[i]++
	} else if i < len(c.live) && !c.live[i] {
		c.live[i] = true
		c.queue = append(c.queue, n)
	}
}

// FindGarbage looks for the remaining blocks in the objects that the garbage collector knows and no root leads to. It
// returns the cycles among these that the collector does not see, nil for none.
func FindGarbage(w *walk.Walker) *LostCycles {
	if w.Done() {
		return nil
	}
	w.Kind, w.Deferring = walk.KindCycle, false
	at, before := w.RootLabel(""), w.Visitor
	c := &counts{Finder: &walk.Finder{Walker: w}, taker: w.Arrays, first: int32(len(w.Nodes))}
	w.VisitFor(c)
	for id, one := range w.Notes.Noted {
		if one.Is(objects.NoteTracked) && !one.Is(objects.NoteLeaf) && one.TypeNumber() != 0 && w.Of[id] == 0 {
			w.Add(-1, w.Notes.Addrs[id], int32(id), at, walk.NodeObject)
		}
	}
	w.Run()
	doubtful := newDoubtful(c)
	c.refs = append(c.refs, make([]int64, max(0, len(w.Nodes)-int(c.first)-len(c.refs)))...)
	c.live = make([]bool, len(c.refs))
	for i, seen := range c.refs {
		n := c.first + int32(i)
		switch has := c.referencesOf(n); {
		case has > seen+doubtful.to[n]:
			c.reference(n)
		case has > seen:
			doubtful.needed = append(doubtful.needed, n)
		}
	}
	doubtful.spread()
	for i, live := range c.live {
		if live {
			w.Nodes[c.first+int32(i)].Kind = walk.KindNone
		}
	}
	doubtful.mark()
	l := findLost(c, doubtful)
	w.VisitFor(before)
	return l
}

// referencesOf returns the reference count of a node: the survey's note, as the references that were seen are its.
func (c *counts) referencesOf(n int32) int64 {
	if id := c.Nodes[n].ID; id >= 0 && c.Notes.Noted[id].TypeNumber() != 0 {
		return int64(c.Notes.Noted[id].References)
	}
	return c.References(c.Addrs[n])
}
