package resident

// pools adds up Python's pools of small objects in a mapping (Objects/obmalloc.c): what is in use in them, and what is free. A pool
// is 4 KiB up to Python 3.9 and 16 KiB since, at a multiple of that. Its header of 48 bytes has how many blocks are
// in use, the first free one, two neighbours, its arena, the class of its blocks' size (16 bytes each), and two offsets: of the
// next block that was never used, and of the last that fits.
func (x *explainer) pools(m mapping) (used, free uint64) {
	const (
		classes = 32
		unit    = 16
		header  = 48
	)
	size := uint64(16 << 10)
	if x.python <= 9 {
		size = 4 << 10
	}
	if x.python == 0 {
		return 0, 0
	}
	for at := (m.start + size - 1) &^ (size - 1); at+size <= m.end && !x.over(); at += size {
		if !x.isResident(at) {
			continue
		}
		count, ok1 := x.word(at)
		first, ok2 := x.word(at + 8)
		class, ok3 := x.word(at + 32)
		offsets, ok4 := x.word(at + 40)
		index, next, last := class>>32, offsets&0xffffffff, offsets>>32
		block := (index + 1) * unit
		if !ok1 || !ok2 || !ok3 || !ok4 || index >= classes || last != size-block || count&0xffffffff > (size-header)/block ||
			next < header || next > size || first != 0 && (first <= at || first >= at+size) {
			continue
		}
		whole := x.residentIn(span{at, at + size})
		inUse := min((count&0xffffffff)*block, whole)
		used += inUse
		free += whole - inUse
	}
	return used, free
}
