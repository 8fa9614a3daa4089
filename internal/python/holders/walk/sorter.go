package walk

import (
	"math"

	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// The targets of a large object's references lie anywhere: those of a set, of a sorted list, or of a shuffled column.
// Followed as the object has them, each reads a page of its own: 8 GiB for two million texts. So they are followed in
// the order of their addresses.

const (
	many     = 1 << 12 // references of an object that is not large
	sorted   = 1 << 20 // references that are sorted at a time: 20 MiB
	dictUsed = 16      // offset of PyDictObject.ma_used
)

// sorter follows references in the order of their addresses, each with a word about it.
type sorter struct {
	Visits
	to, about []uint64
	follow    func(to, about uint64)
	region    objects.Region
}

// add takes a reference. It returns false where no more are wanted.
func (s *sorter) add(to, about uint64) bool {
	s.to, s.about = append(s.to, to), append(s.about, about)
	if len(s.to) == sorted {
		s.flush()
	}
	return !s.Done()
}

// flush follows the references that were taken.
func (s *sorter) flush() {
	s.Mem.InOrder(s.to, func(i int) {
		if !s.Done() {
			s.follow(s.to[i], s.about[i])
		}
	})
	s.to, s.about = s.to[:0], s.about[:0]
}

// inOrder calls each with a function that takes references. It calls follow for those in the order of their addresses,
// or as they come if there are at most a few.
func (v Visits) inOrder(count uint64, follow func(to, about uint64), each func(take func(to, about uint64) bool)) {
	if count <= many {
		each(func(to, about uint64) bool {
			follow(to, about)
			return !v.Done()
		})
		return
	}
	s := sorter{Visits: v, follow: follow}
	defer s.region.Free()
	s.to, s.about = objects.Room[uint64](&s.region, sorted), objects.Room[uint64](&s.region, sorted)
	each(s.add)
	s.flush()
}

// visitItems follows an array of count references, labelled by their indexes.
func (v Visits) visitItems(n int32, items, count uint64, kind labelKind) {
	count = min(count, cpython.MaxEntries)
	follow := func(item, i uint64) { v.Follow(n, item, Label{kind, i}) }
	v.inOrder(count, follow, func(take func(to, about uint64) bool) {
		v.Mem.Words(items, count, func(i, item uint64) bool { return take(item, i) })
	})
}

// visitDict follows the values and keys of a dict.
func (v Visits) visitDict(n int32, addr uint64) {
	const isKey = math.MaxUint64
	follow := func(to, about uint64) {
		if about == isKey {
			v.Refer(n, to, objects.StepKey, Label{LabelElement, 0})
		} else {
			v.Follow(n, to, Label{LabelKey, about})
		}
	}
	v.inOrder(v.Mem.Word(addr+dictUsed), follow, func(take func(to, about uint64) bool) {
		v.Entries(addr, func(key, value uint64) bool { return take(value, key) && take(key, isKey) })
	})
}

// visitSet follows the keys in a set's table of keys and hashes. A deleted place has the address of a dummy that is not
// counted.
func (v Visits) visitSet(n int32, addr uint64) {
	table, mask := v.Mem.Word(addr+cpython.SetTable), v.Mem.Word(addr+cpython.SetMask)
	follow := func(key, _ uint64) { v.Follow(n, key, Label{LabelElement, 0}) }
	v.inOrder(mask, follow, func(take func(to, about uint64) bool) {
		v.Mem.Words(table, 2*min(mask, cpython.MaxEntries)+2, func(i, word uint64) bool {
			return i&1 != 0 || word == 0 || take(word, 0)
		})
	})
}
