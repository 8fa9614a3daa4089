package elffile

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
)

// Limits for an [Image]. The largest build of CPython seen (python-build-standalone 3.14) has 1,912 dynamic symbols;
// LLVM 15 has 46,000, and 382,000 pointers in data.
const (
	maxWanted      = 1 << 17
	maxFunctions   = 1 << 20
	maxImports     = 1 << 17
	maxRelocations = 1 << 19 // pointers in data
)

// Image is a file with the ranges of its functions, and the functions of other files that it calls. The file must not
// change while the Image is in use.
type Image struct {
	*File
	Symbols map[string]Symbol // the exported symbols that the caller of OpenImage wanted
	// Imports are the functions of other files, each by the address of the pointer to it. The pointers are those
	// through which the PLT jumps and, after [Image.Relocate], those of the global offset table.
	Imports map[uint64]Import

	kinds     relocationKinds
	dynamic   symbols
	functions []uint64 // sorted starts of the exported functions
	frames    []Span   // sorted code ranges of .eh_frame
	plt       []Span
	relocated []section         // the sections with relocations of data
	pointers  map[uint64]uint64 // by the address of a pointer in data: the value that the dynamic linker puts there
}

// OpenImage reads headers, dynamic symbols, the PLT and the ranges of functions. It keeps only the symbols for whose
// names wanted returns true. The error matches [ErrNotELF].
func OpenImage(r io.ReaderAt, wanted func(string) bool) (*Image, error) {
	f, err := Open(r)
	if err != nil {
		return nil, err
	}
	img := &Image{File: f, kinds: kindsOf[f.Machine()]}
	if err := img.loadSymbols(wanted); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotELF, err)
	}
	img.loadRanges()
	return img, nil
}

func (img *Image) loadSymbols(wanted func(string) bool) (err error) {
	if img.dynamic, err = readSymbols(img.reader, img.headers, &img.room, &img.work); err != nil {
		return err
	}
	img.Symbols = make(map[string]Symbol)
	for name, s := range img.dynamic.all() {
		if s.Value == 0 {
			continue
		}
		if s.Function {
			img.functions = append(img.functions, s.Value)
		}
		if wanted(name) {
			img.Symbols[name] = s.Symbol
		}
		if len(img.Symbols) > maxWanted {
			return errors.New("too many exported functions")
		}
	}
	slices.Sort(img.functions)
	return nil
}

// loadRanges reads the ranges of functions from .eh_frame, the ranges of the PLT, and the PLT's relocations. A file may
// lack each of them.
func (img *Image) loadRanges() {
	for _, s := range img.headers.sections {
		if s.kind == elf.SHT_PROGBITS && strings.HasPrefix(s.name, ".plt") {
			img.plt = append(img.plt, Span{s.address, s.address + s.size})
		}
		if s.kind == elf.SHT_RELA && s.held() && s.size <= MaxTable {
			if s.name == pltRelocations {
				img.loadImports(&s)
			} else {
				img.relocated = append(img.relocated, s)
			}
		}
		if s.name == ".eh_frame" && s.held() && s.size <= maxEHFrame {
			// A header may claim more bytes than the file has. Contents takes those that are there.
			data := img.Contents(Segment{Offset: s.offset, Size: s.size})
			img.frames = ranges(data, s.address)
		}
	}
}

// Function returns an exported function among img.Symbols. ok is false if its code is not in the file.
func (img *Image) Function(name string) (s Symbol, ok bool) {
	s, ok = img.Symbols[name]
	return s, ok && s.Function && img.Executable(s.Value)
}

// IsFunction reports whether an exported function starts at the address.
func (img *Image) IsFunction(vaddr uint64) bool {
	i := sort.Search(len(img.functions), func(i int) bool { return img.functions[i] >= vaddr })
	return i < len(img.functions) && img.functions[i] == vaddr
}

// PLT returns the ranges of the linkage table, whose code jumps to functions of other files.
func (img *Image) PLT() []Span { return img.plt }

// InPLT reports whether an address lies in the linkage table.
func (img *Image) InPLT(vaddr uint64) bool {
	return slices.ContainsFunc(img.plt, func(s Span) bool { return s.Contains(vaddr) })
}

// Fragment returns the range of code around an address according to .eh_frame: a function, or a cold fragment that was
// split off a function.
func (img *Image) Fragment(vaddr uint64) (Span, bool) {
	i := sort.Search(len(img.frames), func(i int) bool { return img.frames[i].Start > vaddr })
	if i == 0 || !img.frames[i-1].Contains(vaddr) {
		return Span{}, false
	}
	return img.frames[i-1], true
}
