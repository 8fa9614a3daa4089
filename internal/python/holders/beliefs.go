package holders

// beliefs are the words that a survey has found to be references, of those that may be: see evidence.go.
type beliefs struct {
	*walker
	believed map[guessKey]sure
	doubts   []edge // those of them that are so probably, followed when nothing certain is left
}

// maybeFollow takes a word that may be a reference: inObject if it is the object's own, else it is in memory that the
// object refers to. It reports whether the word could be one.
func (b *beliefs) maybeFollow(from int32, to uint64, l label, inObject bool) bool {
	if !b.isPlausible(to) {
		return false
	}
	key := keyOf(b.addrs, from, to)
	if b.gatherer != nil {
		b.gatherer.guessed(key, inObject)
		return true
	}
	switch b.believed[key] {
	case isCertain:
		b.follow(from, to, l)
	case isProbable:
		if len(b.doubts) < b.limits.Objects {
			b.doubts = append(b.doubts, edge{to, l, from, b.kind})
		} else {
			b.stopped = errObjects
		}
	}
	return true
}

// followBelieved is maybeFollow where it does not matter whether the word could be a reference: most words are known to
// be none, and their targets need not be looked at.
func (b *beliefs) followBelieved(from int32, to uint64, l label, inObject bool) {
	if b.gatherer != nil || b.believed[keyOf(b.addrs, from, to)] != 0 {
		b.maybeFollow(from, to, l, inObject)
	}
}

// keyOf returns the key of a word of a node, by the nodes' addresses; -1 for one of no node.
func keyOf(addrs []uint64, from int32, to uint64) guessKey {
	if from < 0 {
		return guessKey{to: to}
	}
	return guessKey{addrs[from], to}
}

// followDoubts follows the words that are references only probably, once all targets of certain ones have been reached:
// a word that a variable may have must not hide an object's certain holder.
func (b *beliefs) followDoubts() {
	for i := 0; i < len(b.doubts) && !b.done(); i++ { // it grows on the way
		e := b.doubts[i]
		if _, reached := b.known(e.to); reached && b.leaves == nil {
			continue
		}
		known := len(b.nodes)
		b.kind = e.kind
		b.follow(e.parent, e.to, e.label)
		if len(b.nodes) > known {
			b.nodes[known].probable = true
		}
		b.run()
	}
	b.doubts = nil
}

// isPlausible reports whether a word that need not be a reference could be one: it may be a value from before, or the
// characters of a text. More must be right then about the object: it must have a likely reference count, and the
// collector's links.
func (b *beliefs) isPlausible(word uint64) bool {
	if word < lowestAddress || word >= userSpace || word&7 != 0 {
		return false
	}
	if _, ok := b.known(word); ok {
		return true
	}
	t := b.objectType(word)
	return t != nil && (t.shape == shapeLeaf || b.isLikely(word, t))
}

// guess takes a word of an object with a known layout: if it looks like a reference it is one.
func (b *beliefs) guess(from int32, word uint64, l label) bool {
	return b.isPlausible(word) && b.follow(from, word, l)
}
