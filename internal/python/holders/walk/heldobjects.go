package walk

import (
	"ipytracer/internal/python/holders/objects"
)

// heldObjects are the objects that no name has led to but that something else holds for sure, such as code in C, with
// everything that they lead to: they do not wait for the garbage collector. A listing makes no nodes of them. The notes
// of a survey show which objects these are, without a look at the process.
type heldObjects struct {
	w     *Walker
	held  []uint64 // a bit for each object, by its number
	queue []int32  // objects whose references have not been followed
}

// HeldElsewhere finds the held objects in the notes of w's survey, with all that they and the given modules lead to.
func HeldElsewhere(w *Walker, modules []objects.Module) *heldObjects {
	e := &heldObjects{w: w, held: make([]uint64, len(w.Notes.Noted)/64+1)}
	for id := range w.Notes.Noted {
		if note := &w.Notes.Noted[id]; note.Is(objects.NoteElsewhere) && note.Is(objects.NoteTracked) {
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

// Has reports whether an object is among the held objects.
func (e *heldObjects) Has(id int32) bool { return e.held[id/64]&(1<<(id%64)) != 0 }

// add adds an object, unless a walk has reached it or its type is not known.
func (e *heldObjects) add(id int32) {
	if e.w.NodeOf[id] == 0 && !e.Has(id) && e.w.Notes.TypeOf(id) != nil {
		e.held[id/64] |= 1 << (id % 64)
		e.queue = append(e.queue, id)
	}
}

// follow calls yield with each object that an object refers to, as far as the notes have its references. It does not
// yield the leaves that no other object has, as these have no numbers: it returns their bytes.
func (e *heldObjects) follow(id int32, yield func(to int32)) (ofLeaves uint64) {
	for s := range e.w.Notes.StepsOf(id) {
		switch s.Kind() {
		case objects.StepFollow, objects.StepKey, objects.StepWord, objects.StepGlobals, objects.StepClass,
			objects.StepPart:
			yield(s.ID())
		case objects.StepAlone:
			ofLeaves += 16 * uint64(s.ID()) // the step has the size instead of a number
		}
	}
	return ofLeaves
}

// Bytes returns the total size of the objects in e that no walk has reached yet.
func (e *heldObjects) Bytes() (sum uint64) {
	for id := range e.w.Notes.Noted {
		if id := int32(id); e.Has(id) && e.w.NodeOf[id] == 0 {
			ofLeaves := e.follow(id, func(int32) {})
			sum += e.w.Notes.Bytes(id) + ofLeaves
		}
	}
	return sum
}
