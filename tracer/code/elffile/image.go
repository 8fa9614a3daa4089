package elffile

import (
	"debug/elf"
	"fmt"
	"io"
	"sort"
	"strings"
)

// Bounds on the reads of an [Image]. The largest build of CPython seen (python-build-standalone 3.14) has 1,912 dynamic
// symbols in 140 KiB.
const (
	MaxTable         = 16 << 20 // bytes of a table of symbols, strings or relocations
	maxImageSegments = 128
	maxSections      = 1 << 12
)

// Symbol is a defined dynamic symbol.
type Symbol struct {
	Value, Size uint64
	Function    bool
}

// Span is the half-open range of addresses [Start, End).
type Span struct{ Start, End uint64 }

// Contains reports whether an address is in it.
func (s Span) Contains(a uint64) bool { return a >= s.Start && a < s.End }

// Image is a file with the bounds of its functions, and the functions of other files that it calls. Not to be changed
// while others use it.
type Image struct {
	*File
	Symbols map[string]Symbol // those that were wanted
	// Imports are the functions of other files, by the address of the pointer to each: the pointers through which the
	// PLT jumps, and, after [Image.Relocate], those of the global offset table.
	Imports map[uint64]Import

	kinds     relocationKinds
	functions []uint64 // sorted starts of the exported functions
	frames    []Span   // sorted code ranges of .eh_frame
	plt       []Span
	relocated []Segment         // the parts of data that the dynamic linker fills in
	pointers  map[uint64]uint64 // by the address of a pointer in data: the value that the dynamic linker puts there
}

// OpenImage reads headers, dynamic symbols, the PLT and the ranges of functions; only symbols with a wanted name are
// kept. The error matches [ErrNotELF].
func OpenImage(r io.ReaderAt, wanted func(string) bool) (img *Image, err error) {
	defer func() { // debug/elf promises nothing about files made to break it
		if recover() != nil {
			img, err = nil, fmt.Errorf("%w: malformed", ErrNotELF)
		}
	}()
	f, err := Open(r)
	if err != nil {
		return nil, err
	}
	if len(f.headers.Progs) > maxImageSegments || len(f.headers.Sections) > maxSections {
		return nil, fmt.Errorf("%w: too many headers", ErrNotELF)
	}
	img = &Image{File: f, kinds: kindsOf[f.Machine()]}
	if err := img.loadSymbols(wanted); err != nil {
		return nil, err
	}
	img.loadRanges()
	return img, nil
}

// Defines reports whether a file, for whichever machine, exports a symbol.
func Defines(r io.ReaderAt, name string) (defined bool) {
	defer func() { // debug/elf promises nothing about files made to break it
		if recover() != nil {
			defined = false
		}
	}()
	f, err := Headers(r)
	if err != nil || symbolsTooBig(f) {
		return false
	}
	symbols, _ := f.DynamicSymbols()
	for _, s := range symbols {
		if s.Name == name && s.Section != elf.SHN_UNDEF {
			return true
		}
	}
	return false
}

// symbolsTooBig reports whether the sections that DynamicSymbols reads are larger than any real build's, or compressed,
// which no linker does to them.
func symbolsTooBig(f *elf.File) bool {
	for _, s := range f.Sections {
		switch s.Type {
		case elf.SHT_DYNSYM, elf.SHT_STRTAB, elf.SHT_GNU_VERSYM, elf.SHT_GNU_VERNEED, elf.SHT_GNU_VERDEF:
			if s.Flags&elf.SHF_COMPRESSED != 0 {
				return true
			}
			// .strtab belongs to .symtab, which is not read.
			if s.Size > MaxTable && s.Name != ".strtab" {
				return true
			}
		}
	}
	return false
}

func (img *Image) loadSymbols(wanted func(string) bool) error {
	if symbolsTooBig(img.headers) {
		return fmt.Errorf("%w: symbol table too large", ErrNotELF)
	}
	symbols, err := img.headers.DynamicSymbols()
	if err != nil {
		return fmt.Errorf("%w: %v", ErrNotELF, err)
	}
	img.Symbols = make(map[string]Symbol)
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF || s.Value == 0 {
			continue
		}
		fn := elf.ST_TYPE(s.Info) == elf.STT_FUNC
		if fn {
			img.functions = append(img.functions, s.Value)
		}
		if wanted(s.Name) {
			img.Symbols[s.Name] = Symbol{s.Value, s.Size, fn}
		}
	}
	sort.Slice(img.functions, func(i, j int) bool { return img.functions[i] < img.functions[j] })
	return nil
}

// loadRanges reads the bounds of functions: .eh_frame and the PLT. Both are optional.
func (img *Image) loadRanges() {
	for _, s := range img.headers.Sections {
		if s.Type == elf.SHT_PROGBITS && strings.HasPrefix(s.Name, ".plt") {
			img.plt = append(img.plt, Span{s.Addr, s.Addr + s.Size})
		}
		if readable := s.FileSize <= MaxTable && s.Flags&elf.SHF_COMPRESSED == 0; s.Type == elf.SHT_RELA && readable {
			if s.Name == pltRelocations {
				img.loadImports(s)
			} else {
				img.relocated = append(img.relocated, Segment{Offset: s.Offset, Size: s.FileSize})
			}
		}
		if s.Name == ".eh_frame" && s.Type != elf.SHT_NOBITS && s.Flags&elf.SHF_COMPRESSED == 0 &&
			s.FileSize <= maxEHFrame {
			// A header may claim more than there is: take the bytes that there are.
			data := img.Contents(Segment{Offset: s.Offset, Size: s.FileSize})
			img.frames = ranges(data, s.Addr)
		}
	}
}

// Function returns an exported function that was wanted and has its code in the file.
func (img *Image) Function(name string) (Symbol, bool) {
	s, ok := img.Symbols[name]
	return s, ok && s.Function && img.Executable(s.Value)
}

// IsFunction reports whether an exported function starts at the address.
func (img *Image) IsFunction(vaddr uint64) bool {
	i := sort.Search(len(img.functions), func(i int) bool { return img.functions[i] >= vaddr })
	return i < len(img.functions) && img.functions[i] == vaddr
}

// PLT are the ranges of code that jumps to functions of other files.
func (img *Image) PLT() []Span { return img.plt }

// InPLT reports whether an address lies in one of them.
func (img *Image) InPLT(vaddr uint64) bool {
	for _, s := range img.plt {
		if s.Contains(vaddr) {
			return true
		}
	}
	return false
}

// Fragment returns the code range that .eh_frame gives for the function, or split off part of one, an address is in.
func (img *Image) Fragment(vaddr uint64) (Span, bool) {
	i := sort.Search(len(img.frames), func(i int) bool { return img.frames[i].Start > vaddr })
	if i == 0 || !img.frames[i-1].Contains(vaddr) {
		return Span{}, false
	}
	return img.frames[i-1], true
}
