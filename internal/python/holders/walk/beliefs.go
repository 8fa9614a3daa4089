package walk

// For a foreign type made in C nothing shows which of its words are references: one may be borrowed, or be an older
// value of that memory. Reference counts decide. A survey looks at every object there is, reachable or not, and counts
// the certain references to each: those that built-in types, slots, arrays and frames hold. If an object's reference
// count is no higher, no other word that has its address is a reference. If it is higher by at least as many as there
// are such words in objects, all of these are. Otherwise some of them are: they hold their objects probably. Words of
// memory that objects refer to, without even a known type, come after those and are never certain. Probable references
// are followed last of all.

// wordKey is a word that may be a reference: its place, the address of an object or 0, and its target.
type wordKey struct{ from, to uint64 }

// certainty is the knowledge about a word that may be a reference.
type certainty uint8

const (
	probable certainty = iota + 1
	certain
)

// beliefs are the words that a survey has found to be references, of those that may be.
type beliefs struct {
	believed map[wordKey]certainty
	Doubts   []edge // those of them that are so probably, followed when nothing certain is left
}

// keyOf returns the key of a word of a node, by the nodes' addresses; -1 for one of no node.
func keyOf(addrs []uint64, from int32, to uint64) wordKey {
	if from < 0 {
		return wordKey{to: to}
	}
	return wordKey{addrs[from], to}
}
