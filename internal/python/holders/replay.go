package holders

// replayed takes the steps that were noted of a node. It reports whether there are any.
func replayed(w *walker, n int32) bool {
	if w.notes == nil {
		return false
	}
	id := w.nodes[n].id
	if id < 0 || w.notes.noted[id].first == unnoted {
		return false
	}
	if w.arrays != nil && w.arrays.readsArrays() && w.notes.types[w.notes.noted[id].typ()].shape == shapeArray {
		return false // it wants to know more
	}
	if t := w.typeOf(n); t != nil && t.hidesSome() {
		return false // the steps do not show which references are hidden
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
		} else if w.leaves != nil {
			w.followNoted(n, id, label{})
		}
	case stepGlobals:
		if addr := w.notes.addrs[id]; !w.deferring {
			w.followNoted(n, id, named(fixedGlobals))
		} else if w.of[id] == 0 && !w.spaces[addr] {
			w.defers(n, addr, named(fixedGlobals))
		}
	case stepCounting:
		w.refer(n, w.notes.addrs[id], stepCounting, named(fixedBases))
	case stepClass:
		if !w.deferring {
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
		if w.leaves != nil {
			w.leaves.ownBytes(n, uint64(id)<<4, true)
		}
	case stepArray:
		if w.arrays != nil {
			w.arrays.arrayNoted(n, w.notes.arrays[id])
		}
	case stepState:
		visits{w}.moduleState(n, w.addrs[n])
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
	if leaf && w.leaves == nil {
		return true
	}
	if leaf && from >= 0 && one.references == 1 {
		w.leaves.ownBytes(from, w.notes.bytes(id), !one.is(noteUnknown))
		return true
	}
	if n := w.of[id]; n != 0 {
		w.count(from, n-1)
		return true
	}
	addr := w.notes.addrs[id]
	if one.typ() == 0 {
		return w.followUnseen(from, addr, l)
	}
	t := w.notes.types[one.typ()]
	if leaf {
		w.leaves.leafNoted(from, id)
		return true
	}
	if w.deferring && w.notedOut(addr, one, t) {
		w.defers(from, addr, l)
		return true
	}
	w.arrived(from, w.add(from, addr, id, l, nodeObject), t)
	return true
}

// partNoted is part for an object that the survey has seen.
func (r *replay) partNoted(id int32) bool {
	n, isNew := r.of[id]-1, r.of[id] == 0
	if isNew {
		n = r.add(r.node, r.notes.addrs[id], id, label{}, nodePart)
	}
	r.count(r.node, n)
	return n >= 0 && isNew
}
