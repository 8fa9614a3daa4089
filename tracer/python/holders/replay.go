package holders

// replay takes the steps that were noted of a node. It says whether there are any.
func (w *walker) replay(n int32) bool {
	if w.notes == nil {
		return false
	}
	id := w.nodes[n].id
	if id < 0 || w.notes.noted[id].first == unnoted {
		return false
	}
	if w.owned != nil && w.notes.types[w.notes.noted[id].typ()].shape == shapeArray {
		return false // it wants to know more
	}
	r := replay{walker: w, node: n, before: w.uncounted}
	for at := w.notes.noted[id].first; !w.done(); {
		s := w.notes.steps[at]
		if s.kind() == stepStop {
			break
		}
		if s.kind() == stepRaw {
			at++
			r.raw(uint64(s.id())<<32 | uint64(w.notes.steps[at]))
		} else {
			r.take(s)
		}
		at++
	}
	w.uncounted = r.before
	return true
}

type replay struct {
	*walker
	node   int32
	before bool // uncounted
	isNew  bool // the last part
}

func (r *replay) take(s step) {
	w, n, id := r.walker, r.node, s.id()
	switch s.kind() {
	case stepFollow:
		w.followNoted(n, id, label{kind: labelLater})
	case stepWord:
		if !w.pointsAt(n, w.notes.addrs[id], false) {
			w.followNoted(n, id, label{kind: labelLater})
		}
	case stepKey:
		if !w.notes.noted[id].is(noteLeaf) {
			w.keys = append(w.keys, edge{to: w.notes.addrs[id], label: label{labelElement, 0}, parent: n})
		} else if w.extents != nil {
			w.followNoted(n, id, label{})
		}
	case stepGlobals:
		if addr := w.notes.addrs[id]; !w.deferring {
			w.followNoted(n, id, named(fixedGlobals))
		} else if w.of[id] == 0 && !w.spaces[addr] {
			w.defer_(n, addr, named(fixedGlobals))
		}
	case stepCounting:
		if w.counting != nil {
			w.followNoted(n, id, named(fixedBases))
		}
	case stepClass:
		if w.counting != nil || !w.deferring {
			w.followNoted(n, id, named(fixedClass))
		} else {
			w.deferClass(n, w.notes.addrs[id])
		}
	case stepOnce:
		w.uncounted = r.before || w.of[id] != 0
	case stepOnceNew:
		w.uncounted = r.before || !r.isNew
	case stepEnd:
		w.uncounted = r.before
	case stepAlone:
		if w.extents != nil {
			w.extents.bytes[n] += uint64(id) << 4
			w.extents.enlarge(n, uint64(id)<<4)
		}
	case stepArray:
		if a := w.notes.arrays[id]; !w.pointsAt(n, a.data, true) {
			w.noteArray(n, a)
		}
	case stepState:
		w.moduleState(n, w.addrs[n])
	case stepPart:
		r.isNew = r.partNoted(id)
	}
}

// raw takes a word that did not look like a reference.
func (r *replay) raw(word uint64) {
	if r.pointsAt(r.node, word, false) || word&7 != 0 {
		return
	}
	if _, ok := r.known(word); ok {
		r.follow(r.node, word, label{kind: labelLater})
	}
}

// followNoted is follow for an object that the survey has seen.
func (w *walker) followNoted(from, id int32, l label) bool {
	if w.done() {
		return false
	}
	one := &w.notes.noted[id]
	leaf := one.is(noteLeaf)
	if leaf && w.extents == nil {
		return true
	}
	if leaf && from >= 0 && one.references == 1 {
		w.extents.bytes[from] += w.notes.bytes(id)
		w.extents.enlarge(from, w.notes.bytes(id))
		w.extents.unknown[from] = w.extents.unknown[from] || one.is(noteUnknown)
		return true
	}
	if n := w.of[id]; n != 0 {
		w.reference(from, n-1)
		return true
	}
	addr := w.notes.addrs[id]
	if one.typ() == 0 {
		return w.followUnseen(from, addr, l)
	}
	t := w.notes.types[one.typ()]
	if leaf {
		if one.references < immortal {
			w.extents.reference(w, from, w.addNode(-1, addr, id, label{}, isDone))
		}
		return true
	}
	if w.deferring && w.notedOut(addr, one, t) {
		w.defer_(from, addr, l)
		return true
	}
	w.arrived(from, w.addNode(from, addr, id, l, isObject), t)
	return true
}

// partNoted is part for an object that the survey has seen.
func (r *replay) partNoted(id int32) bool {
	n, isNew := r.of[id]-1, r.of[id] == 0
	if isNew {
		n = r.addNode(r.node, r.notes.addrs[id], id, label{}, isDone)
	}
	r.reference(r.node, n)
	return n >= 0 && isNew
}

// notedOut is leadsOut for an object that the survey has seen.
func (w *walker) notedOut(addr uint64, one *noted, t *typ) bool {
	if t.shape == shapeType || t.shape == shapeFunction || t.name == lruCache {
		return one.is(noteOut)
	}
	return w.leadsOut(addr, t)
}

func (n *notes) bytes(id int32) uint64 {
	if b := n.noted[id].bytes; b != tooLarge {
		return uint64(b)
	}
	return n.large[id]
}

// seek is a search for how an object refers to another.
type seek struct {
	to    uint64
	label label
	found bool
}

func (s *seek) take(to uint64, l label) {
	if to == s.to && !s.found {
		s.label, s.found = l, true
	}
}

// labelOf says how a node is reached from its parent. Where that was left open the parent is looked into again.
func (w *walker) labelOf(n int32) label {
	l := w.labels[w.nodes[n].label]
	if l.kind != labelLater || w.nodes[n].parent < 0 {
		return l
	}
	l = labelBetween(w, w.addrs[w.nodes[n].parent], w.addrs[n])
	w.nodes[n].label = w.keep(l)
	return l
}

// labelBetween says how an object refers to another, by looking into it anew.
func labelBetween(w *walker, from, to uint64) label {
	x := &walker{
		ctx: w.ctx, heap: w.heap, mem: w.mem, types: w.types, metatype: w.metatype, frames: map[int32]frame{}, spaces: w.spaces, raw: map[uint64]bool{}, awaited: map[uint64]bool{},
		classes: w.classes, running: w.running, classed: map[uint64]bool{}, limits: w.limits, until: w.until, deadline: w.deadline, sizes: w.sizes, seeking: true,
		labels: []label{{}}, seek: &seek{to: to},
	}
	x.visit(x.add(-1, from, label{}, isObject))
	for _, e := range x.keys {
		x.seek.take(e.to, e.label)
	}
	return x.seek.label
}

// firstLabels are those that need not be kept again and again.
func firstLabels() []label {
	all := []label{{}, {kind: labelLater}}
	for i := range fixed {
		all = append(all, named(uint64(i)))
	}
	return all
}

// keep keeps a label, and says where.
func (w *walker) keep(l label) uint32 {
	switch l.kind {
	case labelNothing:
		return 0
	case labelLater:
		return 1
	case labelFixed:
		return 2 + uint32(l.arg)
	}
	w.labels = append(w.labels, l)
	return uint32(len(w.labels) - 1)
}
