package holders

import (
	"encoding/binary"
	"io"
	"os"
)

// Bits of a pagemap's entry (Documentation/admin-guide/mm/pagemap.rst).
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
)

// touched reads memory of a process without making it any larger: pages that the process has never touched are zeros,
// and are not read.
type touched struct {
	memory, pagemap io.ReaderAt // pagemap is nil where it cannot be read: then all is read
	files           []Block     // mappings of files: their pages are no zeros
	entries         []byte
}

// read fills a buffer from an address. It reports whether all of it was there.
func (t *touched) read(buf []byte, addr uint64) bool {
	if addr < lowestAddress || addr >= userSpace || uint64(len(buf)) > userSpace-addr {
		return false
	}
	if t.pagemap == nil {
		n, _ := t.memory.ReadAt(buf, int64(addr))
		return n == len(buf)
	}
	page := uint64(os.Getpagesize())
	first, end := addr/page, (addr+uint64(len(buf))+page-1)/page
	if need := int(8 * (end - first)); cap(t.entries) < need {
		t.entries = make([]byte, need)
	}
	entries := t.entries[:8*(end-first)]
	if n, _ := t.pagemap.ReadAt(entries, int64(8*first)); n != len(entries) {
		return false
	}
	for at := first; at < end; {
		next, state := at, stateOf(entries, at-first)
		for next < end && stateOf(entries, next-first) == state {
			next++
		}
		from, to := max(at*page, addr), min(next*page, addr+uint64(len(buf)))
		if !t.fill(buf[from-addr:to-addr], from, state) {
			return false
		}
		at = next
	}
	return true
}

// stateOf returns the bits of a page that matter.
func stateOf(entries []byte, page uint64) uint64 {
	return binary.LittleEndian.Uint64(entries[8*page:]) & (pagePresent | pageSwapped)
}

// fill reads pages of one state.
func (t *touched) fill(buf []byte, addr, state uint64) bool {
	switch {
	case state&pagePresent != 0:
		n, _ := t.memory.ReadAt(buf, int64(addr))
		return n == len(buf)
	case state != 0 || t.ofFile(addr, uint64(len(buf))): // reading would bring it into memory
		return false
	}
	clear(buf)
	return true
}

// ofFile reports whether a part of the memory belongs to a mapping of a file.
func (t *touched) ofFile(addr, size uint64) bool {
	i, _ := searchBlocks(t.files, addr)
	if i > 0 && addr-t.files[i-1].Address < t.files[i-1].Size {
		return true
	}
	return i < len(t.files) && t.files[i].Address < addr+size
}
