// Package native reads what an ELF file says about its machine code: how to get from an instruction to its caller (the call
// frame information in .eh_frame or .debug_frame), what function it belongs to, and, where DWARF is there, which line.
//
// It reads files only, and copies of stacks that somebody else has made; x86-64, little endian. A file may be anything: sizes,
// counts and depths are bounded, what does not fit or make sense is not known, and nothing panics. Addresses are those of the file
// ("virtual"); add the load bias for a process.
//
// The call frame information is read here and not by a library: what there is (delve's pkg/dwarf/frame) takes whole
// sections apart, some hundred MiB in PyTorch's, and panic where one is damaged. Here a rule is looked up in the file, by way of
// the sorted table that linkers put in front of it (.eh_frame_hdr; LSB 5.0, section 10.6).
package native

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrNotELF says that a file is not an ELF file for x86-64.
var ErrNotELF = errors.New("not an ELF file for x86-64")

// Limits of what is read of one file. The largest seen: 1.3 GiB of libtorch_cuda.so have 90,000 symbols and 30 MiB of
// .eh_frame.
const (
	maxSegments = 256
	maxSymbols  = 1 << 21
	maxSection  = 128 << 20
)

// Module is an ELF file. It keeps the reader it was opened with, and reads from it when asked. Not safe for concurrent use.
type Module struct {
	file     io.ReaderAt
	elf      *elf.File
	segments []segment
	frames   frameTables
	symbols  *symbolTable // nil until asked for
	lines    *lineTable   // likewise
	debug    Finder
	room     *Room
}

// Room is how many bytes of files may be kept in memory, over all modules that are opened with it. What finds no room is not known:
// names and lines; rules are looked up in the file.
type Room struct{ Bytes int64 }

// take takes some; false if there is not enough.
func (r *Room) take(bytes uint64) bool {
	if bytes > uint64(max(r.Bytes, 0)) {
		return false
	}
	r.Bytes -= int64(bytes)
	return true
}

type segment struct {
	vaddr, offset, size uint64
	exec                bool
}

// Finder opens a file with debug information by its absolute name, as the process would see it; nil, error where there is none.
// The reader is kept.
type Finder func(name string) (io.ReaderAt, error)

// Open parses the headers of an ELF file. debug finds files with debug information below /usr/lib/debug; nil for none. The
// error matches [ErrNotELF].
func Open(file io.ReaderAt, debug Finder, room *Room) (*Module, error) {
	f, err := openELF(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNotELF, err)
	}
	if f.Machine != elf.EM_X86_64 || f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB {
		return nil, ErrNotELF
	}
	m := &Module{file: file, elf: f, debug: debug, room: room}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && len(m.segments) < maxSegments {
			m.segments = append(m.segments, segment{p.Vaddr, p.Off, p.Filesz, p.Flags&elf.PF_X != 0})
		}
	}
	m.frames.find(m)
	return m, nil
}

// openELF parses the headers, if reading them takes no more than a program's do: the standard library reads as many sections, and as
// long a table of their names, as a file claims to have. Layout: Elf64_Ehdr, Elf64_Shdr (System V ABI).
func openELF(file io.ReaderAt) (*elf.File, error) {
	const headerSize, sectionSize, maxNames = 64, 64, 16 << 20
	var head [headerSize]byte
	if n, _ := file.ReadAt(head[:], 0); n != len(head) {
		return nil, errors.New("too short")
	}
	table, size := binary.LittleEndian.Uint64(head[0x28:]), binary.LittleEndian.Uint16(head[0x3a:])
	count, names := binary.LittleEndian.Uint16(head[0x3c:]), binary.LittleEndian.Uint16(head[0x3e:])
	if table != 0 {
		var s [sectionSize]byte
		if n, _ := file.ReadAt(s[:], int64(table+uint64(names)*sectionSize)); n != len(s) || count == 0 || size != sectionSize || names >= count {
			return nil, errors.New("too many sections")
		}
		flags, length := binary.LittleEndian.Uint64(s[0x08:]), binary.LittleEndian.Uint64(s[0x20:])
		if elf.SectionFlag(flags)&elf.SHF_COMPRESSED != 0 || length > maxNames {
			return nil, errors.New("too long names of sections")
		}
	}
	return elf.NewFile(file)
}

// Bias returns what is to be added to the file's addresses to get those of a process, from the address and file offset of an
// executable mapping. ok is false where no executable segment is mapped that way.
func (m *Module) Bias(start, offset uint64) (bias uint64, ok bool) {
	const page = 1<<12 - 1
	for _, s := range m.segments {
		first := s.offset &^ page // the loader rounds a segment down to a page
		if !s.exec || offset < first || offset >= s.offset+s.size {
			continue
		}
		bias, ok = start-(s.vaddr&^page+(offset-first)), true
		if offset == first {
			break
		}
	}
	return bias, ok
}

// read fills buf from a virtual address; it says how much there is in the segment.
func (m *Module) read(vaddr uint64, buf []byte) (n int) {
	for _, s := range m.segments {
		if vaddr >= s.vaddr && vaddr-s.vaddr < s.size {
			buf = buf[:min(uint64(len(buf)), s.size-(vaddr-s.vaddr))]
			n, _ = m.file.ReadAt(buf, int64(s.offset+(vaddr-s.vaddr)))
			return max(n, 0)
		}
	}
	return 0
}

// section returns the bytes of a section, nil if there is none, it is too large, or there is no room.
func (m *Module) section(f *elf.File, name string) []byte {
	s := f.Section(name)
	if s == nil {
		return nil
	}
	return m.sectionData(s)
}

func (m *Module) sectionData(s *elf.Section) []byte {
	if s.Type == elf.SHT_NOBITS || s.Size > maxSection || s.FileSize > maxSection || !m.room.take(s.Size) {
		return nil
	}
	data, err := s.Data()
	if err != nil {
		return nil
	}
	return data
}
