package resident

// scanned has the blocks and pools in a mapping that is no heap.
type scanned struct {
	big        []span // blocks for which malloc has made mappings of their own
	used, free uint64 // bytes of Python's pools
}

// The sizes of Python's pools in bytes (Objects/obmalloc.c).
const (
	poolSize    = 16 << 10
	poolSize309 = 4 << 10 // up to Python 3.9
)

// scan searches a mapping for blocks that malloc has mapped, and for Python's pools. Both begin at multiples of a page
// or of a pool, whichever is smaller.
func (x *explainer) scan(m mapping) (s scanned) {
	before := x.ahead
	x.ahead = x.page
	defer func() { x.ahead = before }()
	pool := uint64(poolSize)
	if x.python <= 9 {
		pool = poolSize309
	}
	step := min(x.page, pool)
	for at := m.start; at < m.end && !x.stopped; {
		if !x.isResident(at) {
			at += step
			continue
		}
		if size := x.mapped(at, m.end); size > 0 {
			s.big = append(s.big, span{at, at + size})
			at += size
			continue
		}
		if used, ok := x.pool(at, pool, m.end); ok {
			whole := x.residentIn(span{at, at + pool})
			used = min(used, whole)
			s.used += used
			s.free += whole - used
			at += pool
			continue
		}
		at += step
	}
	return s
}

// pool returns the bytes in use of Python's pool at an address (Objects/obmalloc.c). ok is false if there is no pool. A
// pool begins at a multiple of its size. Its header of 48 bytes has the number of blocks in use, the first free block,
// two neighbours, its arena, the class of its blocks (a multiple of 16 bytes), and two offsets: of the next block that
// was never used, and of the last block that fits.
func (x *explainer) pool(at, size, end uint64) (used uint64, ok bool) {
	const (
		classes = 32
		unit    = 16
		header  = 48
		low     = 1<<32 - 1
	)
	if x.python == 0 || at%size != 0 || at+size > end {
		return 0, false
	}
	count, ok1 := x.word(at)
	first, ok2 := x.word(at + 8)
	class, ok3 := x.word(at + 32)
	offsets, ok4 := x.word(at + 40)
	index, next, last := class>>32, offsets&low, offsets>>32
	block := (index + 1) * unit
	if !ok1 || !ok2 || !ok3 || !ok4 || index >= classes || last != size-block || count&low > (size-header)/block ||
		next < header || next > size || first != 0 && (first <= at || first >= at+size) {
		return 0, false
	}
	x.pooled(at, size, int(count&low), uint32(class&low))
	return (count & low) * block, true
}
