package walk

import (
	"ipytracer/internal/python/holders/objects"
)

// heldObjects are objects that no name has led to and that something else holds for sure: they do not wait for the
// garbage collector, and neither does anything that they lead to. No listing needs nodes for them: their targets have
// references then that no walk sees, and are held by something else. A survey's notes show which they are, without a
// look at the process.
type heldObjects struct {
	w     *Walker
	is    []uint64 // bits, by an object's number
	queue []int32
}

// HeldElsewhere finds them, those that the modules given lead to included.
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
				e.steps(id, e.add)
			}
		}
	}
	for len(e.queue) > 0 && !w.Done() {
		id := e.queue[len(e.queue)-1]
		e.queue = e.queue[:len(e.queue)-1]
		e.steps(id, e.add)
	}
	return e
}

func (e *heldObjects) Has(id int32) bool { return e.is[id/64]&(1<<(id%64)) != 0 }

// add takes in an object, unless a walk has reached it or nothing is known of it.
func (e *heldObjects) add(id int32) {
	if e.w.Of[id] == 0 && !e.Has(id) && e.w.Notes.TypeOf(id) != nil {
		e.is[id/64] |= 1 << (id % 64)
		e.queue = append(e.queue, id)
	}
}

// steps calls yield with the targets of an object's references, as far as they were noted. It returns the bytes of
// those that only it has.
func (e *heldObjects) steps(id int32, yield func(to int32)) (bytes uint64) {
	for s := range e.w.Notes.StepsOf(id) {
		switch s.Kind() {
		case objects.StepFollow, objects.StepKey, objects.StepWord, objects.StepGlobals, objects.StepClass,
			objects.StepPart:
			yield(s.ID())
		case objects.StepAlone:
			bytes += uint64(s.ID()) << 4
		}
	}
	return bytes
}

// Bytes returns the total size of the objects in e that no walk has reached yet.
func (e *heldObjects) Bytes() (sum uint64) {
	for id := range e.w.Notes.Noted {
		if id := int32(id); e.Has(id) && e.w.Of[id] == 0 {
			sum += e.w.Notes.Bytes(id) + e.steps(id, func(int32) {})
		}
	}
	return sum
}
