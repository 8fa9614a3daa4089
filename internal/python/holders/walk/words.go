package walk

import "ipytracer/internal/python/holders/objects"

// Visits has the part of a walker that finds the references of an object, by the layout of the object's type.
type Visits struct{ *Walker }

// maybeFollow follows a word that may be a reference, if the census believes that it is. A census itself notes the
// word. inObject is true if the word is in the object itself, false if it is in memory that the object refers to.
// maybeFollow reports whether the word could be a reference.
func (w *Walker) maybeFollow(from int32, to uint64, l Label, inObject bool) bool {
	if !w.IsPlausible(to) {
		return false
	}
	key := keyOf(w.Addrs, from, to)
	if w.gatherer != nil {
		w.gatherer.guessed(key, inObject)
		return true
	}
	switch w.Beliefs.believed[key] {
	case certain:
		w.Follow(from, to, l)
	case probable:
		if len(w.Beliefs.Doubts) < w.Limits.Objects {
			w.Beliefs.Doubts = append(w.Beliefs.Doubts, edge{to, l, from, w.Kind})
		} else {
			w.Stopped = objects.ErrObjects
		}
	}
	return true
}

// followBelieved does what maybeFollow does, but reports nothing. So it need not look at the targets of the words that
// are known to be no references, which are most.
func (w *Walker) followBelieved(from int32, to uint64, l Label, inObject bool) {
	if w.gatherer != nil || w.Beliefs.believed[keyOf(w.Addrs, from, to)] != 0 {
		w.maybeFollow(from, to, l, inObject)
	}
}

// IsPlausible reports whether a word that need not be a reference could be one. The word may also be an old value, or
// the characters of a text. So the object at the address must look right, too: it must have a likely reference count,
// and the collector's links.
func (w *Walker) IsPlausible(word uint64) bool {
	if word < objects.LowestAddress || word >= objects.UserSpace || word&7 != 0 {
		return false
	}
	if _, ok := w.Known(word); ok {
		return true
	}
	t := w.ObjectType(word)
	return t != nil && (t.Shape == objects.ShapeLeaf || w.IsLikely(word, t))
}

// followPlausible follows a word of an object with a known layout, if the word looks like a reference.
func (w *Walker) followPlausible(from int32, word uint64, l Label) bool {
	return w.IsPlausible(word) && w.Follow(from, word, l)
}

// visitWords follows the words of an instance from one offset to another.
func (v Visits) visitWords(n int32, addr uint64, t *objects.Type, from, to uint64) {
	from = (from + 7) &^ 7
	if to <= from {
		return
	}
	if t.Name == objects.MemoryView { // its Py_buffer has the address of the exporter, too, but does not count it
		v.Word(n, v.Mem.Word(addr+objects.MemoryBuffer), Label{LabelWord, objects.MemoryBuffer})
		return
	}
	v.Mem.Words(addr+from, (to-from)/8, func(i, word uint64) bool {
		v.Hidden = from+8*i < t.HiddenBefore
		v.visitWord(n, t, from+8*i, word)
		v.Hidden = false
		return !v.Done()
	})
}

// visitWord follows a word of an instance, at an offset.
func (v Visits) visitWord(n int32, t *objects.Type, at, word uint64) {
	const endOfLinks = 64 // of PyWeakReference: links of the list of all weak references to the same object
	switch {
	case at == t.Weak && at != 0, t.Dict > 0 && at == uint64(t.Dict):
	case t.Shape == objects.ShapeWeak && at < endOfLinks:
	case at < t.UnknownBefore && !v.IsSlot(t, at):
		v.looseWord(n, word, Label{LabelWord, at})
	default:
		v.Word(n, word, Label{LabelWord, at})
	}
}

// Word follows a word of an object with a known layout: a reference, the address of a block, or a number.
func (v Visits) Word(n int32, word uint64, l Label) {
	if word >= objects.LowestAddress {
		v.Refer(n, word, objects.StepWord, l)
	}
}

// looseWord follows a word of something with an unknown layout, unless the word has the address of a block. n is -1 if
// the word belongs to no object.
func (v Visits) looseWord(n int32, word uint64, l Label) {
	if word < objects.LowestAddress || n >= 0 && v.mayPointAt(n, word) {
		return
	}
	v.followBelieved(n, word, l, true)
}
