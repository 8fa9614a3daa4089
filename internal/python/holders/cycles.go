package holders

// counts is for objects without a root. As the garbage collector does, it compares each object's reference count with
// the references that come from others of the kind: an object with more is held by code in C, and so is everything that
// it holds. The rest is garbage: objects that hold each other.
type counts struct {
	*finder
	taker arrayTaker // takes arrays that are met meanwhile
	first int32      // nodes from here on were not reached from a root
	refs  []int64    // seen of node first+i
	live  []bool     // second pass: held from outside
	queue []int32
	lost  *lost // third pass: takes the references of those that are not
}

var (
	_ visitor      = (*counts)(nil)
	_ arrayTaker   = (*counts)(nil)
	_ libraryTaker = (*counts)(nil)
)

func (c *counts) over() bool { return false }

// refer follows a class's references to itself, too.
func (c *counts) refer(from int32, to uint64, kind step, l label) bool {
	if kind == stepCounting {
		return c.chase(from, to, l)
	}
	return c.finder.refer(from, to, kind, l)
}

// count counts a reference that was not counted before. That something is held is passed on by others as well.
func (c *counts) count(from, to int32) {
	switch {
	case c.lost != nil:
		c.lost.take(c, from, to)
	case !c.uncounted || c.live != nil:
		c.reference(to)
	}
}

func (c *counts) array(n int32, addr, data uint64) { c.taker.array(n, addr, data) }

func (c *counts) arrayNoted(n int32, a arrayNote) { c.taker.arrayNoted(n, a) }

func (c *counts) readsArrays() bool { return c.taker.readsArrays() }

// library does nothing: the holders of blocks that lie in C++ objects follow from the holders of these.
func (c *counts) library(int32, uint64, *typ) {}

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

// garbage looks for the remaining blocks in the objects that the garbage collector knows and no root leads to. It
// returns the cycles among these that the collector does not see, nil for none.
func garbage(w *walker) *lost {
	if w.done() {
		return nil
	}
	w.kind, w.deferring = kindCycle, false
	at, before := w.rootLabel(""), w.visitor
	c := &counts{finder: &finder{walker: w}, taker: w.arrays, first: int32(len(w.nodes))}
	w.visitFor(c)
	for id, one := range w.notes.noted {
		if one.is(noteTracked) && !one.is(noteLeaf) && one.typ() != 0 && w.of[id] == 0 {
			w.add(-1, w.notes.addrs[id], int32(id), at, nodeObject)
		}
	}
	w.run()
	doubtful := newDoubtful(c)
	c.refs = append(c.refs, make([]int64, max(0, len(w.nodes)-int(c.first)-len(c.refs)))...)
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
			w.nodes[c.first+int32(i)].kind = kindNone
		}
	}
	doubtful.mark()
	l := findLost(c, doubtful)
	w.visitFor(before)
	return l
}

// referencesOf returns the reference count of a node: the survey's note, as the references that were seen are its.
func (c *counts) referencesOf(n int32) int64 {
	if id := c.nodes[n].id; id >= 0 && c.notes.noted[id].typ() != 0 {
		return int64(c.notes.noted[id].references)
	}
	return c.references(c.addrs[n])
}
