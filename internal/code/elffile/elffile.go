// Package elffile reads ELF files. It reads headers, segments, symbols, relocations, notes, the load bias, call frame
// information and lines. Package internal/code/machine analyses the code of functions, internal/code/native walks
// stacks, and internal/python/cpython and others know what a file is for.
//
// The package's only effect is to read through [io.ReaderAt]. A file may be hostile: the sizes of its tables and names,
// all counts, and the total number of bytes read are bounded, a little above the largest known libraries. A claimed
// size is checked against the file before memory is allocated for it, compressed sections are not read, and nothing
// panics. Of the standard library's reader, made for files that can be trusted, the package uses only the constants.
// Addresses are the file's virtual addresses; add the load bias for an address in a process.
package elffile

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

// Segment is a PT_LOAD of the file, trimmed to the part that the file really holds.
type Segment struct {
	Vaddr, Offset, Size uint64
	Exec                bool
}

// Segments are the loaded segments of a file, in the order of its headers.
type Segments []Segment

// Limits for one file, in bytes.
const (
	maxHeld = 96 << 20 // kept in memory
	maxWork = 1 << 30  // read altogether
)

// File is an ELF file for this machine with its headers read. It keeps the reader that it was opened with.
type File struct {
	reader   io.ReaderAt
	headers  *headers
	segments Segments
	room     Room // bytes that tables and segments may still take in memory
	work     Room // bytes that may still be read
}

// AnyMachine is a file that may be for any known processor. Without this type, the functions of this package read only
// files for this machine, because a process runs no other code. It is for tests and tools.
type AnyMachine struct{ io.ReaderAt }

// Reads reports whether this package reads r if the file is for machine.
func Reads(r io.ReaderAt, machine elf.Machine) bool {
	_, anyMachine := r.(AnyMachine)
	_, known := kindsOf[machine]
	return machine == Native || anyMachine && known
}

// Open reads the headers of an ELF file. The error matches [ErrNotELF], and is a [ForeignError] if the file is for
// another machine.
func Open(r io.ReaderAt) (*File, error) {
	if machine, ok := foreign(r); ok {
		return nil, &ForeignError{machine}
	}
	headers, err := readHeaders(r)
	if err != nil {
		return nil, err
	}
	f := &File{reader: r, headers: headers, room: Room{maxHeld}, work: Room{maxWork}}
	for _, p := range headers.programs {
		if p.kind == elf.PT_LOAD && p.vaddr+p.size >= p.vaddr {
			f.segments = append(f.segments, Segment{p.vaddr, p.offset, p.size, p.flags&elf.PF_X != 0})
		}
	}
	return f, nil
}

// foreign reports whether a file is an ELF file for another machine, and returns that machine. The fields that it reads
// are the same in Elf64_Ehdr and Elf32_Ehdr.
func foreign(r io.ReaderAt) (machine elf.Machine, ok bool) {
	const machineAt = 0x12 // e_machine
	var head [machineAt + 2]byte
	if n, _ := r.ReadAt(head[:], 0); n != len(head) || string(head[:len(elf.ELFMAG)]) != elf.ELFMAG {
		return 0, false
	}
	little := elf.Data(head[elf.EI_DATA]) == elf.ELFDATA2LSB
	machine = elf.Machine(binary.LittleEndian.Uint16(head[machineAt:]))
	if !little {
		machine = elf.Machine(binary.BigEndian.Uint16(head[machineAt:]))
	}
	return machine, !Reads(r, machine) || !little || elf.Class(head[elf.EI_CLASS]) != elf.ELFCLASS64
}

// Segments returns the loaded segments. The slice is the file's own.
func (f *File) Segments() Segments { return f.segments }

// maxCut is how many bytes are read of a segment that the file does not have completely.
const maxCut = 1 << 20

// Contents reads a segment. If the file ends before the segment does, Contents returns the first bytes, at most maxCut.
// It returns nil once the file has taken too much memory (maxHeld).
func (f *File) Contents(s Segment) []byte {
	if s.Size < maxHeld && f.room.take(s.Size) {
		if data, err := readTable(f.reader, s.Offset, s.Size); err == nil {
			return data
		}
	}
	size := min(s.Size, maxCut)
	if s.Offset >= 1<<62 || !f.room.take(size) {
		return nil
	}
	data := make([]byte, size)
	n, _ := f.reader.ReadAt(data, int64(s.Offset))
	return data[:max(n, 0)]
}

// pieceSize is how many bytes are read at a time. It is a multiple of the size of a symbol and of a relocation, 24
// bytes each, and of a pointer, so that a piece has no part of one.
const pieceSize = 48 << 10

// pieces reads size bytes of the file from at on, and calls show with each piece and the piece's offset from at. It
// ends when show returns false, when the file ends, and when too much of the file has been read (maxWork).
func (f *File) pieces(at, size uint64, show func(piece []byte, offset uint64) bool) {
	buffer := make([]byte, min(size, pieceSize))
	for offset := uint64(0); offset < size && at+offset < 1<<62; offset += pieceSize {
		piece := buffer[:min(size-offset, pieceSize)]
		if !f.work.take(uint64(len(piece))) {
			return
		}
		n, _ := f.reader.ReadAt(piece, int64(at+offset))
		if n <= 0 || !show(piece[:n], offset) || n < len(piece) {
			return
		}
	}
}

// Read fills buf from the file's contents at a virtual address. A short read is an error.
func (f *File) Read(vaddr uint64, buf []byte) error {
	off, ok := f.FileOffset(vaddr)
	if !ok {
		return fmt.Errorf("read %#x: the file has nothing there", vaddr)
	}
	if n, err := f.reader.ReadAt(buf, int64(off)); n < len(buf) {
		return fmt.Errorf("read %#x: %w", vaddr, err)
	}
	return nil
}

// holding returns the first segment that contains a virtual address, and the address's offset in the segment. If exec
// is set, only executable segments count.
func (segments Segments) holding(vaddr uint64, exec bool) (s Segment, at uint64, ok bool) {
	for _, s := range segments {
		if at := vaddr - s.Vaddr; vaddr >= s.Vaddr && at < s.Size && (s.Exec || !exec) {
			return s, at, true
		}
	}
	return Segment{}, 0, false
}

// CodeAt fills buf from the code at a virtual address, up to the end of the segment. It returns the address's offset in
// the file and the number of bytes read. ok is false if the address is in no executable segment.
func (f *File) CodeAt(vaddr uint64, buf []byte) (offset uint64, n int, ok bool) {
	s, at, ok := f.segments.holding(vaddr, true)
	n, _ = f.reader.ReadAt(buf[:min(uint64(len(buf)), s.Size-at)], int64(s.Offset+at))
	return s.Offset + at, max(n, 0), ok
}

// readSome fills buf from the file's contents at a virtual address, up to the end of the segment. It returns the number
// of bytes read.
func (f *File) readSome(vaddr uint64, buf []byte) (n int) {
	s, at, _ := f.segments.holding(vaddr, false)
	n, _ = f.reader.ReadAt(buf[:min(uint64(len(buf)), s.Size-at)], int64(s.Offset+at))
	return max(n, 0)
}

// FileOffset returns the offset in the file of a virtual address. ok is false if the file has no byte for the address.
func (f *File) FileOffset(vaddr uint64) (offset uint64, ok bool) {
	s, at, ok := f.segments.holding(vaddr, false)
	return s.Offset + at, ok && s.Offset+at < 1<<63
}

// Executable reports whether a virtual address lies in an executable segment.
func (f *File) Executable(vaddr uint64) bool {
	_, _, ok := f.segments.holding(vaddr, true)
	return ok
}

// Bias returns the load bias of a process's mapping of the file, see [Segments.Bias].
func (f *File) Bias(start, offset uint64) (bias uint64, ok bool) {
	return f.segments.Bias(start, offset)
}

// Bias returns the load bias of a process's mapping of the file: an address in the process minus the virtual address in
// the file. It is 0 for an executable that is linked at a fixed address. start and offset are the address and the file
// offset of an executable mapping (r-xp) in /proc/PID/maps, in bytes. Another mapping would be ambiguous, because it
// may share a page of the file with its neighbour. ok is false if no executable segment of the file is mapped there.
func (segments Segments) Bias(start, offset uint64) (bias uint64, ok bool) {
	return segments.bias(start, offset, uint64(os.Getpagesize()))
}

// bias does what [Segments.Bias] does, on a machine with the given size of a page.
func (segments Segments) bias(start, offset, page uint64) (bias uint64, ok bool) {
	for _, s := range segments {
		first := s.Offset &^ (page - 1) // the loader rounds a segment down to a page
		if !s.Exec || offset < first || offset >= s.Offset+s.Size {
			continue
		}
		bias, ok = start-(s.Vaddr&^(page-1)+(offset-first)), true
		if offset == first {
			break
		}
	}
	return bias, ok
}

// Machine returns the processor that the file is for.
func (f *File) Machine() elf.Machine { return f.headers.machine }
