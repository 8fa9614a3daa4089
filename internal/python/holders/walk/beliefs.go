package walk

import (
	"ipytracer/internal/python/holders/objects"
)

// beliefs are the words that a survey has found to be references, of those that may be: see census.go.
type beliefs struct {
	*Walker
	Believed map[WordKey]Certainty
	Doubts   []edge // those of them that are so probably, followed when nothing certain is left
}

// maybeFollow takes a word that may be a reference: inObject if it is the object's own, else it is in memory that the
// object refers to. It reports whether the word could be one.
func (b *beliefs) maybeFollow(from int32, to uint64, l Label, inObject bool) bool {
	if !b.IsPlausible(to) {
		return false
	}
	key := keyOf(b.Addrs, from, to)
	if b.gatherer != nil {
		b.gatherer.guessed(key, inObject)
		return true
	}
	switch b.Believed[key] {
	case certain:
		b.Follow(from, to, l)
	case probable:
		if len(b.Doubts) < b.Limits.Objects {
			b.Doubts = append(b.Doubts, edge{to, l, from, b.Kind})
		} else {
			b.Stopped = objects.ErrObjects
		}
	}
	return true
}

// followBelieved is maybeFollow where it does not matter whether the word could be a reference: most words are known to
// be none, and their targets need not be looked at.
func (b *beliefs) followBelieved(from int32, to uint64, l Label, inObject bool) {
	if b.gatherer != nil || b.Believed[keyOf(b.Addrs, from, to)] != 0 {
		b.maybeFollow(from, to, l, inObject)
	}
}

// keyOf returns the key of a word of a node, by the nodes' addresses; -1 for one of no node.
func keyOf(addrs []uint64, from int32, to uint64) WordKey {
	if from < 0 {
		return WordKey{to: to}
	}
	return WordKey{addrs[from], to}
}

// FollowDoubts follows the words that are references only probably, once all targets of certain ones have been reached:
// a word that a variable may have must not hide an object's certain holder.
func (b *beliefs) FollowDoubts() {
	for i := 0; i < len(b.Doubts) && !b.Done(); i++ { // it grows on the way
		e := b.Doubts[i]
		if _, reached := b.Known(e.To); reached && b.leaves == nil {
			continue
		}
		known := len(b.Nodes)
		b.Kind = e.kind
		b.Follow(e.Parent, e.To, e.Label)
		if len(b.Nodes) > known {
			b.Nodes[known].Probable = true
		}
		b.Run()
	}
	b.Doubts = nil
}

// IsPlausible reports whether a word that need not be a reference could be one: it may be a value from before, or the
// characters of a text. More must be right then about the object: it must have a likely reference count, and the
// collector's links.
func (b *beliefs) IsPlausible(word uint64) bool {
	if word < objects.LowestAddress || word >= objects.UserSpace || word&7 != 0 {
		return false
	}
	if _, ok := b.Known(word); ok {
		return true
	}
	t := b.ObjectType(word)
	return t != nil && (t.Shape == objects.ShapeLeaf || b.IsLikely(word, t))
}

// guess takes a word of an object with a known layout: if it looks like a reference it is one.
func (b *beliefs) guess(from int32, word uint64, l Label) bool {
	return b.IsPlausible(word) && b.Follow(from, word, l)
}
