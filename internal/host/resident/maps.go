package resident

import (
	"encoding/binary"
	"slices"
)

// maps adds the memory maps of Freed.Maps that have a byte in a mapping.
func (x *explainer) maps(m mapping) {
	f := x.falling
	if f == nil || m.resident == 0 {
		return
	}
	blocks := f.of.Maps
	i, _ := slices.BinarySearchFunc(blocks, m.start, func(b Block, addr uint64) int {
		if b.Address+b.Size <= addr {
			return -1
		}
		return 1
	})
	for ; i < len(blocks) && blocks[i].Address < m.end; i++ {
		if b := blocks[i]; b.Owners != 0 {
			x.mapIn(m, b.Owners, max(b.Address, m.start), min(b.Address+b.Size, m.end))
		}
	}
}

// mapIn adds the part [start, end) of a mapping to the memory that its owners free. For a whole mapping it uses the
// sizes in smaps, and else counts pages.
func (x *explainer) mapIn(m mapping, owners, start, end uint64) {
	pages, anonymous, ok := m.resident, m.anonymous, true
	if start > m.start || end < m.end {
		pages, anonymous, ok = x.pagesIn(start, end)
	}
	if !ok {
		x.reader.stopped = true
		return
	}
	add := func(k Kind, bytes uint64) {
		if bytes == 0 {
			return
		}
		f := x.falling.falls
		if f.Maps[owners] == nil {
			f.Maps[owners] = map[Kind]uint64{}
		}
		f.Maps[owners][k] += bytes
		f.AtOnce[owners] += bytes
	}
	switch {
	case m.shared:
		add(Shared, pages)
	case m.file:
		add(Libraries, anonymous)
		add(Files, pages-anonymous)
	default:
		add(Other, pages)
	}
}

// pagesIn returns the resident bytes of the pages in [start, end), and how many of them are not pages of a file. ok is
// false if the pages could not be read.
func (x *explainer) pagesIn(start, end uint64) (resident, anonymous uint64, ok bool) {
	if x.pagemap == nil {
		return 0, 0, false
	}
	raw := make([]byte, 8*min((end-start)/x.page, 64<<10))
	for at := start; at < end; {
		part := raw[:min(8*((end-at)/x.page), uint64(len(raw)))]
		if n, _ := x.pagemap.ReadAt(part, int64(at/x.page*8)); x.late() || n != len(part) {
			return 0, 0, false
		}
		for i := 0; i < len(part); i += 8 {
			switch entry := binary.LittleEndian.Uint64(part[i:]); {
			case entry&present == 0:
			case entry&ofFile == 0:
				anonymous += x.page
				resident += x.page
			default:
				resident += x.page
			}
		}
		at += uint64(len(part)) / 8 * x.page
	}
	return resident, anonymous, true
}
