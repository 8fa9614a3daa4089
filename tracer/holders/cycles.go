package holders

import "encoding/binary"

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
	c.refs = append(c.refs, make([]int64, max(0, len(w.nodes)-int(c.first)-len(c.refs)))...)
	c.live = make([]bool, len(c.refs))
	for i, seen := range c.refs {
		n := c.first + int32(i)
		if c.references(w, n) > seen {
			c.reference(n)
		}
	}
	for len(c.queue) > 0 && !w.done() {
		n := c.queue[0]
		c.queue = c.queue[1:]
		w.visit(n)
	}
	for i, live := range c.live {
		if live {
			w.nodes[c.first+int32(i)].kind = kindNone
		}
	}
	w.counting = nil
}

// references is the reference count of a node: what the survey noted, as the references that were seen are its.
func (c *counts) references(w *walker, n int32) int64 {
	if id := w.nodes[n].id; id >= 0 && w.notes.noted[id].typ() != 0 {
		return int64(w.notes.noted[id].references)
	}
	return w.references(w.addrs[n])
}

// collected are the objects that the garbage collector knows, as its lists have them.
type collected struct {
	objects []uint64
	region  region
	read    int64 // bytes
	stopped error
	done    chan struct{} // closed when the rest is there
}

// collect reads the garbage collector's lists (PyGC_Head, 16 bytes in front of each object, its lowest bits are flags) beside the
// survey: it takes nothing but reading. Other threads add to the lists and take from them meanwhile: one that does not lead back to
// where it began is read the other way as well, so that a link that has gone hides nothing but what is around it.
func (w *walker) collect() *collected {
	c := &collected{done: make(chan struct{})}
	c.objects, c.region = newRegion[uint64](roomObjects)
	mem := newMemory(w.mem.r, w.mem.limit-w.mem.total)
	mem.few()
	x := newWalker(w.ctx, w.heap, mem, nil, w.limits)
	x.seeking = true // it is not over because no block is asked for
	go func() {
		defer close(c.done)
		defer mem.close()
		defer onThread()()
		x.until = ProcessorTime() + x.limits.Time
		for _, list := range x.generations() {
			_ = x.follows(list, 0, c) || x.follows(list, 8, c) // the next, the previous
		}
		c.read, c.stopped = mem.total, x.stopped
	}()
	return c
}

// follows takes in a list by one of its links. It says whether that led back to where the list begins.
func (w *walker) follows(list, link uint64, c *collected) bool {
	const head, flags = 16, 3
	at, mark, steps := w.mem.word(list+link)&^flags, uint64(0), 0
	for at != list && at != 0 && at != mark && len(c.objects) < min(2*w.limits.Objects, roomObjects) && !w.done() {
		if steps++; steps&(steps-1) == 0 { // a circle that does not lead through the list's head comes back to one of these
			mark = at
		}
		c.objects = append(c.objects, at+head)
		at = w.mem.word(at+link) &^ flags
	}
	return at == list
}

// generations finds the heads of the collector's lists in struct _gc_runtime_state. Which there are and where differs
// between versions, 3.14 has changed it in a minor one; a head is two words that point to a next and a previous entry of
// which one at least points back: the other may have just been added.
func (w *walker) generations() (heads []uint64) {
	const size, flags, most = 256, 3, 8
	gc := w.heap.Interpreter + uint64(w.heap.InterpGC)
	raw := w.mem.bytes(gc, size)
	if raw == nil {
		return nil
	}
	raw = append([]byte(nil), raw...)
	for at := 0; at+16 <= size && len(heads) < most; at += 4 { // 3.13 has them at odd words
		addr := gc + uint64(at)
		next, prev := binary.LittleEndian.Uint64(raw[at:])&^flags, binary.LittleEndian.Uint64(raw[at+8:])&^flags
		if next == addr || next < lowestAddress || prev < lowestAddress {
			continue
		}
		if w.mem.word(next+8)&^flags == addr || w.mem.word(prev)&^flags == addr {
			heads = append(heads, addr)
		}
	}
	return heads
}
