package objects

import (
	"encoding/binary"
	"io"
	"os"
)

// Bits of a pagemap's entry (Documentation/admin-guide/mm/pagemap.rst).
const (
	PagePresent = 1 << 63
	PageSwapped = 1 << 62
)

// FilePages knows which pages a process has in memory. A read of a page from outside changes that: a page of a file
// becomes resident, with up to 15 around it (fault_around_bytes). For a page that nobody has touched Linux maps the
// zero page, or a huge one of 2 MiB; without a zero page it makes the page resident. The zero value takes all pages for
// present.
type FilePages struct {
	Pagemap io.ReaderAt // nil where it cannot be read
	Files   []Block
	Mapped  []Block // all mappings
}

// runPages is the greatest number of pages that one call reads.
const runPages = 16

// presence says what a read of a page would do.
type presence uint8

const (
	inMemory  presence = iota // change nothing, as far as is known
	ofFile                    // bring a page of a file into memory
	untouched                 // find zeros
)

// leastMapping is the least size of an anonymous mapping whose pages are looked up in the pagemap before they are read.
const leastMapping = 1 << 20

// isLargeMapping reports whether an address is in a large mapping. The caller has ruled out mappings of files.
func (f *FilePages) isLargeMapping(addr uint64) bool {
	i := BlockAt(f.Mapped, addr)
	return i >= 0 && f.Mapped[i].Size >= leastMapping
}

// presenceOf returns what a read of the page at an address would do.
func (f *FilePages) presenceOf(addr uint64) presence {
	file := f.hasFile(addr, 1)
	if f.Pagemap == nil || !file && !f.isLargeMapping(addr) || f.present(addr, 1) > 0 {
		return inMemory
	}
	if file {
		return ofFile
	}
	return untouched
}

// present returns how many of count pages, from an address on, are in memory or swapped out, up to the first that is
// not. Where the pagemap cannot be read, it returns count.
func (f *FilePages) present(addr uint64, count int) int {
	var raw [8 * runPages]byte
	machine := uint64(os.Getpagesize())
	first, last := addr/machine, (addr+uint64(count-1)*PageSize)/machine
	entries := raw[:8*min(last-first+1, runPages)]
	if n, _ := f.Pagemap.ReadAt(entries, int64(8*first)); n != len(entries) {
		return count
	}
	for i := range count {
		if stateOf(entries, (addr+uint64(i)*PageSize)/machine-first) == 0 {
			return i
		}
	}
	return count
}

// hasFile reports whether some of the memory belongs to a mapping of a file.
func (f *FilePages) hasFile(addr, size uint64) bool {
	i, _ := searchBlocks(f.Files, addr)
	if i > 0 && addr-f.Files[i-1].Address < f.Files[i-1].Size {
		return true
	}
	return i < len(f.Files) && f.Files[i].Address < addr+size
}

// ResidentMemory reads memory of a process without making the process larger: a page that the process has never touched
// has zeros, and is not read. Without the process's pagemap all pages are read.
type ResidentMemory struct {
	Memory io.ReaderAt
	FilePages
	entries []byte
}

// Read fills a buffer from an address. It reports whether all bytes could be read, and were in memory or untouched.
func (t *ResidentMemory) Read(buf []byte, addr uint64) bool {
	if addr < LowestAddress || addr >= UserSpace || uint64(len(buf)) > UserSpace-addr {
		return false
	}
	if t.Pagemap == nil {
		n, _ := t.Memory.ReadAt(buf, int64(addr))
		return n == len(buf)
	}
	page := uint64(os.Getpagesize())
	first, end := addr/page, (addr+uint64(len(buf))+page-1)/page
	if need := int(8 * (end - first)); cap(t.entries) < need {
		t.entries = make([]byte, need)
	}
	entries := t.entries[:8*(end-first)]
	if n, _ := t.Pagemap.ReadAt(entries, int64(8*first)); n != len(entries) {
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

// stateOf returns the bits PagePresent and PageSwapped of a page's entry.
func stateOf(entries []byte, page uint64) uint64 {
	return binary.LittleEndian.Uint64(entries[8*page:]) & (PagePresent | PageSwapped)
}

// fill reads pages that have the same state into a buffer. It reports whether that was possible.
func (t *ResidentMemory) fill(buf []byte, addr, state uint64) bool {
	switch {
	case state&PagePresent != 0:
		n, _ := t.Memory.ReadAt(buf, int64(addr))
		return n == len(buf)
	case state != 0 || t.hasFile(addr, uint64(len(buf))): // a read would bring the page into memory
		return false
	}
	clear(buf)
	return true
}
