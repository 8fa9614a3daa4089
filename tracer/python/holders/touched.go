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

// filePages tells which pages of mappings of files a process has in memory. Linux makes another one resident if it is
// read, with up to 15 around it (fault_around_bytes). The zero value knows of none.
type filePages struct {
	pagemap io.ReaderAt // nil where it cannot be read
	files   []Block
}

// has reports whether a part of the memory belongs to a mapping of a file.
func (f *filePages) has(addr, size uint64) bool {
	i, _ := searchBlocks(f.files, addr)
	if i > 0 && addr-f.files[i-1].Address < f.files[i-1].Size {
		return true
	}
	return i < len(f.files) && f.files[i].Address < addr+size
}

// lacks reports whether a page is one of a file, and not in memory. One that was written is the process's own: it is in
// memory, or swapped out.
func (f *filePages) lacks(addr uint64) bool {
	if f.pagemap == nil || !f.has(addr, 1) {
		return false
	}
	var entry [8]byte
	n, _ := f.pagemap.ReadAt(entry[:], int64(8*(addr/uint64(os.Getpagesize()))))
	return n == len(entry) && stateOf(entry[:], 0) == 0
}

// touched reads memory of a process without making it any larger: pages that the process has never touched are zeros,
// and are not read. Without its table of pages all is read.
type touched struct {
	memory io.ReaderAt
	filePages
	entries []byte
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
	case state != 0 || t.has(addr, uint64(len(buf))): // reading would bring it into memory
		return false
	}
	clear(buf)
	return true
}
