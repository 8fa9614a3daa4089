package stacks

import (
	"hash/maphash"
	"testing"
)

// TestFinderFindsItemsWithOneHash finds all added items, even if they share a hash, and nothing else.
func TestFinderFindsItemsWithOneHash(t *testing.T) {
	seed := maphash.MakeSeed()
	for name, hash := range map[string]func(uint32) uint64{
		"good":    func(v uint32) uint64 { return maphash.Comparable(seed, v) },
		"bad":     func(v uint32) uint64 { return uint64(v % 3) },
		"highest": func(uint32) uint64 { return ^uint64(0) },
	} {
		var x finder
		var list []uint32
		for n := range uint32(500) {
			v := n * 7
			is := func(at uint32) bool { return list[at] == v }
			if _, known := x.find(hash(v), is); known {
				t.Fatalf("%s: %d is there before it was put in", name, v)
			}
			list = append(list, v)
			x.add(n, func(at uint32) uint64 { return hash(list[at]) })
		}
		for at, v := range list {
			if found, known := x.find(hash(v), func(at uint32) bool { return list[at] == v }); !known ||
				found != uint32(at) {
				t.Fatalf("%s: %d is at %d, %v", name, v, found, known)
			}
		}
		if most := 4 * 500; len(x.places) > most {
			t.Errorf("%s: %d places for 500", name, len(x.places))
		}
	}
}
