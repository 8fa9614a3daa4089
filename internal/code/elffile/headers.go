package elffile

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrNotELF is the error for a file that is not an ELF file for the machine that the tracer runs on.
var ErrNotELF = errors.New("not an ELF file for " + NativeName)

// ForeignError is the error for an ELF file for another machine. It matches [ErrNotELF].
type ForeignError struct{ Machine elf.Machine }

// Error names the machine.
func (e *ForeignError) Error() string { return fmt.Sprintf("%v: built for %v", ErrNotELF, e.Machine) }

// Is makes every ForeignError match [ErrNotELF].
func (e *ForeignError) Is(target error) bool { return target == ErrNotELF }

// Limits for a file's headers. The largest seen: 45 sections, with 500 bytes of names, and 17 segments.
const (
	maxSections     = 1 << 12
	maxPrograms     = 256
	maxSectionNames = 1 << 20
	maxSectionName  = 256
)

// section is a section header. Its name is a part of the file's table of section names.
type section struct {
	name                string
	kind                elf.SectionType
	flags               elf.SectionFlag
	address             uint64
	offset, size, entry uint64
	link                uint32
}

// held reports whether the section's bytes can be read from the file. It is false for compressed sections, because a
// few bytes may stand for any number of bytes.
func (s *section) held() bool {
	return s.kind != elf.SHT_NOBITS && s.flags&elf.SHF_COMPRESSED == 0 && s.offset+s.size >= s.offset &&
		s.offset+s.size < 1<<63
}

// program is a program header.
type program struct {
	kind                elf.ProgType
	flags               elf.ProgFlag
	offset, vaddr, size uint64 // size is in the file
}

// headers are the headers of a file for any machine.
type headers struct {
	layout
	machine  elf.Machine
	sections []section
	programs []program
}

// layout is the form of numbers in a file.
type layout struct {
	order binary.ByteOrder
	wide  bool // a file of 64 bits
}

// fields reads the fields of a header, one after another. data must have enough bytes for all.
type fields struct {
	layout
	data []byte
}

func (f *fields) skip(n int) { f.data = f.data[n:] }

// half reads two bytes.
func (f *fields) half() (n uint16) {
	n = f.order.Uint16(f.data)
	f.skip(2)
	return n
}

// short reads four bytes.
func (f *fields) short() (n uint32) {
	n = f.order.Uint32(f.data)
	f.skip(4)
	return n
}

// word reads an address, an offset or a size: eight bytes, or four in a file of 32 bits.
func (f *fields) word() (n uint64) {
	if !f.wide {
		return uint64(f.short())
	}
	n = f.order.Uint64(f.data)
	f.skip(8)
	return n
}

// pick returns wide for a file of 64 bits, and narrow for a file of 32 bits.
func (l layout) pick(wide, narrow int) int {
	if l.wide {
		return wide
	}
	return narrow
}

// readHeaders reads the headers of a file for any machine. The error matches [ErrNotELF]. Layout: System V ABI,
// chapters 4 and 5.
func readHeaders(r io.ReaderAt) (*headers, error) {
	var head [64]byte
	const ident = 16
	n, _ := r.ReadAt(head[:], 0)
	if n < ident || string(head[:len(elf.ELFMAG)]) != elf.ELFMAG {
		return nil, fmt.Errorf("%w: no ELF header", ErrNotELF)
	}
	h := &headers{}
	class, data := elf.Class(head[elf.EI_CLASS]), elf.Data(head[elf.EI_DATA])
	switch data {
	case elf.ELFDATA2LSB:
		h.order = binary.LittleEndian
	case elf.ELFDATA2MSB:
		h.order = binary.BigEndian
	}
	h.wide = class == elf.ELFCLASS64
	knownClass := class == elf.ELFCLASS32 || class == elf.ELFCLASS64
	if h.order == nil || !knownClass || elf.Version(head[elf.EI_VERSION]) != elf.EV_CURRENT {
		return nil, fmt.Errorf("%w: unknown class, byte order or version", ErrNotELF)
	}
	if n < h.pick(64, 52) {
		return nil, fmt.Errorf("%w: too short", ErrNotELF)
	}
	f := fields{h.layout, head[ident:]}
	f.skip(2) // e_type
	h.machine = elf.Machine(f.half())
	f.skip(4) // e_version
	f.word()  // e_entry
	programs, sections := f.word(), f.word()
	f.skip(6) // e_flags, e_ehsize
	programSize, programCount := f.half(), f.half()
	sectionSize, sectionCount, names := f.half(), f.half(), f.half()
	if err := h.readPrograms(r, programs, programSize, programCount); err != nil {
		return nil, err
	}
	return h, h.readSections(r, sections, sectionSize, sectionCount, names)
}

func (h *headers) readPrograms(r io.ReaderAt, at uint64, size, count uint16) error {
	want := h.pick(56, 32)
	if count == 0 {
		return nil
	}
	if int(size) < want || count > maxPrograms {
		return fmt.Errorf("%w: %d segments with headers of %d bytes", ErrNotELF, count, size)
	}
	table, err := readTable(r, at, uint64(size)*uint64(count))
	if err != nil {
		return fmt.Errorf("%w: program headers: %w", ErrNotELF, err)
	}
	for ; len(table) >= int(size); table = table[size:] {
		f, p := fields{h.layout, table}, program{}
		p.kind = elf.ProgType(f.short())
		if h.wide {
			p.flags = elf.ProgFlag(f.short())
		}
		p.offset, p.vaddr = f.word(), f.word()
		f.word() // p_paddr
		p.size = f.word()
		f.word() // p_memsz
		if !h.wide {
			p.flags = elf.ProgFlag(f.short())
		}
		if p.offset >= 1<<63 || p.size >= 1<<63 {
			return fmt.Errorf("%w: a segment of %d bytes at %#x", ErrNotELF, p.size, p.offset)
		}
		h.programs = append(h.programs, p)
	}
	return nil
}

func (h *headers) readSections(r io.ReaderAt, at uint64, size, count, names uint16) error {
	if at == 0 && count == 0 {
		return nil
	}
	if at == 0 || count == 0 || count > maxSections || names >= count || int(size) != h.pick(64, 40) {
		return fmt.Errorf("%w: %d sections with headers of %d bytes", ErrNotELF, count, size)
	}
	table, err := readTable(r, at, uint64(size)*uint64(count))
	if err != nil {
		return fmt.Errorf("%w: section headers: %w", ErrNotELF, err)
	}
	h.sections = make([]section, 0, count)
	nameAt := make([]uint32, 0, count)
	for ; len(table) >= int(size); table = table[size:] {
		f, s := fields{h.layout, table}, section{}
		nameAt = append(nameAt, f.short())
		s.kind, s.flags = elf.SectionType(f.short()), elf.SectionFlag(f.word())
		s.address, s.offset, s.size = f.word(), f.word(), f.word()
		s.link = f.short()
		f.skip(4) // sh_info
		f.word()  // sh_addralign
		s.entry = f.word()
		h.sections = append(h.sections, s)
	}
	return h.nameSections(r, &h.sections[names], nameAt)
}

// nameSections sets the name of each section, from its offset in the table of names.
func (h *headers) nameSections(r io.ReaderAt, table *section, nameAt []uint32) error {
	if table.kind != elf.SHT_STRTAB || !table.held() || table.size > maxSectionNames {
		return fmt.Errorf("%w: the table of section names is unreadable or too large (%d bytes)", ErrNotELF, table.size)
	}
	raw, err := readTable(r, table.offset, table.size)
	if err != nil {
		return fmt.Errorf("%w: section names: %w", ErrNotELF, err)
	}
	text := string(raw)
	for i := range h.sections {
		h.sections[i].name = textIn(text, nameAt[i], maxSectionName)
	}
	return nil
}

// textIn returns the name at an offset of a table of names, or "" if the name is longer than longest bytes or has no
// end.
func textIn(table string, at uint32, longest int) string {
	if uint64(at) >= uint64(len(table)) {
		return ""
	}
	rest := table[at:]
	end := strings.IndexByte(rest[:min(len(rest), longest+1)], 0)
	if end < 0 {
		return ""
	}
	return rest[:end]
}

// readTable reads size bytes of a file. Before it allocates memory, it checks that the file has all of them, because a
// header may claim any size.
func readTable(r io.ReaderAt, at, size uint64) ([]byte, error) {
	if size == 0 {
		return nil, nil
	}
	if at >= 1<<62 || size >= 1<<62 {
		return nil, io.ErrUnexpectedEOF
	}
	var last [1]byte
	if n, err := r.ReadAt(last[:], int64(at+size-1)); n != len(last) {
		return nil, missing(err)
	}
	data := make([]byte, size)
	if n, err := r.ReadAt(data, int64(at)); n != len(data) {
		return nil, missing(err)
	}
	return data, nil
}

// missing returns the error for a read that got too few bytes.
func missing(err error) error {
	if err == nil || err == io.EOF {
		return errors.New("the file is too short")
	}
	return err
}

// section returns the first section with a name; nil if there is none.
func (h *headers) section(name string) *section {
	for i := range h.sections {
		if h.sections[i].name == name {
			return &h.sections[i]
		}
	}
	return nil
}

// kind returns the first section of a kind, nil if there is none.
func (h *headers) kind(kind elf.SectionType) *section {
	for i := range h.sections {
		if h.sections[i].kind == kind {
			return &h.sections[i]
		}
	}
	return nil
}

// linked returns the section that the field link of a section names; nil if there is none.
func (h *headers) linked(s *section) *section {
	if s == nil || s.link == 0 || uint64(s.link) >= uint64(len(h.sections)) {
		return nil
	}
	return &h.sections[s.link]
}
