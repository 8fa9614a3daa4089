package paths

import (
	"cmp"
	"slices"

	"ipytracer/event"
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
	lost  *lostCycles // third pass: takes the references of those that are not
}

var (
	_ walk.Visitor      = (*counts)(nil)
	_ walk.ArrayTaker   = (*counts)(nil)
	_ walk.LibraryTaker = (*counts)(nil)
)

func (c *counts) Over() bool { return false }

// Refer follows a class's references to itself, too.
func (c *counts) Refer(from int32, to uint64, kind objects.Step, label walk.Label) bool {
	if kind == objects.StepCounting {
		return c.Reach(from, to, label)
	}
	return c.Finder.Refer(from, to, kind, label)
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

func (c *counts) Array(node int32, addr, data uint64) { c.taker.Array(node, addr, data) }

func (c *counts) ArrayNoted(node int32, a objects.ArrayNote) { c.taker.ArrayNoted(node, a) }

func (c *counts) ReadsArrays() bool { return c.taker.ReadsArrays() }

// Library does nothing: blocks of C++ objects have the holders of these objects.
func (c *counts) Library(int32, uint64, *objects.Type) {}

// reference counts a reference to a node, or in the second pass passes on that it is held.
func (c *counts) reference(node int32) {
	if node < c.first {
		return
	}
	i := int(node - c.first)
	for len(c.refs) <= i {
		c.refs = append(c.refs, 0)
	}
	if c.live == nil {
		c.refs[i]++
	} else if i < len(c.live) && !c.live[i] {
		c.live[i] = true
		c.queue = append(c.queue, node)
	}
}

// FindGarbage looks for the remaining blocks in the objects that the garbage collector knows and no root leads to. It
// returns the cycles among these that the collector does not see, nil for none.
func FindGarbage(w *walk.Walker) *lostCycles {
	if w.Done() {
		return nil
	}
	w.Kind, w.Deferring = walk.KindCycle, false
	at, before := w.RootLabel(""), w.Visitor
	c := &counts{Finder: &walk.Finder{Walker: w}, taker: w.Arrays, first: int32(len(w.Nodes))}
	w.VisitFor(c)
	w.AddUnreached(at, func(int32) bool { return true })
	w.Run()
	doubtful := newDoubtful(c)
	c.refs = append(c.refs, make([]int64, max(0, len(w.Nodes)-int(c.first)-len(c.refs)))...)
	c.live = make([]bool, len(c.refs))
	for i, seen := range c.refs {
		node := c.first + int32(i)
		switch has := c.referencesOf(node); {
		case has > seen+doubtful.to[node]:
			c.reference(node)
		case has > seen:
			doubtful.needed = append(doubtful.needed, node)
		}
	}
	doubtful.spread()
	for i, live := range c.live {
		if live {
			w.Nodes[c.first+int32(i)].Kind = walk.KindNone
		}
	}
	doubtful.mark()
	lost := findLost(c, doubtful)
	w.VisitFor(before)
	return lost
}

// referencesOf returns the reference count of a node: the survey's note, as the references that were seen are its.
func (c *counts) referencesOf(node int32) int64 {
	if id := c.Nodes[node].ID; c.Notes.TypeOf(id) != nil {
		return int64(c.Notes.Noted[id].References)
	}
	return c.References(c.Addrs[node])
}

// take takes in a reference between objects without a root.
func (lost *lostCycles) take(c *counts, from, to int32) {
	if from < lost.first || to < lost.first || int(to-lost.first) >= len(c.live) || c.live[to-lost.first] {
		return
	}
	if lost.arcs.Count == MaxArcs {
		c.Stopped = objects.ErrObjects
		return
	}
	lost.arcs.Add(from-lost.first, to-lost.first)
	if c.Hides(from) || isUntracked(c.Walker, from) {
		lost.hidden.Add(from-lost.first, to-lost.first)
	}
}

// isUntracked reports whether the collector does not know an object of a type of which it knows others. It does not
// know dicts and tuples of objects that it does not know either.
func isUntracked(w *walk.Walker, node int32) bool {
	id, typ := w.Nodes[node].ID, w.TypeOf(node)
	if id < 0 || w.Nodes[node].What != walk.NodeObject || typ == nil || !w.Notes.Collector.Complete {
		return false
	}
	switch typ.Shape {
	case objects.ShapeDict, objects.ShapeTuple, objects.ShapeType:
		return false
	}
	return !w.Notes.Noted[id].Is(objects.NoteTracked)
}

// findLost finds the lost cycles, once it is known which objects without a root are held from outside.
func findLost(c *counts, words *doubtful) *lostCycles {
	lost := &lostCycles{first: c.first, described: map[int32]*event.Lost{}}
	hides := false
	for i := range c.live {
		typ := c.TypeOf(c.first + int32(i))
		hides = hides || !c.live[i] && typ != nil && typ.HiddenBefore != 0
	}
	if !hides {
		return nil
	}
	c.lost = lost
	for i := 0; i < len(c.live) && !c.Done(); i++ {
		if node := c.first + int32(i); !c.live[i] && c.Nodes[node].What != walk.NodePart {
			c.Visit(node)
			for _, to := range words.from[node] {
				lost.take(c, node, to)
			}
		}
	}
	c.lost, c.Beliefs.Doubts = nil, nil
	named := func(tail int32) int32 { return tail }
	g := NewGraph(len(c.live), lost.arcs, named, false)
	let := func(v int32) bool { return !c.live[v] }
	if lost.on, lost.part = g.OnCycles(&lost.hidden, let); len(lost.on) == 0 {
		return nil
	}
	slices.SortStableFunc(lost.on, func(a, b arc) int {
		return cmp.Or(cmp.Compare(lost.part[a.tail], lost.part[b.tail]), cmp.Compare(a.tail, b.tail))
	})
	g.Spread(lost.part, let)
	lost.back = NewGraph(len(c.live), lost.arcs, named, true)
	lost.arcs, lost.hidden = Arcs{}, Arcs{}
	return lost
}

// doubtful are words of memory that objects without a root refer to, such as the memory of a C++ object, which are
// references only probably. An object that lacks a reference is garbage all the same if as many of these lead to it and
// all of them come from garbage: probably.
type doubtful struct {
	of     *counts
	to     map[int32]int64   // how many words lead to a node
	from   map[int32][]int32 // where those of a node lead
	needed []int32           // nodes that lack a reference without them
}

// newDoubtful takes in the words that the walk has met since the last root, and looks into objects that only they lead
// to.
func newDoubtful(c *counts) *doubtful {
	words, first, w := &doubtful{c, map[int32]int64{}, map[int32][]int32{}, nil}, c.first, c.Walker
	for i := 0; i < len(w.Beliefs.Doubts) && !w.Done(); i++ { // it grows on the way
		e := w.Beliefs.Doubts[i]
		node, known := w.Known(e.To)
		if !known {
			before := len(w.Nodes)
			w.Follow(e.Parent, e.To, e.Label)
			w.Run()
			if node = int32(before); len(w.Nodes) == before {
				continue
			}
			words.needed = append(words.needed, node)
		} else if node >= first {
			words.to[node]++
		}
		if node >= first && e.Parent >= first {
			words.from[e.Parent] = append(words.from[e.Parent], node)
		}
	}
	w.Beliefs.Doubts = nil
	return words
}

// spread marks as held everything that held nodes refer to, for sure or not.
func (words *doubtful) spread() {
	for c := words.of; len(c.queue) > 0 && !c.Done(); {
		node := c.queue[0]
		c.queue = c.queue[1:]
		c.Visit(node)
		for _, to := range words.from[node] {
			c.reference(to)
		}
	}
	words.of.Beliefs.Doubts = nil // the same as before
}

// mark notes that everything that the needed nodes lead to is garbage only probably.
func (words *doubtful) mark() {
	c := words.of
	held := slices.Clone(c.live)
	for _, node := range words.needed {
		c.reference(node)
	}
	words.spread()
	for i, reached := range c.live {
		if reached && !held[i] {
			c.Nodes[c.first+int32(i)].Probable = true
		}
	}
}
