package cpython

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"sort"
	"strings"
)

// Bounds on what is read of an ELF file. The largest build seen (python-build-standalone 3.14) has 1,912
// dynamic symbols in 140 KiB.
const (
	maxSymbolTable = 16 << 20
	maxStringTable = 16 << 20
	maxSegments    = 128
	maxSections    = 1 << 12
)

// segment is a PT_LOAD of the file, trimmed to what the file really holds.
type segment struct {
	vaddr, offset, size uint64
	exec                bool
}

// isAPI says whether a symbol is one of CPython's.
func isAPI(name string) bool { return strings.HasPrefix(name, "Py") || strings.HasPrefix(name, "_Py") }

// symbol is a defined dynamic symbol.
type symbol struct {
	value, size uint64
	function    bool
}

// image is the part of an ELF file this package reads: its segments, its dynamic symbols and the ranges of
// its functions.
type image struct {
	r         io.ReaderAt
	segments  []segment
	symbols   map[string]symbol
	functions []uint64 // sorted starts of the exported functions
	frames    []span   // sorted code ranges of .eh_frame
	plt       []span
	imports   map[uint64]symbolRef // by the address of the pointer through which the PLT jumps
	relocated []segment            // where the file says what the dynamic linker puts into data
}

// openImage parses the ELF headers and the dynamic symbol table; only symbols with a wanted name are kept.
func openImage(r io.ReaderAt, wanted func(string) bool) (img *image, err error) {
	// debug/elf is not hardened against hostile input (its package comment says so).
	defer func() {
		if p := recover(); p != nil {
			img, err = nil, fmt.Errorf("%w: malformed ELF", ErrNotPython)
		}
	}()
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNotPython, err)
	}
	if len(f.Progs) > maxSegments || len(f.Sections) > maxSections {
		return nil, fmt.Errorf("%w: too many ELF headers", ErrNotPython)
	}
	if f.Machine != elf.EM_X86_64 || f.Class != elf.ELFCLASS64 || f.ByteOrder != binary.LittleEndian {
		if definesEvalCode(f) {
			return nil, &UnsupportedError{Reason: fmt.Sprintf("built for %v, only x86-64 is supported", f.Machine)}
		}
		return nil, fmt.Errorf("%w: built for %v", ErrNotPython, f.Machine)
	}
	img = &image{r: r}
	img.loadSegments(f)
	if err := img.loadSymbols(f, wanted); err != nil {
		return nil, err
	}
	img.loadRanges(f)
	return img, nil
}

func definesEvalCode(f *elf.File) bool {
	if symbolsTooBig(f) {
		return false
	}
	syms, _ := f.DynamicSymbols()
	for _, s := range syms {
		if s.Name == evalCodeSymbol && s.Section != elf.SHN_UNDEF {
			return true
		}
	}
	return false
}

// symbolsTooBig says whether the sections that DynamicSymbols reads are larger than any real build's, or
// compressed, which no linker does to them.
func symbolsTooBig(f *elf.File) bool {
	for _, s := range f.Sections {
		switch s.Type {
		case elf.SHT_DYNSYM, elf.SHT_STRTAB, elf.SHT_GNU_VERSYM, elf.SHT_GNU_VERNEED, elf.SHT_GNU_VERDEF:
			if s.Flags&elf.SHF_COMPRESSED != 0 {
				return true
			}
			// .strtab belongs to .symtab, which is not read.
			if s.Size > maxSymbolTable && s.Name != ".strtab" {
				return true
			}
		}
	}
	return false
}

func (img *image) loadSegments(f *elf.File) {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Vaddr+p.Filesz >= p.Vaddr && p.Off+p.Filesz >= p.Off {
			img.segments = append(img.segments, segment{p.Vaddr, p.Off, p.Filesz, p.Flags&elf.PF_X != 0})
		}
	}
}

func (img *image) loadSymbols(f *elf.File, wanted func(string) bool) error {
	if symbolsTooBig(f) {
		return fmt.Errorf("%w: symbol table too large", ErrNotPython)
	}
	syms, err := f.DynamicSymbols()
	if err != nil {
		return fmt.Errorf("%w: %v", ErrNotPython, err)
	}
	img.symbols = make(map[string]symbol)
	for _, s := range syms {
		if s.Section == elf.SHN_UNDEF || s.Value == 0 {
			continue
		}
		fn := elf.ST_TYPE(s.Info) == elf.STT_FUNC
		if fn {
			img.functions = append(img.functions, s.Value)
		}
		if wanted(s.Name) {
			img.symbols[s.Name] = symbol{s.Value, s.Size, fn}
		}
	}
	sort.Slice(img.functions, func(i, j int) bool { return img.functions[i] < img.functions[j] })
	return nil
}

// loadRanges reads what tells one function's code from the next one's: .eh_frame and the PLT. Both are
// optional.
func (img *image) loadRanges(f *elf.File) {
	for _, s := range f.Sections {
		if s.Type == elf.SHT_PROGBITS && strings.HasPrefix(s.Name, ".plt") {
			img.plt = append(img.plt, span{s.Addr, s.Addr + s.Size})
		}
		if s.Type == elf.SHT_RELA && s.Name == ".rela.plt" && s.FileSize <= maxSymbolTable && s.Flags&elf.SHF_COMPRESSED == 0 {
			img.loadImports(f, s)
		}
		if s.Type == elf.SHT_RELA && s.Name != ".rela.plt" && s.FileSize <= maxSymbolTable && s.Flags&elf.SHF_COMPRESSED == 0 {
			img.relocated = append(img.relocated, segment{offset: s.Offset, size: s.FileSize})
		}
		if s.Name == ".eh_frame" && s.Type != elf.SHT_NOBITS && s.Flags&elf.SHF_COMPRESSED == 0 && s.FileSize <= maxEHFrame {
			// A header may claim more than there is: take what there is.
			data, _ := io.ReadAll(io.NewSectionReader(img.r, int64(s.Offset), int64(s.FileSize)))
			img.frames = parseEHFrame(data, s.Addr)
		}
	}
}

// read fills buf from the file contents at a virtual address. A short read is an error.
func (img *image) read(vaddr uint64, buf []byte) error {
	off, ok := img.fileOffset(vaddr)
	if !ok {
		return fmt.Errorf("read %#x: %w", vaddr, ErrMalformed)
	}
	if n, err := img.r.ReadAt(buf, int64(off)); n < len(buf) {
		return fmt.Errorf("read %#x: %w", vaddr, err)
	}
	return nil
}

// fileOffset translates a virtual address that the file backs: vaddr - segment's vaddr + segment's offset.
func (img *image) fileOffset(vaddr uint64) (uint64, bool) {
	for _, s := range img.segments {
		if vaddr >= s.vaddr && vaddr-s.vaddr < s.size {
			off := vaddr - s.vaddr + s.offset
			return off, off < 1<<63
		}
	}
	return 0, false
}

// executable says whether a virtual address lies in an executable segment.
func (img *image) executable(vaddr uint64) bool {
	for _, s := range img.segments {
		if s.exec && vaddr >= s.vaddr && vaddr-s.vaddr < s.size {
			return true
		}
	}
	return false
}

// isFunction says whether an exported function starts at the address.
func (img *image) isFunction(vaddr uint64) bool {
	i := sort.Search(len(img.functions), func(i int) bool { return img.functions[i] >= vaddr })
	return i < len(img.functions) && img.functions[i] == vaddr
}

func (img *image) inPLT(vaddr uint64) bool {
	for _, s := range img.plt {
		if s.contains(vaddr) {
			return true
		}
	}
	return false
}
