package paths

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
	d, first, w := &doubtful{c, map[int32]int64{}, map[int32][]int32{}, nil}, c.first, c.Walker
	for i := 0; i < len(w.Beliefs.Doubts) && !w.Done(); i++ { // it grows on the way
		e := w.Beliefs.Doubts[i]
		n, known := w.Known(e.To)
		if !known {
			before := len(w.Nodes)
			w.Follow(e.Parent, e.To, e.Label)
			w.Run()
			if n = int32(before); len(w.Nodes) == before {
				continue
			}
			d.needed = append(d.needed, n)
		} else if n >= first {
			d.to[n]++
		}
		if n >= first && e.Parent >= first {
			d.from[e.Parent] = append(d.from[e.Parent], n)
		}
	}
	w.Beliefs.Doubts = nil
	return d
}

// spread passes on that nodes are held: to everything that they refer to, for sure or not.
func (d *doubtful) spread() {
	for c := d.of; len(c.queue) > 0 && !c.Done(); {
		n := c.queue[0]
		c.queue = c.queue[1:]
		c.Visit(n)
		for _, to := range d.from[n] {
			c.reference(to)
		}
	}
	d.of.Beliefs.Doubts = nil // the same as before
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
			c.Nodes[c.first+int32(i)].Probable = true
		}
	}
}
