package cpython

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// Code is the machine code of an ELF file whose functions need not be exported: they are found by what they call, or by pointers to
// them in data. It keeps the reader it was opened with.
type Code struct {
	image    *image
	reader   *codeReader
	pointers map[uint64]uint64 // by the address of a pointer in data: what the dynamic linker puts there
}

// Bounds on what is read of a file: NumPy's largest has 10 MiB.
const (
	maxSegmentBytes = 256 << 20
	maxRelocations  = 4 << 20
)

// OpenCode parses the headers and relocations of an ELF file for x86-64. The error matches [ErrNotPython] where it is none.
func OpenCode(r io.ReaderAt) (c *Code, err error) {
	defer func() { // debug/elf promises nothing about files made to break it
		if recover() != nil {
			c, err = nil, fmt.Errorf("%w: malformed ELF", ErrNotPython)
		}
	}()
	img, err := openImage(r, func(string) bool { return false })
	if err != nil {
		return nil, err
	}
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNotPython, err)
	}
	c = &Code{image: img, reader: newCodeReader(img), pointers: map[uint64]uint64{}}
	if img.imports == nil {
		img.imports = map[uint64]symbolRef{}
	}
	symbols, _ := f.DynamicSymbols()
	for _, s := range f.Sections {
		if s.Type == elf.SHT_RELA && s.Name != ".rela.plt" && s.FileSize <= maxSymbolTable && s.Flags&elf.SHF_COMPRESSED == 0 {
			c.loadRelocations(s, symbols)
		}
	}
	return c, nil
}

func (c *Code) loadRelocations(s *elf.Section, symbols []elf.Symbol) {
	data, _ := io.ReadAll(io.NewSectionReader(c.image.r, int64(s.Offset), int64(s.FileSize)))
	for ; len(data) >= 24 && len(c.pointers) < maxRelocations; data = data[24:] {
		at, info, addend := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:]), binary.LittleEndian.Uint64(data[16:])
		n := int(elf.R_SYM64(info))
		switch kind := elf.R_X86_64(elf.R_TYPE64(info)); {
		case kind == elf.R_X86_64_RELATIVE:
			c.pointers[at] = addend
		case n <= 0 || n > len(symbols): // the list has no symbol 0
		case kind == elf.R_X86_64_GLOB_DAT:
			c.image.imports[at] = symbolRef{symbols[n-1].Name, symbols[n-1].Value}
		case kind == elf.R_X86_64_64 && symbols[n-1].Section != elf.SHN_UNDEF:
			c.pointers[at] = symbols[n-1].Value + addend
		}
	}
}

// Find returns where some bytes are in the file's data, at most limit times.
func (c *Code) Find(pattern []byte, limit int) (addrs []uint64) {
	for _, s := range c.image.segments {
		if s.exec || s.size > maxSegmentBytes {
			continue
		}
		data, _ := io.ReadAll(io.NewSectionReader(c.image.r, int64(s.offset), int64(s.size)))
		for from := 0; len(addrs) < limit; {
			i := bytes.Index(data[from:], pattern)
			if i < 0 {
				break
			}
			addrs = append(addrs, s.vaddr+uint64(from+i))
			from += i + 1
		}
	}
	return addrs
}

// Read fills buf from the file's contents at an address.
func (c *Code) Read(addr uint64, buf []byte) error { return c.image.read(addr, buf) }

// Function returns the address of the function that a pointer in data points to once the file is loaded; packed relative relocations
// (SHT_RELR) leave it in the file.
func (c *Code) Function(pointer uint64) (addr uint64, ok bool) {
	addr, ok = c.pointers[pointer]
	if !ok {
		var word [8]byte
		if c.image.read(pointer, word[:]) != nil {
			return 0, false
		}
		addr = binary.LittleEndian.Uint64(word[:])
	}
	return addr, c.image.executable(addr)
}

// Enclosing returns where the function, or split off part of one, begins that an address is in.
func (c *Code) Enclosing(addr uint64) (start uint64, ok bool) {
	s, ok := c.image.fragment(addr)
	return s.start, ok
}

// imported returns the function of another library that a call or jump is to, "" where that is not known.
func (c *Code) imported(in *instruction) string {
	if in.Op != x86asm.CALL && in.Op != x86asm.JMP {
		return ""
	}
	if m, ok := in.Args[0].(x86asm.Mem); ok && m.Base == x86asm.RIP && m.Index == 0 {
		return c.image.imports[in.end()+uint64(m.Disp)].name
	}
	if target, ok := in.target(); ok && c.image.inPLT(target) {
		to, _ := c.image.linked(target)
		return to.name
	}
	return ""
}

// References returns the places in the code that may call or jump to an imported function: bytes that read so, which may by chance
// be part of something else. ok is false where there is too much to look at.
func (c *Code) References(name string) (addrs []uint64, ok bool) {
	direct, indirect := map[uint64]bool{}, map[uint64]bool{}
	for at, to := range c.image.imports {
		if to.name == name {
			indirect[at] = true
		}
	}
	for _, s := range c.image.plt {
		for at := s.start; at < s.end && s.end-s.start <= maxSymbolTable; at += 8 {
			if to, ok := c.image.linked(at); ok && to.name == name {
				direct[at] = true
			}
		}
	}
	for _, s := range c.image.segments {
		if !s.exec {
			continue
		}
		if s.size > maxSegmentBytes {
			return nil, false
		}
		data, _ := io.ReadAll(io.NewSectionReader(c.image.r, int64(s.offset), int64(s.size)))
		for i := 0; i+5 <= len(data); i++ {
			switch at := s.vaddr + uint64(i); {
			case data[i] == 0xe8 || data[i] == 0xe9:
				if direct[at+5+uint64(int64(int32(binary.LittleEndian.Uint32(data[i+1:]))))] {
					addrs = append(addrs, at)
				}
			case data[i] == 0xff && i+6 <= len(data) && (data[i+1] == 0x15 || data[i+1] == 0x25):
				if indirect[at+6+uint64(int64(int32(binary.LittleEndian.Uint32(data[i+2:]))))] {
					addrs = append(addrs, at)
				}
			}
		}
	}
	addrs = slices.DeleteFunc(addrs, c.image.inPLT)
	slices.Sort(addrs)
	return addrs, true
}

// Bias returns the load bias of a process's mapping of the file, see [Binary.Bias].
func (c *Code) Bias(start, offset uint64) (uint64, bool) {
	return (&Binary{image: c.image}).Bias(start, offset)
}
