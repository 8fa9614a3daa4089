package resident

import "testing"

// TestBlockInSeveralMappings: a block of malloc's is in several mappings where a part may be of huge pages. Below the
// heap of a thread such a part begins at a multiple of the heaps' alignment, and differs from a heap by its size.
func TestBlockInSeveralMappings(t *testing.T) {
	const base, page = 7 * heapMost, 4096
	block := func(start, end uint64) mapping {
		return mapping{start: start, end: end, writable: true, resident: end - start}
	}
	for _, c := range []struct {
		name string
		all  []mapping
		want int
	}{
		{"a page and huge pages", []mapping{block(base-page, base), block(base, base+8*heapMost)}, 1},
		{"and the heap of a thread above", []mapping{block(base-page, base), block(base, base+8*heapMost),
			block(base+8*heapMost, base+8*heapMost+page)}, 2},
		{"apart", []mapping{block(base, base+page), block(base+2*page, base+3*page)}, 2},
	} {
		got := join(c.all)
		var sum, want uint64
		for _, m := range got {
			sum += m.resident
		}
		for _, m := range c.all {
			want += m.end - m.start
		}
		if len(got) != c.want || sum != want {
			t.Errorf("%s: %d mappings of %d bytes, want %d of %d", c.name, len(got), sum, c.want, want)
		}
	}
}
