package holders

// counts is for what no root leads to. As the garbage collector does, it compares each object's reference count with the
// references that come from others of the kind: an object with more is held by code in C, and so is all that it holds.
// What remains is garbage: objects that hold each other.
type counts struct {
	first int32   // nodes from here on were not reached from a root
	refs  []int64 // seen of node first+i
	live  []bool  // second pass: held from outside
	queue []int32
}

// reference counts a reference to a node, or in the second pass passes on that it is held. A nil counts does nothing.
func (c *counts) reference(n int32) {
	if c == nil || n < c.first {
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

// garbage looks for the remaining blocks in the objects that the garbage collector knows and no root leads to.
func (w *walker) garbage() {
	if w.done() {
		return
	}
	w.kind, w.deferring = kindCycle, false
	w.names = append(w.names, "")
	at := label{labelRoot, uint64(len(w.names) - 1)}
	w.counting = &counts{first: int32(len(w.nodes))}
	c := w.counting
	for id, one := range w.notes.noted {
		if one.is(noteTracked) && !one.is(noteLeaf) && one.typ() != 0 && w.of[id] == 0 {
			w.addNode(-1, w.notes.addrs[id], int32(id), at, isObject)
		}
	}
	w.run()
	doubtful := newDoubtful(w)
	c.refs = append(c.refs, make([]int64, max(0, len(w.nodes)-int(c.first)-len(c.refs)))...)
	c.live = make([]bool, len(c.refs))
	for i, seen := range c.refs {
		n := c.first + int32(i)
		switch has := c.references(w, n); {
		case has > seen+doubtful.to[n]:
			c.reference(n)
		case has > seen:
			doubtful.needed = append(doubtful.needed, n)
		}
	}
	doubtful.spread(w)
	for i, live := range c.live {
		if live {
			w.nodes[c.first+int32(i)].kind = kindNone
		}
	}
	doubtful.mark(w)
	w.counting = nil
}

// references is the reference count of a node: what the survey noted, as the references that were seen are its.
func (c *counts) references(w *walker, n int32) int64 {
	if id := w.nodes[n].id; id >= 0 && w.notes.noted[id].typ() != 0 {
		return int64(w.notes.noted[id].references)
	}
	return w.references(w.addrs[n])
}
