package allocators

import (
	"cmp"
	"slices"
)

// The memory of jemalloc 5.2 and 5.3 (include/jemalloc/internal: edata.h, extent_structs.h, rtree.h, base.h, sc.h).
// jemalloc keeps its own data in blocks of a base allocator, at multiples of 2 MiB. A block begins with its size, the
// next block, and a record of its unused end. Each extent has a record in such a block: a word of fields, the extent's
// address, its size. A tree has the record of each extent's first and last page; its leaves are arrays in such blocks,
// with a word for each page. So neither symbols nor calls are needed, and a jemalloc inside of another library, such as
// Polars', is found, too.
const (
	baseAlign   = 2 << 20
	baseHead    = 40        // bytes of a block that are examined: size, next, and three words of the record
	recordAlign = 64        // the least alignment of records and leaves
	maxBlocks   = 1 << 14   // blocks of the base allocator
	maxRecords  = 1 << 20   // records; at least 128 bytes each in the process
	noArena     = 1<<12 - 1 // the arena in the record of a block
	addresses   = 1<<48 - 1 // the address in a leaf's word
	leastPage   = 12        // the logarithm of the smallest page that jemalloc may be built for
	mostPage    = 16
)

// jemalloc gives back the pages of extents in these states if asked: those that it has not touched since they were
// free, those that Linux may take, and those that it has taken.
const (
	dirty    = 1
	retained = 3
)

// jemallocClasses is the number of size classes, and the class of extents without blocks (SC_NSIZES).
const jemallocClasses = 232

// jemallocFields has the first bits of the fields in an extent's record, and those of its state in a leaf's word.
type jemallocFields struct {
	state, stateBits, class, free uint
	leafState                     uint64 // a mask
}

// isSlab reports whether an extent consists of small blocks.
func (r extentRecord) isSlab() bool { return r.fields>>12&1 != 0 }

// jemallocs are the forms of records: of 5.3, and of 5.2, where leaves have no state.
var jemallocs = []jemallocFields{{17, 3, 20, 28, 7 << 2}, {16, 2, 18, 26, 0}}

// extentRecord is an extent's record at an address.
type extentRecord struct{ at, fields, start, size uint64 }

// jemalloc finds the extents of jemalloc in all mappings.
type jemalloc struct {
	*search
	blocks  []span         // used parts of blocks of the base allocator
	records []extentRecord // by address
	form    jemallocFields
	page    uint // the logarithm of jemalloc's page
	leaf    []byte
}

// findJemalloc returns the extents of jemalloc. They may overlap: then the first counts.
func findJemalloc(s *search) []Extent {
	j := &jemalloc{search: s}
	for _, m := range s.mappings {
		j.findBlocks(m)
	}
	j.findRecords()
	var found [][]Extent
	for _, form := range jemallocs {
		j.form = form
		found = append(found, j.extents())
	}
	slices.SortStableFunc(found, func(a, b []Extent) int { return cmp.Compare(len(b), len(a)) })
	all := slices.Concat(found...) // by chance, a record agrees in the wrong form, too
	for _, b := range j.blocks {
		all = append(all, Extent{Start: b.start, End: b.end, Used: b.end - b.start, Of: Jemalloc})
	}
	return all
}

// findBlocks finds the blocks of the base allocator in a mapping.
func (j *jemalloc) findBlocks(m Mapping) {
	head := make([]byte, baseHead)
	for at := (m.Start + baseAlign - 1) &^ (baseAlign - 1); at < m.End && m.End-at >= baseAlign && !j.memory.Over(); {
		j.memory.CopyResident(at, head)
		size, next := word(head, 0), word(head, 1)
		fields, unused, left := word(head, 2), word(head, 3), word(head, 4)
		if size == 0 || size%baseAlign != 0 || size > m.End-at || next%baseAlign != 0 || fields&noArena != noArena ||
			unused < at+baseHead || unused > at+size || left != at+size-unused {
			at += baseAlign
			continue
		}
		if len(j.blocks) == maxBlocks {
			j.memory.Stop()
			return
		}
		j.blocks = append(j.blocks, span{at, unused})
		at += size
	}
}

// findRecords finds what may be records of extents, also of former ones, and the size of jemalloc's pages: that at
// multiples of which nearly all slabs lie. A slab is an extent of small blocks. A large block begins anywhere in the
// first page of its extent.
func (j *jemalloc) findRecords() {
	var aligned [mostPage + 1]int
	for _, b := range j.blocks {
		j.eachPart(b, func(at uint64, data []byte) (next uint64) {
			for i := 0; i+3*8 <= len(data); i += recordAlign {
				r := extentRecord{at + uint64(i), word(data[i:], 0), word(data[i:], 1), word(data[i:], 2)}
				if !j.mayBeRecord(r) {
					continue
				}
				if len(j.records) == maxRecords {
					j.memory.Stop()
					return b.end
				}
				j.records = append(j.records, r)
				for page := uint(leastPage); page <= mostPage && r.isSlab() && r.start%(1<<page) == 0; page++ {
					aligned[page]++
				}
			}
			return 0
		})
	}
	j.page = leastPage
	for page := uint(leastPage); page <= mostPage; page++ {
		if 10*aligned[page] > 9*aligned[leastPage] {
			j.page = page
		}
	}
}

// mayBeRecord reports whether a record is that of an extent in a private mapping.
func (j *jemalloc) mayBeRecord(r extentRecord) bool {
	const inPage = 1<<leastPage - 1
	if r.start == 0 || r.start%recordAlign != 0 || r.size <= inPage || r.fields&noArena == noArena {
		return false
	}
	return j.isMapped(r.start)
}

// extents returns the extents in all leaves of the tree.
func (j *jemalloc) extents() (found []Extent) {
	bits := (48 - j.page + 1) / 2 // of a page's number are its index in a leaf
	size := uint64(8) << bits
	j.leaf = make([]byte, size)
	for _, b := range j.blocks {
		j.eachPart(b, func(at uint64, data []byte) (next uint64) {
			for i := 0; i+8 <= len(data); i += 8 {
				w := word(data[i:], 0)
				if w == 0 {
					continue
				}
				r, ok := j.record(w)
				if !ok {
					continue
				}
				index := r.start >> j.page & (1<<bits - 1)
				leaf := at + uint64(i) - 8*index
				if leaf < b.start || leaf%recordAlign != 0 || b.end-leaf < size || leaf > b.end {
					continue
				}
				if in := j.extentsIn(leaf, r.start>>j.page>>bits); len(in) > 0 {
					found = append(found, in...)
					return leaf + size
				}
			}
			return 0
		})
	}
	return found
}

// record returns the record that a leaf's word points to. ok is false if they do not agree.
func (j *jemalloc) record(w uint64) (r extentRecord, ok bool) {
	at := w & addresses &^ (recordAlign - 1)
	i, ok := slices.BinarySearchFunc(j.records, at, func(r extentRecord, at uint64) int {
		return cmp.Compare(r.at, at)
	})
	if !ok {
		return r, false
	}
	r = j.records[i]
	state := r.fields >> j.form.state & (1<<j.form.stateBits - 1)
	low := w & (recordAlign - 1)
	switch class := r.fields >> j.form.class & 0xff; {
	case j.form.leafState == 0 && low > 1:
		return r, false
	case class >= jemallocClasses: // no block; while its pages are given back, its state is not that in the leaf
		return r, true
	default:
		return r, w>>48 == class && r.isSlab() == (w&1 != 0) && low&j.form.leafState>>2 == state
	}
}

// extentsIn returns the extents in a leaf, whose first and last pages both have the extent's record. key has the upper
// bits of the numbers of the leaf's pages.
func (j *jemalloc) extentsIn(leaf, key uint64) (found []Extent) {
	j.memory.CopyResident(leaf, j.leaf)
	count := uint64(len(j.leaf) / 8)
	for i := uint64(0); i < count; {
		r, ok := j.record(word(j.leaf, int(i)))
		n := r.size >> j.page
		if !ok || n == 0 || r.start>>j.page != key*count+i {
			i++
			continue
		}
		if last := i + n - 1; n > count || last < count && word(j.leaf, int(last))&addresses&^(recordAlign-1) != r.at {
			i++
			continue
		}
		found = append(found, j.extent(r, n<<j.page))
		i += n
	}
	return found
}

// extent returns the extent of a record.
func (j *jemalloc) extent(r extentRecord, size uint64) Extent {
	start := r.start &^ (1<<j.page - 1)
	e := Extent{Start: start, End: start + size, Used: size, Of: Jemalloc}
	state, class := r.fields>>j.form.state&(1<<j.form.stateBits-1), r.fields>>j.form.class&0xff
	block := jemallocClass(class)
	free := r.fields >> j.form.free & (1<<(j.page-2) - 1)
	switch {
	case class >= jemallocClasses, state >= dirty && state <= retained:
		e.Used, e.Free = 0, true
	case r.isSlab():
		e.Used = (size/block - min(free, size/block)) * block
	default:
		e.Used = min(block, size)
	}
	return e
}

// jemallocClass returns the bytes of a block of a size class (sz_index2size_compute): 8, then multiples of 16 up to 64,
// then four classes for each power of two.
func jemallocClass(class uint64) uint64 {
	if class == 0 {
		return 8
	}
	group, in := (class-1)/4, (class-1)%4+1
	switch {
	case group == 0:
		return in << 4
	case class >= jemallocClasses:
		return 1 << 62
	}
	return 32<<group + in<<(group+3)
}
