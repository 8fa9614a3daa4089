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

// FilePages tells which pages a process has in memory. Linux makes a page of a file resident if it is read, with up to
// 15 around it (fault_around_bytes). Where a page that nobody has touched is read, it maps the zero page, or a huge one
// of 2 MiB, and a kernel without a zero page makes it resident. The zero value knows of none.
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
	inMemory  presence = iota // nothing, as far as is known
	ofFile                    // it would bring a page of a file into memory
	untouched                 // it would find zeros
)

// leastRoom is the least size of a mapping that is asked for its pages, if it is of no file.
const leastRoom = 1 << 20

// isRoom reports whether an address is in a large mapping of no file.
func (f *FilePages) isRoom(addr uint64) bool {
	i := BlockAt(f.Mapped, addr)
	return i >= 0 && f.Mapped[i].Size >= leastRoom
}

// of returns what a read of the page at an address would do.
func (f *FilePages) of(addr uint64) presence {
	file := f.has(addr, 1)
	if f.Pagemap == nil || !file && !f.isRoom(addr) || f.present(addr, 1) > 0 {
		return inMemory
	}
	if file {
		return ofFile
	}
	return untouched
}

// present returns how many of so many pages, from an address on, are in memory, or swapped out, up to the first that is
// not. Where that cannot be read, it returns all of them.
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

// has reports whether a part of the memory belongs to a mapping of a file.
func (f *FilePages) has(addr, size uint64) bool {
	i, _ := searchBlocks(f.Files, addr)
	if i > 0 && addr-f.Files[i-1].Address < f.Files[i-1].Size {
		return true
	}
	return i < len(f.Files) && f.Files[i].Address < addr+size
}

// ResidentMemory reads memory of a process without making it any larger: pages that the process has never touched are
// zeros, and are not read. Without its table of pages all is read.
type ResidentMemory struct {
	Memory io.ReaderAt
	FilePages
	entries []byte
}

// Read fills a buffer from an address. It reports whether all of it was there.
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

// stateOf returns the bits of a page that matter.
func stateOf(entries []byte, page uint64) uint64 {
	return binary.LittleEndian.Uint64(entries[8*page:]) & (PagePresent | PageSwapped)
}

// fill reads pages of one state.
func (t *ResidentMemory) fill(buf []byte, addr, state uint64) bool {
	switch {
	case state&PagePresent != 0:
		n, _ := t.Memory.ReadAt(buf, int64(addr))
		return n == len(buf)
	case state != 0 || t.has(addr, uint64(len(buf))): // reading would bring it into memory
		return false
	}
	clear(buf)
	return true
}
