package elffile

import (
	"bufio"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
)

// ChosenAtStart is the name of a function that the dynamic linker chooses for the processor (R_…_IRELATIVE):
// in glibc's own
// PLT these are the functions on strings and memory.
const ChosenAtStart = "*"

// pltRelocations is the section that names the function of each pointer of the PLT.
const pltRelocations = ".rela.plt"

// relocationSize is that of an Elf64_Rela.
const relocationSize = 24

// maxRelocations bounds how many pointers in data are kept.
const maxRelocations = 4 << 20

// Import is a function that a pointer is for.
type Import struct {
	Name  string
	Value uint64 // where the file itself defines it, else 0
}

// relocation is an Elf64_Rela.
type relocation struct {
	at, addend uint64
	kind       uint32
	symbol     int
}

func relocationOf(raw []byte) relocation {
	info := binary.LittleEndian.Uint64(raw[8:])
	return relocation{
		at: binary.LittleEndian.Uint64(raw), addend: binary.LittleEndian.Uint64(raw[16:]),
		kind: elf.R_TYPE64(info), symbol: int(elf.R_SYM64(info)),
	}
}

// relocations reads a section.
func (f *File) relocations(s *elf.Section) (all []relocation) {
	data := f.Contents(Segment{Offset: s.Offset, Size: s.FileSize})
	for ; len(data) >= relocationSize; data = data[relocationSize:] {
		all = append(all, relocationOf(data))
	}
	return all
}

// loadImports reads the function of each pointer of the PLT.
func (img *Image) loadImports(s *elf.Section) {
	symbols, _ := img.headers.DynamicSymbols()
	img.Imports = make(map[uint64]Import)
	for _, r := range img.relocations(s) {
		switch n := r.symbol; {
		case r.kind == img.kinds.byFunction:
			img.Imports[r.at] = Import{Name: ChosenAtStart}
		case n > 0 && n <= len(symbols): // the list has no symbol 0
			img.Imports[r.at] = Import{symbols[n-1].Name, symbols[n-1].Value}
		}
	}
}

// Relocate reads all other relocations: the functions of the global offset table's pointers, and the values of pointers
// in data ([Image.Pointee]). The error matches [ErrNotELF].
func (img *Image) Relocate() (err error) {
	defer func() { // debug/elf promises nothing about files made to break it
		if recover() != nil {
			err = fmt.Errorf("%w: malformed", ErrNotELF)
		}
	}()
	img.pointers = map[uint64]uint64{}
	if img.Imports == nil {
		img.Imports = map[uint64]Import{}
	}
	symbols, _ := img.headers.DynamicSymbols()
	for _, s := range img.headers.Sections {
		if s.Type != elf.SHT_RELA || s.Name == pltRelocations || s.FileSize > MaxTable ||
			s.Flags&elf.SHF_COMPRESSED != 0 {
			continue
		}
		for _, r := range img.relocations(s) {
			if len(img.pointers) >= maxRelocations {
				return nil
			}
			switch n := r.symbol; {
			case r.kind == img.kinds.relative:
				img.pointers[r.at] = r.addend
			case n <= 0 || n > len(symbols): // the list has no symbol 0
			case r.kind == img.kinds.offset:
				img.Imports[r.at] = Import{symbols[n-1].Name, symbols[n-1].Value}
			case r.kind == img.kinds.address && symbols[n-1].Section != elf.SHN_UNDEF:
				img.pointers[r.at] = symbols[n-1].Value + r.addend
			}
		}
	}
	return nil
}

// Pointee returns the value that a pointer in data has once the file is loaded, before the load bias, as far as
// [Image.Relocate] has read it; packed relative relocations (SHT_RELR) leave it in the file.
func (img *Image) Pointee(at uint64) (uint64, bool) {
	if to, ok := img.pointers[at]; ok {
		return to, true
	}
	return img.word(at)
}

func (img *Image) word(at uint64) (uint64, bool) {
	var word [8]byte
	if img.Read(at, word[:]) != nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(word[:]), true
}

// RelativePointee is [Image.Pointee] for a single pointer of a file that has not been relocated: the relocations are
// read up to the one for the pointer. Where that needs a symbol the value is not known.
func (img *Image) RelativePointee(at uint64) (uint64, bool) {
	for _, s := range img.relocated {
		r := bufio.NewReaderSize(io.NewSectionReader(img.reader, int64(s.Offset), int64(s.Size)), 64<<10)
		var raw [relocationSize]byte
		for {
			if _, err := io.ReadFull(r, raw[:]); err != nil {
				break
			}
			if entry := relocationOf(raw[:]); entry.at == at {
				return entry.addend, entry.kind == img.kinds.relative
			}
		}
	}
	return img.word(at)
}

// maxPointers bounds how many pointers [Image.PointersTo] returns.
const maxPointers = 1 << 12

// PointersTo returns the pointers in data that will be one of some addresses once the file is loaded, before the load
// bias: each pointer's value by its place. The file need not have been relocated; if it was, pointers by way of symbols
// are among them. Words that only look like such a pointer are, too.
func (img *Image) PointersTo(addrs map[uint64]bool) map[uint64]uint64 {
	found := map[uint64]uint64{}
	if len(addrs) == 0 {
		return found
	}
	add := func(at, to uint64) {
		if len(found) < maxPointers && addrs[to] {
			found[at] = to
		}
	}
	lowest, highest := uint64(math.MaxUint64), uint64(0)
	for a := range addrs {
		lowest, highest = min(lowest, a), max(highest, a)
	}
	for _, s := range img.segments {
		if s.Size > MaxTable {
			continue
		}
		data := img.Contents(s)
		for i := -s.Vaddr & 7; i+8 <= uint64(len(data)); i += 8 {
			if word := binary.LittleEndian.Uint64(data[i:]); word >= lowest && word <= highest {
				add(s.Vaddr+i, word)
			}
		}
	}
	for _, s := range img.relocated {
		for data := img.Contents(s); len(data) >= relocationSize; data = data[relocationSize:] {
			if r := relocationOf(data); r.kind == img.kinds.relative {
				add(r.at, r.addend)
			}
		}
	}
	for at, to := range img.pointers {
		add(at, to)
	}
	return found
}

// OffsetTable returns the pointers that the dynamic linker fills in with the address of one of some symbols.
func (img *Image) OffsetTable(names []string) (slots map[uint64]string) {
	slots = map[uint64]string{}
	defer func() { // debug/elf promises nothing about files made to break it
		_ = recover()
	}()
	f, err := Headers(img.reader) // reading symbols changes the file that they are read from
	if err != nil || symbolsTooBig(f) {
		return slots
	}
	symbols, _ := f.DynamicSymbols()
	byValue := map[uint64]string{}
	for _, name := range names {
		if s, ok := img.Symbols[name]; ok {
			byValue[s.Value] = name
		}
	}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_RELA || s.FileSize > MaxTable || s.Flags&elf.SHF_COMPRESSED != 0 {
			continue
		}
		for _, r := range img.relocations(s) {
			switch n := r.symbol; {
			case r.kind == img.kinds.relative:
				if name, ok := byValue[r.addend]; ok {
					slots[r.at] = name
				}
			case (r.kind == img.kinds.offset || r.kind == img.kinds.plt) && n > 0 && n <= len(symbols):
				if slices.Contains(names, symbols[n-1].Name) {
					slots[r.at] = symbols[n-1].Name
				}
			}
		}
	}
	return slots
}
