package walk

import (
	"ipytracer/internal/python/holders/objects"
)

// heldObjects are objects that no name has led to and that something else holds for sure: they do not wait for the
// garbage collector, and neither does anything that they lead to. A listing makes no nodes for them. Then no walk sees
// their references, so the objects that they refer to count as held by something else. The notes of a survey show which
// objects these are, without a look at the process.
type heldObjects struct {
	w     *Walker
	is    []uint64 // bits, by an object's number
	queue []int32  // whose references have not been followed
}

// HeldElsewhere finds the held objects in the notes of w's survey, with all that they and the given modules lead to.
func HeldElsewhere(w *Walker, modules []objects.Module) *heldObjects {
	e := &heldObjects{w: w, is: make([]uint64, len(w.Notes.Noted)/64+1)}
	for id := range w.Notes.Noted {
		if w.Notes.Noted[id].Is(objects.NoteElsewhere) && w.Notes.Noted[id].Is(objects.NoteTracked) {
			e.add(int32(id))
		}
	}
	for _, m := range modules {
		for _, addr := range []uint64{m.Addr, m.Dict} {
			if id, ok := w.Notes.Index.Get(addr, w.Notes.Addrs); ok {
				e.follow(id, e.add)
			}
		}
	}
	for len(e.queue) > 0 && !w.Done() {
		id := e.queue[len(e.queue)-1]
		e.queue = e.queue[:len(e.queue)-1]
		e.follow(id, e.add)
	}
	return e
}

// Has reports whether an object is among them.
func (e *heldObjects) Has(id int32) bool { return e.is[id/64]&(1<<(id%64)) != 0 }

// add takes in an object, unless a walk has reached it or nothing is known of it.
func (e *heldObjects) add(id int32) {
	if e.w.Of[id] == 0 && !e.Has(id) && e.w.Notes.TypeOf(id) != nil {
		e.is[id/64] |= 1 << (id % 64)
		e.queue = append(e.queue, id)
	}
}

// follow calls yield with each object that an object refers to, as far as the notes have its references. It returns the
// bytes of the leaves that no other object has: notes have their size in units of 16 bytes, and no number to yield.
func (e *heldObjects) follow(id int32, yield func(to int32)) (ofLeaves uint64) {
	for s := range e.w.Notes.StepsOf(id) {
		switch s.Kind() {
		case objects.StepFollow, objects.StepKey, objects.StepWord, objects.StepGlobals, objects.StepClass,
			objects.StepPart:
			yield(s.ID())
		case objects.StepAlone:
			ofLeaves += 16 * uint64(s.ID())
		}
	}
	return ofLeaves
}

// Bytes returns the total size of the objects in e that no walk has reached yet.
func (e *heldObjects) Bytes() (sum uint64) {
	for id := range e.w.Notes.Noted {
		if id := int32(id); e.Has(id) && e.w.Of[id] == 0 {
			ofLeaves := e.follow(id, func(int32) {})
			sum += e.w.Notes.Bytes(id) + ofLeaves
		}
	}
	return sum
}
