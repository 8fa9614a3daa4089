package walk

// Of a foreign type made in C it is not known which words are references: a word may be a borrowed reference, or an
// older value of that memory. Reference counts decide. A survey looks at every object, reachable or not, and counts the
// certain references to it: those that built-in types, slots, arrays and frames hold. The difference to the object's
// reference count is the number of references among the uncertain words with the object's address. If it is 0, no word
// is a reference. If objects have at most so many of these words, all of them are references. Otherwise some are: each
// holds the object probably. Words in memory without a known type, which objects refer to, explain only what is left
// then, and are never certain. Probable references are followed last of all.

// wordKey identifies a word that may be a reference, by the address of the object that has it, 0 for none, and the
// address of its target.
type wordKey struct{ from, to uint64 }

// certainty says whether a word is a reference. The zero value: it is none.
type certainty uint8

const (
	probable certainty = iota + 1
	certain
)

// beliefs are the uncertain words that a survey has found to be references.
type beliefs struct {
	believed map[wordKey]certainty
	Doubts   []edge // probable references that wait until all certain ones have been followed
}

// keyOf returns the key of a word of a node; from is -1 for a word of no node.
func keyOf(addrs []uint64, from int32, to uint64) wordKey {
	if from < 0 {
		return wordKey{to: to}
	}
	return wordKey{addrs[from], to}
}
