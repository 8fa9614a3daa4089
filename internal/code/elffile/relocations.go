package elffile

import (
	"debug/elf"
	"encoding/binary"
	"math"
	"slices"
)

// ChosenAtStart is the name in an [Import] for a function that the dynamic linker chooses by the processor
// (R_…_IRELATIVE). In glibc's own PLT these are the functions on strings and memory.
const ChosenAtStart = "*"

// pltRelocations is the section with the relocations of the PLT's pointers.
const pltRelocations = ".rela.plt"

// relocationSize is the size of an Elf64_Rela in bytes.
const relocationSize = 24

// Import is the function that a pointer of the file points to once the dynamic linker has filled the pointer in.
type Import struct {
	Name  string
	Value uint64 // the function's address if the file itself defines it, else 0
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

// relocations calls show with each relocation of a section, until show returns false.
func (f *File) relocations(s *section, show func(relocation) bool) {
	f.pieces(s.offset, s.size, func(data []byte, _ uint64) bool {
		for ; len(data) >= relocationSize; data = data[relocationSize:] {
			if !show(relocationOf(data)) {
				return false
			}
		}
		return true
	})
}

// importAt keeps the function of the pointer at an address.
func (img *Image) importAt(at uint64, to Import) {
	if len(img.Imports) < maxImports {
		img.Imports[at] = to
	}
}

// loadImports reads the function of each pointer of the PLT.
func (img *Image) loadImports(s *section) {
	img.Imports = make(map[uint64]Import)
	img.relocations(s, func(r relocation) bool {
		if r.kind == img.kinds.byFunction {
			img.importAt(r.at, Import{Name: ChosenAtStart})
		} else if to, name, ok := img.dynamic.named(r.symbol); ok {
			img.importAt(r.at, Import{name, to.Value})
		}
		return true
	})
}

// Relocate reads all relocations that [OpenImage] has not read: those of the global offset table, which are added to
// img.Imports, and those of pointers in data, for [Image.Pointee].
func (img *Image) Relocate() {
	img.pointers = map[uint64]uint64{}
	if img.Imports == nil {
		img.Imports = map[uint64]Import{}
	}
	for i := range img.relocated {
		img.relocations(&img.relocated[i], func(r relocation) bool {
			switch r.kind {
			case img.kinds.relative:
				img.pointers[r.at] = r.addend
			case img.kinds.offset:
				if to, name, ok := img.dynamic.named(r.symbol); ok {
					img.importAt(r.at, Import{name, to.Value})
				}
			case img.kinds.address:
				if to, _, ok := img.dynamic.named(r.symbol); ok && to.defined {
					img.pointers[r.at] = to.Value + r.addend
				}
			}
			return len(img.pointers) < maxRelocations
		})
	}
}

// Pointee returns the value, without the load bias, that the pointer at an address has once the file is loaded. It
// knows the relocations that [Image.Relocate] has read. Without one the value is the word in the file, which is also
// right for packed relative relocations (SHT_RELR).
func (img *Image) Pointee(at uint64) (value uint64, ok bool) {
	if to, ok := img.pointers[at]; ok {
		return to, true
	}
	return img.word(at)
}

// word returns the word that the file has at an address.
func (img *Image) word(at uint64) (word uint64, ok bool) {
	var raw [8]byte
	if img.Read(at, raw[:]) != nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(raw[:]), true
}

// RelativePointee does what [Image.Pointee] does, for a single pointer and without [Image.Relocate]. It reads the
// relocations up to the pointer's own. ok is false if that relocation needs a symbol.
func (img *Image) RelativePointee(at uint64) (value uint64, ok bool) {
	for i := range img.relocated {
		found := false
		img.relocations(&img.relocated[i], func(r relocation) bool {
			if found = r.at == at; found {
				value, ok = r.addend, r.kind == img.kinds.relative
			}
			return !found
		})
		if found {
			return value, ok
		}
	}
	return img.word(at)
}

// maxPointers is how many pointers [Image.PointersTo] returns.
const maxPointers = 1 << 12

// PointersTo returns the pointers in data that point to one of addrs once the file is loaded: a map from a pointer's
// own address to its value, both without the load bias. The map also has words that are equal to one of addrs by
// chance. It has pointers with a relocation by a symbol only after [Image.Relocate].
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
		first := -s.Vaddr & 7
		img.pieces(s.Offset+first, s.Size-min(first, s.Size), func(data []byte, offset uint64) bool {
			for i := 0; i+8 <= len(data); i += 8 {
				if word := binary.LittleEndian.Uint64(data[i:]); word >= lowest && word <= highest {
					add(s.Vaddr+first+offset+uint64(i), word)
				}
			}
			return true
		})
	}
	for i := range img.relocated {
		img.relocations(&img.relocated[i], func(r relocation) bool {
			if r.kind == img.kinds.relative {
				add(r.at, r.addend)
			}
			return true
		})
	}
	for at, to := range img.pointers {
		add(at, to)
	}
	return found
}

// OffsetTable returns the pointers that the dynamic linker fills in with the address of one of the named symbols: a map
// from the pointer's address to the symbol's name.
func (img *Image) OffsetTable(names []string) map[uint64]string {
	slots, byValue := map[uint64]string{}, map[uint64]string{}
	for _, name := range names {
		if s, ok := img.Symbols[name]; ok {
			byValue[s.Value] = name
		}
	}
	for _, s := range img.headers.sections {
		if s.kind != elf.SHT_RELA || s.size > MaxTable || !s.held() {
			continue
		}
		img.relocations(&s, func(r relocation) bool {
			switch r.kind {
			case img.kinds.relative:
				if name, ok := byValue[r.addend]; ok {
					slots[r.at] = name
				}
			case img.kinds.offset, img.kinds.plt:
				if _, name, ok := img.dynamic.named(r.symbol); ok && slices.Contains(names, name) {
					slots[r.at] = name
				}
			}
			return len(slots) < maxImports
		})
	}
	return slots
}
