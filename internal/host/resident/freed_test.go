package resident

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"testing"
)

const freedSmaps = `555500000000-555500040000 rw-p 00000000 00:00 0 [heap]
Rss: 256 kB
Anonymous: 256 kB
7f1000000000-7f1000021000 rw-p 00000000 00:00 0
Rss: 132 kB
Anonymous: 132 kB
7f2000000000-7f200000c000 rw-p 00000000 00:00 0
Rss: 48 kB
Anonymous: 48 kB
7f3003ff0000-7f3004000000 rw-p 00000000 00:00 0
Rss: 64 kB
Anonymous: 64 kB
7f3004000000-7f3004010000 rw-p 00000000 00:00 0
Rss: 64 kB
Anonymous: 64 kB
`

// TestFallsOfTwoOwners: what goes with blocks of two owners, a (1) and b (2). Blocks that malloc or another allocator
// mapped go at once, as an arena of Python's does when all that is in it has gone; whole pages of a heap go once nobody
// else has a byte in them.
func TestFallsOfTwoOwners(t *testing.T) {
	const heapAt, mappedAt, poolsAt, a, b = 0x555500000000, 0x7f1000000000, 0x7f2000000000, 1, 2
	heap, mapped, pools := make([]byte, 256<<10), make([]byte, 132<<10), make([]byte, 48<<10)
	put := func(in []byte, at int, words ...uint64) {
		for i, word := range words {
			binary.LittleEndian.PutUint64(in[at+8*i:], word)
		}
	}
	put(heap, 0, 0, 0x5000|inUseBefore)        // in use, nobody knows by whom
	put(heap, 0x5000, 0, 0x4800|inUseBefore)   // of a
	put(heap, 0x9800, 0, 0x3800|inUseBefore)   // of b: it has a page with a
	put(heap, 0xd000, 0, 0x800|inUseBefore)    // small, of a
	put(heap, 0xd800, 0, 0x1000|inUseBefore)   // of b, up to the middle of a page
	put(heap, 0xe800, 0, 0x11800|inUseBefore)  // in use
	put(heap, 0x20000, 0, 0x20000|inUseBefore) // the top
	put(mapped, 0, 0, uint64(132<<10)|isMapped)
	for i, arena := range []uint64{3, 3, 4} { // of 100 blocks of 32 bytes each
		put(pools, i<<14, 100, 0, 0, 0, 1<<32|arena, (16<<10-32)<<32|(48+100*32))
	}
	small := map[uint64][2]uint64{
		(heapAt + 0xd010) >> 12: {a, 1},
		poolsAt >> 12:           {a, 100}, (poolsAt + 0x4000) >> 12: {b, 60}, (poolsAt + 0x5000) >> 12: {a, 40},
		(poolsAt + 0x8000) >> 12: {a, 99}, // something else has one
	}
	memory := parts{heapAt: heap, mappedAt: mapped, poolsAt: pools, 0x7f3003ff0000: make([]byte, 128<<10)}
	got, err := Explain(Source{
		Smaps: strings.NewReader(freedSmaps), Memory: memory, Pages: same(present), Python: 11, PageSize: 4096,
		Freed: &Freed{
			Large: []Block{
				{heapAt + 0x5010, 0x4800, a}, {heapAt + 0x9810, 0x3800, b}, {heapAt + 0xd810, 0x1000, b},
				{mappedAt + 16, 128 << 10, b}, {0x7f3003ff8000, 64 << 10, a}, // of another allocator, in two mappings
			},
			Small: func(page uint64) (uint64, int) { return small[page][0], int(small[page][1]) },
		},
	}, Limits{})
	if err != nil || !got.Complete {
		t.Fatalf("%v, %+v", err, got)
	}
	if want := map[uint64]uint64{a: 64 << 10, b: 132 << 10, a | b: 32 << 10}; !maps.Equal(got.Falls.AtOnce, want) {
		t.Errorf("at once: %v, want %v", got.Falls.AtOnce, want)
	}
	if want := map[uint64]uint64{a: 0x4000, b: 0x3000, a | b: 0x2000}; !maps.Equal(got.Falls.Trims, want) {
		t.Errorf("with malloc_trim: %v, want %v", got.Falls.Trims, want)
	}
	if want := []uint64{0x4800, 0x3800, 0x1000, 128 << 10, 64 << 10}; !slices.Equal(got.Falls.Resident, want) {
		t.Errorf("in memory: %v, want %v", got.Falls.Resident, want)
	}
}
