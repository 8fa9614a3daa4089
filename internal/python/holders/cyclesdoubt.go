package holders

import "slices"

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
	d, first, w := &doubtful{c, map[int32]int64{}, map[int32][]int32{}, nil}, c.first, c.walker
	for i := 0; i < len(w.beliefs.doubts) && !w.done(); i++ { // it grows on the way
		e := w.beliefs.doubts[i]
		n, known := w.known(e.to)
		if !known {
			before := len(w.nodes)
			w.follow(e.parent, e.to, e.label)
			w.run()
			if n = int32(before); len(w.nodes) == before {
				continue
			}
			d.needed = append(d.needed, n)
		} else if n >= first {
			d.to[n]++
		}
		if n >= first && e.parent >= first {
			d.from[e.parent] = append(d.from[e.parent], n)
		}
	}
	w.beliefs.doubts = nil
	return d
}

// spread passes on that nodes are held: to everything that they refer to, for sure or not.
func (d *doubtful) spread() {
	for c := d.of; len(c.queue) > 0 && !c.done(); {
		n := c.queue[0]
		c.queue = c.queue[1:]
		c.visit(n)
		for _, to := range d.from[n] {
			c.reference(to)
		}
	}
	d.of.beliefs.doubts = nil // the same as before
}

// mark notes for everything that the needed ones lead to that it is garbage only probably.
func (d *doubtful) mark() {
	c := d.of
	held := slices.Clone(c.live)
	for _, n := range d.needed {
		c.reference(n)
	}
	d.spread()
	for i, reached := range c.live {
		if reached && !held[i] {
			c.nodes[c.first+int32(i)].probable = true
		}
	}
}
