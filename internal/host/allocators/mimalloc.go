package allocators

import "encoding/binary"

// The memory of mimalloc 2 (include/mimalloc/types.h; mimalloc-types.h up to 2.0.9), also of that in Python since 3.13.
// mimalloc asks for segments, at multiples of 32 MiB. A segment is divided into slices of 64 KiB. Its header ends with
// five words: how many slices it has, how many of them are the header, its kind, the size of the array that follows,
// and its thread; up to 2.0.7 the thread comes before the size, and a segment has 64 MiB. The array has an entry for
// each slice. Slices that belong together are a page of blocks of one size, or free: the first entry has their number,
// and the last one its distance to the first. The size of the header and of entries differs between versions and
// builds: it is that with which a whole segment agrees.
const (
	segmentAlign = 32 << 20
	sliceSize    = 64 << 10
	maxSlices    = segmentAlign / sliceSize // in the array; twice as many up to 2.0.7
	headerLeast  = 128                      // bytes before the array
	headerMost   = 1 << 10                  // likewise
	entryLeast   = 72                       // bytes of an entry
	entryMost    = 120
)

// mimallocForm has the place of a segment's array, the size of an entry, both in bytes, and what reads the number of
// used blocks and their size in an entry.
type mimallocForm struct {
	array, entry int
	counts       func(entry []byte) (used, size uint64)
}

// mimallocs read the number of used blocks and their size: up to 2.1, and since 2.2.
var mimallocs = []func(entry []byte) (used, size uint64){
	func(e []byte) (used, size uint64) { return word(e, 3) & (1<<32 - 1), word(e, 3) >> 32 },
	func(e []byte) (used, size uint64) { return word(e, 4) & (1<<16 - 1), word(e, 5) },
}

// mimalloc finds the segments of mimalloc in all mappings.
type mimalloc struct {
	*search
	header []byte         // of the present segment
	known  []mimallocForm // of segments that were found
}

// findMimalloc returns the extents of mimalloc.
func findMimalloc(s *search) (found []Extent) {
	m := &mimalloc{search: s, header: make([]byte, 2*sliceSize)}
	for _, of := range s.mappings {
		at := (of.Start + segmentAlign - 1) &^ (segmentAlign - 1)
		for at < of.End && of.End-at >= sliceSize && !s.memory.Over() {
			pages := m.segment(at, of.End)
			found = append(found, pages...)
			if at += segmentAlign; len(pages) > 0 {
				at = max(at, (pages[len(pages)-1].End+segmentAlign-1)&^(segmentAlign-1))
			}
		}
	}
	return found
}

// segment returns the pages of the segment at an address, and its free slices. It returns nil if there is no segment,
// or one that reaches beyond the end of its mapping.
func (m *mimalloc) segment(at, end uint64) []Extent {
	m.memory.CopyResident(at, m.header[:headerMost+8])
	var arrays []int
	for array := headerLeast; array <= headerMost; array += 8 {
		if m.endsAt(array) {
			arrays = append(arrays, array)
		}
	}
	if arrays == nil || m.memory.Late() {
		return nil
	}
	m.memory.CopyResident(at, m.header)
	for _, form := range m.known {
		if pages := m.pages(form, at, end); pages != nil {
			return pages
		}
	}
	for _, array := range arrays {
		for entry := entryLeast; entry <= entryMost; entry += 8 {
			for _, counts := range mimallocs {
				form := mimallocForm{array, entry, counts}
				if pages := m.pages(form, at, end); pages != nil {
					m.known = append(m.known, form)
					return pages
				}
			}
		}
	}
	return nil
}

// endsAt reports whether the header of a segment may end where an array begins.
func (m *mimalloc) endsAt(array int) bool {
	const mostOwn = 4 // slices of the header
	i := array / 8
	slices, own, kind := word(m.header, i-5), word(m.header, i-4), word(m.header, i-3)
	return own > 0 && own <= mostOwn && slices > own && kind&(1<<32-1) <= 1 && m.entries(i) > 0 &&
		word(m.header, i) == own // its number of slices; its distance to the first one is 0
}

// entries returns the size of an array whose first word has an index in the header; 0 if it is not known.
func (m *mimalloc) entries(i int) uint64 {
	slices := word(m.header, i-5)
	if size := word(m.header, i-2); size == min(slices, maxSlices) {
		return size
	}
	if size := word(m.header, i-1); size == min(slices, 2*maxSlices) {
		return size
	}
	return 0
}

// pages returns the extents of a segment, if all entries of the array agree with the form.
func (m *mimalloc) pages(form mimallocForm, at, end uint64) (pages []Extent) {
	i := form.array / 8
	if !m.endsAt(form.array) {
		return nil
	}
	slices, own, size := word(m.header, i-5), word(m.header, i-4), m.entries(i)
	if form.array+int(size)*form.entry > len(m.header) || slices > (end-at)/sliceSize {
		return nil
	}
	isHuge := word(m.header, i-3)&1 != 0
	for slice := uint64(0); slice < slices; {
		if slice >= size {
			return nil
		}
		e := m.header[form.array+int(slice)*form.entry:][:form.entry]
		count := word(e, 0) // and its distance to the first slice, which is 0
		if count == 0 || count > slices-slice || !isHuge && !m.isLast(form, slice, count) {
			return nil
		}
		page := Extent{Start: at + slice*sliceSize, End: at + (slice+count)*sliceSize, Of: Mimalloc}
		if slice < own {
			page.Used = count * sliceSize
		} else if ok := form.fill(&page, e); !ok {
			return nil
		}
		pages = append(pages, page)
		slice += count
	}
	return pages
}

// isLast reports whether the entry of the last of count slices has its distance to the first one.
func (m *mimalloc) isLast(form mimallocForm, slice, count uint64) bool {
	last := m.header[form.array+int(slice+count-1)*form.entry:]
	return count == 1 || word(last, 0) == (count-1)*uint64(form.entry)<<32
}

// fill sets how much of a page is used, given the page's entry. ok is false if the entry contradicts itself.
func (f mimallocForm) fill(page *Extent, entry []byte) (ok bool) {
	capacity := uint64(binary.LittleEndian.Uint16(entry[10:]))
	reserved := uint64(binary.LittleEndian.Uint16(entry[12:]))
	used, size := f.counts(entry)
	switch bytes := page.End - page.Start; {
	case reserved == 0:
		page.Free = true
		return used == 0 && size <= 1
	case size < 8 || capacity > reserved || used > capacity || size > bytes/reserved:
		return false
	case reserved == 1 && used == 1 && size == 1<<31: // MI_HUGE_BLOCK_SIZE, or more
		page.Used = bytes
	default:
		page.Used, page.Free = used*size, used == 0
	}
	return true
}
