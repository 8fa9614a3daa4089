package holders

// elsewhere are objects that no name has led to and that something else holds for sure: they do not wait for the
// garbage collector, and neither does anything that they lead to. No listing needs nodes for them: their targets have
// references then that no walk sees, and are held by something else. A survey's notes show which they are, without a
// look at the process.
type elsewhere struct {
	w     *walker
	is    []uint64 // bits, by an object's number
	queue []int32
}

// noteHeld notes the objects for which a survey has found fewer references than they have, those included that are not
// certain.
func noteHeld(s *survey) {
	left := func(id int32) int64 {
		n := int64(s.notes.noted[id].references)
		if int(id) < len(s.refs) {
			n -= int64(s.refs[id])
		}
		return n
	}
	for id := range s.notes.noted {
		if one := &s.notes.noted[id]; !one.is(noteLeaf) && one.typ() != 0 && left(int32(id)) > 0 {
			one.what |= noteElsewhere
		}
	}
	for to, g := range s.guesses {
		id, ok := s.known(to)
		if !ok {
			continue
		}
		words := int64(0)
		for _, all := range []map[uint64]int32{g.inObjects, g.elsewhere} {
			for _, count := range all {
				words += int64(count)
			}
		}
		if left(id) <= words {
			s.notes.noted[id].what &^= noteElsewhere
		}
	}
}

// heldElsewhere finds them, those that the modules given lead to included.
func heldElsewhere(w *walker, modules []module) *elsewhere {
	e := &elsewhere{w: w, is: make([]uint64, len(w.notes.noted)/64+1)}
	for id := range w.notes.noted {
		if w.notes.noted[id].is(noteElsewhere) && w.notes.noted[id].is(noteTracked) {
			e.take(int32(id))
		}
	}
	for _, m := range modules {
		for _, addr := range []uint64{m.addr, m.dict} {
			if id, ok := w.notes.index.get(addr, w.notes.addrs); ok {
				e.steps(id, e.take)
			}
		}
	}
	for len(e.queue) > 0 && !w.done() {
		id := e.queue[len(e.queue)-1]
		e.queue = e.queue[:len(e.queue)-1]
		e.steps(id, e.take)
	}
	return e
}

func (e *elsewhere) has(id int32) bool { return e.is[id/64]&(1<<(id%64)) != 0 }

// take takes in an object, unless a walk has reached it or nothing is known of it.
func (e *elsewhere) take(id int32) {
	if e.w.of[id] == 0 && !e.has(id) && e.w.notes.noted[id].typ() != 0 {
		e.is[id/64] |= 1 << (id % 64)
		e.queue = append(e.queue, id)
	}
}

// steps calls yield with the targets of an object's references, as far as they were noted. It returns the bytes of
// those that only it has.
func (e *elsewhere) steps(id int32, yield func(to int32)) (bytes uint64) {
	n := e.w.notes
	if n.noted[id].first == unnoted {
		return 0
	}
	for at := n.noted[id].first; n.steps[at].kind() != stepStop; at++ {
		switch s := n.steps[at]; s.kind() {
		case stepFollow, stepKey, stepWord, stepGlobals, stepClass, stepPart:
			yield(s.id())
		case stepAlone:
			bytes += uint64(s.id()) << 4
		case stepRaw:
			at++ // the other half of the word
		}
	}
	return bytes
}

// bytes is how much memory those have that no walk has reached since.
func (e *elsewhere) bytes() (sum uint64) {
	for id := range e.w.notes.noted {
		if id := int32(id); e.has(id) && e.w.of[id] == 0 {
			sum += e.w.notes.bytes(id) + e.steps(id, func(int32) {})
		}
	}
	return sum
}
