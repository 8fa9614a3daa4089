// Package elffile reads ELF files: headers, segments, symbols, relocations, notes, the load bias, call frame
// information and lines. The meaning of a function's bytes is internal/code/machine's business, the use of a file
// internal/python/cpython's and others', and stacks are internal/code/native's.
//
// It reads through [io.ReaderAt] and does nothing else. A file may be anything: its tables, names, counts and all that
// is read of it together are bounded, a little above the largest libraries that are known; only what the file has is
// read, nothing is unpacked, and nothing panics. The standard library's reader, made for files that can be trusted,
// serves for names of constants alone. Addresses are those of the file ("virtual"); add the load bias for a process.
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

// Bounds on all that is read of one file: to have it in memory at a time, and to go through it.
const (
	maxHeld = 96 << 20
	maxWork = 1 << 30
)

// File is an ELF file for this machine with its headers read. It keeps the reader it was opened with.
type File struct {
	reader   io.ReaderAt
	headers  *headers
	segments Segments
	room     Room // for tables and segments
	work     Room // bytes that may still be gone through
}

// AnyMachine is a file for any known processor: all functions of this package read it. It is for tests and tools. The
// code that a process runs is for this machine.
type AnyMachine struct{ io.ReaderAt }

// Reads reports whether a file for a processor is read.
func Reads(r io.ReaderAt, machine elf.Machine) bool {
	_, whichever := r.(AnyMachine)
	_, known := kindsOf[machine]
	return machine == Native || whichever && known
}

// Open reads the headers of an ELF file. The error matches [ErrNotELF], and is a [ForeignError] where the machine is
// another one.
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

// foreign reports whether a file is an ELF file for another machine, and for which. Layout: Elf64_Ehdr, and as far as
// this Elf32_Ehdr.
func foreign(r io.ReaderAt) (machine elf.Machine, ok bool) {
	var head [0x14]byte
	if n, _ := r.ReadAt(head[:], 0); n != len(head) || string(head[:len(elf.ELFMAG)]) != elf.ELFMAG {
		return 0, false
	}
	little := elf.Data(head[elf.EI_DATA]) == elf.ELFDATA2LSB
	machine = elf.Machine(binary.LittleEndian.Uint16(head[0x12:]))
	if !little {
		machine = elf.Machine(binary.BigEndian.Uint16(head[0x12:]))
	}
	return machine, !Reads(r, machine) || !little || elf.Class(head[elf.EI_CLASS]) != elf.ELFCLASS64
}

// Segments returns the loaded segments. The slice is the file's own.
func (f *File) Segments() Segments { return f.segments }

// maxCut bounds how much is read of a segment that the file does not have to its end.
const maxCut = 1 << 20

// Contents reads a segment, as far as the file has it. It returns nil where more of the file is in memory already than
// any library needs.
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

// pieceSize is a multiple of the sizes of symbols and relocations, 24 bytes each, and of pointers.
const pieceSize = 48 << 10

// pieces reads a part of the file and shows it piece by piece, all but the last of pieceSize bytes, until show returns
// false. It ends early where the file does, and where more has been gone through than any library has.
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

// holding returns the first segment that has a virtual address, of those with code if exec is set, and where in the
// segment the address is.
func (all Segments) holding(vaddr uint64, exec bool) (s Segment, at uint64, ok bool) {
	for _, s := range all {
		if at := vaddr - s.Vaddr; vaddr >= s.Vaddr && at < s.Size && (s.Exec || !exec) {
			return s, at, true
		}
	}
	return Segment{}, 0, false
}

// CodeAt fills buf from the code at a virtual address, as much of it as its segment has, and returns the place in the
// file. ok is false where the address is in no executable segment.
func (f *File) CodeAt(vaddr uint64, buf []byte) (offset uint64, n int, ok bool) {
	s, at, ok := f.segments.holding(vaddr, true)
	n, _ = f.reader.ReadAt(buf[:min(uint64(len(buf)), s.Size-at)], int64(s.Offset+at))
	return s.Offset + at, max(n, 0), ok
}

// readSome fills buf from the file's contents at a virtual address, and returns how much of it the segment has.
func (f *File) readSome(vaddr uint64, buf []byte) (n int) {
	s, at, _ := f.segments.holding(vaddr, false)
	n, _ = f.reader.ReadAt(buf[:min(uint64(len(buf)), s.Size-at)], int64(s.Offset+at))
	return max(n, 0)
}

// FileOffset translates a virtual address that the file backs.
func (f *File) FileOffset(vaddr uint64) (uint64, bool) {
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

// Bias returns the load bias of a process's mapping of the file: the difference between an address in the process and
// the virtual address in the file, 0 for an executable linked at a fixed address. start and offset are those of an
// executable mapping of the file (r-xp) in /proc/PID/maps, in bytes; others may share a page of the file with a
// neighbour and are ambiguous. ok is false where no executable segment of the file is mapped that way.
func (all Segments) Bias(start, offset uint64) (bias uint64, ok bool) {
	return all.bias(start, offset, uint64(os.Getpagesize()))
}

// bias is [Segments.Bias] on a machine with a page size.
func (all Segments) bias(start, offset, page uint64) (bias uint64, ok bool) {
	for _, s := range all {
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
