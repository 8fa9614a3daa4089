package walk

import (
	"cmp"
	"slices"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// counts finds garbage among the objects that no root leads to. As the garbage collector does, it compares each
// object's reference count with the number of references from other objects without a root. An object with a higher
// count is held from outside, by code in C, and so is everything that it leads to. The rest is garbage: objects that
// hold each other.
//
// The first pass counts the references, the second spreads what is held from outside, the third gathers the references
// between the rest.
type counts struct {
	*Finder
	taker ArrayTaker  // takes arrays that are met meanwhile
	first int32       // the first node that was not reached from a root
	refs  []int64     // by node-first: how many references to the node were counted
	live  []bool      // by node-first: held from outside; nil in the first pass
	queue []int32     // nodes in live whose references have not been followed
	lost  *lostCycles // takes the references of the third pass; nil before
}

var (
	_ Visitor      = (*counts)(nil)
	_ ArrayTaker   = (*counts)(nil)
	_ LibraryTaker = (*counts)(nil)
)

func (c *counts) Over() bool { return false }

// Refer follows a class's references to itself, too.
func (c *counts) Refer(from int32, to uint64, kind objects.Step, label Label) bool {
	if kind == objects.StepCounting {
		return c.Reach(from, to, label)
	}
	return c.Finder.Refer(from, to, kind, label)
}

// Count does with a reference what the pass does. The first pass leaves out references that were counted already.
func (c *counts) Count(from, to int32) {
	switch {
	case c.lost != nil:
		c.lost.addReference(c, from, to)
	case !c.Uncounted || c.live != nil:
		c.countOrMark(to)
	}
}

func (c *counts) Array(node int32, addr, data uint64) { c.taker.Array(node, addr, data) }

func (c *counts) ArrayNoted(node int32, a objects.ArrayNote) { c.taker.ArrayNoted(node, a) }

func (c *counts) ReadsArrays() bool { return c.taker.ReadsArrays() }

// Library does nothing: blocks of C++ objects have the holders of these objects.
func (c *counts) Library(int32, uint64, *objects.Type) {}

// countOrMark counts a reference to a node, or, in the second pass, marks the node as held from outside.
func (c *counts) countOrMark(node int32) {
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
// returns the cycles among these objects that the collector does not see, nil for none.
func FindGarbage(w *Walker) *lostCycles {
	if w.Done() {
		return nil
	}
	w.Kind, w.Deferring = KindCycle, false
	label, before := w.RootLabel(""), w.Visitor
	c := &counts{Finder: &Finder{Walker: w}, taker: w.Arrays, first: int32(len(w.Nodes))}
	w.VisitFor(c)
	w.AddUnreached(label, func(int32) bool { return true })
	w.Run() // the first pass
	doubtful := newDoubtful(c)
	unrooted := len(w.Nodes) - int(c.first)
	c.refs = append(c.refs, make([]int64, max(0, unrooted-len(c.refs)))...)
	c.live = make([]bool, len(c.refs)) // the second pass begins
	for i, seen := range c.refs {
		node := c.first + int32(i)
		count := c.referencesOf(node)
		switch {
		case count > seen+doubtful.to[node]:
			c.countOrMark(node)
		case count > seen:
			doubtful.needed = append(doubtful.needed, node)
		}
	}
	doubtful.spread()
	for i, live := range c.live {
		if live {
			w.Nodes[c.first+int32(i)].Kind = KindNone
		}
	}
	doubtful.markProbable()
	lost := findLost(c, doubtful)
	w.VisitFor(before)
	return lost
}

// referencesOf returns the reference count of a node: as the survey noted it, since the counted references are also the
// survey's.
func (c *counts) referencesOf(node int32) int64 {
	if id := c.Nodes[node].ID; c.Notes.TypeOf(id) != nil {
		return int64(c.Notes.Noted[id].References)
	}
	return c.References(c.Addrs[node])
}

// addReference notes a reference between two objects that are not held from outside.
func (lost *lostCycles) addReference(c *counts, from, to int32) {
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

// isUntracked reports whether the collector does not know the object of a node, so that it does not see the object's
// references. Dicts, tuples and types do not count: these need not be tracked to be seen.
func isUntracked(w *Walker, node int32) bool {
	id, typ := w.Nodes[node].ID, w.TypeOf(node)
	if id < 0 || w.Nodes[node].What != NodeObject || typ == nil || !w.Notes.Collector.Complete {
		return false
	}
	switch typ.Shape {
	case objects.ShapeDict, objects.ShapeTuple, objects.ShapeType:
		return false
	}
	return !w.Notes.Noted[id].Is(objects.NoteTracked)
}

// findLost finds the lost cycles, after the second pass. It returns nil if there are none.
func findLost(c *counts, words *doubtful) *lostCycles {
	if !anyHides(c) {
		return nil
	}
	lost := &lostCycles{first: c.first, described: map[int32]*event.Lost{}}
	c.lost = lost
	for i := 0; i < len(c.live) && !c.Done(); i++ {
		if node := c.first + int32(i); !c.live[i] && c.Nodes[node].What != NodePart {
			c.Visit(node)
			for _, to := range words.from[node] {
				lost.addReference(c, node, to)
			}
		}
	}
	c.lost, c.Beliefs.Doubts = nil, nil
	isVertex := func(tail int32) int32 { return tail }
	g := NewGraph(len(c.live), lost.arcs, isVertex, false)
	isGarbage := func(v int32) bool { return !c.live[v] }
	if lost.on, lost.part = g.OnCycles(&lost.hidden, isGarbage); len(lost.on) == 0 {
		return nil
	}
	slices.SortStableFunc(lost.on, func(a, b arc) int {
		return cmp.Or(cmp.Compare(lost.part[a.tail], lost.part[b.tail]), cmp.Compare(a.tail, b.tail))
	})
	g.Spread(lost.part, isGarbage)
	lost.back = NewGraph(len(c.live), lost.arcs, isVertex, true)
	lost.arcs, lost.hidden = Arcs{}, Arcs{}
	return lost
}

// anyHides reports whether the collector does not visit references of an object that is not held from outside.
func anyHides(c *counts) bool {
	for i, live := range c.live {
		if typ := c.TypeOf(c.first + int32(i)); !live && typ != nil && typ.HiddenBefore != 0 {
			return true
		}
	}
	return false
}

// doubtful are the probable references of objects without a root: words in memory that the objects refer to, such as
// that of a C++ object. An object may have a higher reference count than the certain references explain. It is probably
// garbage all the same, if as many doubtful words lead to it, and all of them come from garbage.
type doubtful struct {
	counts *counts
	to     map[int32]int64   // how many words lead to a node
	from   map[int32][]int32 // the nodes to which the words of a node lead
	needed []int32           // nodes whose reference count is explained only with words
}

// newDoubtful gathers the probable references that the walk has met since the last root, and looks into the objects
// that only they lead to.
func newDoubtful(c *counts) *doubtful {
	words := &doubtful{counts: c, to: map[int32]int64{}, from: map[int32][]int32{}}
	first, w := c.first, c.Walker
	for i := 0; i < len(w.Beliefs.Doubts) && !w.Done(); i++ { // Run may append
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

// spread marks as held everything that held nodes refer to, certainly or probably.
func (words *doubtful) spread() {
	for c := words.counts; len(c.queue) > 0 && !c.Done(); {
		node := c.queue[0]
		c.queue = c.queue[1:]
		c.Visit(node)
		for _, to := range words.from[node] {
			c.countOrMark(to)
		}
	}
	words.counts.Beliefs.Doubts = nil // the visits found the known words once more
}

// markProbable marks everything that the needed nodes lead to as probable: it is only probably garbage.
func (words *doubtful) markProbable() {
	c := words.counts
	held := slices.Clone(c.live)
	for _, node := range words.needed {
		c.countOrMark(node)
	}
	words.spread()
	for i, reached := range c.live {
		if reached && !held[i] {
			c.Nodes[c.first+int32(i)].Probable = true
		}
	}
}
