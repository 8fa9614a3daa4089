package holders

import (
	"ipytracer/tracer/python/cpython"
)

// isPlausible says whether a word that need not be a reference could be one: it may be what was there before, or the characters
// of a text. More must be right then about the object: it must have a likely reference count, and the collector's links.
func (w *walker) isPlausible(word uint64) bool {
	if word < lowestAddress || word >= userSpace || word&7 != 0 {
		return false
	}
	if _, ok := w.known(word); ok {
		return true
	}
	t := w.objectType(word)
	return t != nil && (t.shape == shapeLeaf || w.isLikely(word, t))
}

// guess takes a word of an object whose layout is known: if it looks like a reference it is one.
func (w *walker) guess(from int32, word uint64, l label) bool {
	return w.isPlausible(word) && w.follow(from, word, l)
}

// isLikely checks what a garbage collector keeps in front of an object: PyGC_Head, the links of a list, both 0 for an
// object that it leaves alone. Classes that are not made at run time have none.
func (w *walker) isLikely(addr uint64, t *typ) bool {
	const head, flags, mostReferences, immortal = 16, 3, 1 << 22, 1 << 31
	if n := w.references(addr); n > mostReferences && n < immortal {
		return false
	}
	if t.flags&cpython.FlagGC == 0 || t.shape == shapeType && w.mem.word(addr+cpython.TypeFlags)&cpython.FlagHeapType == 0 {
		return true
	}
	at := addr - head
	next, prev := w.mem.word(at)&^flags, w.mem.word(at+8)&^flags
	if next == 0 {
		return prev == 0
	}
	return w.mem.word(next+8)&^flags == at || w.mem.word(prev)&^flags == at
}
