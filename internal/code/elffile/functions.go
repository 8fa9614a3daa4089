package elffile

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"slices"
	"strings"
	"unsafe"
)

// maxSymbols bounds a file's symbols. The largest seen: 165,000 (rustc's driver); libtorch_cuda.so has 90,000.
const maxSymbols = 1 << 20

// Functions are a file's functions in order of address, exported or not. Their names stay in the file.
type Functions struct {
	all    []function
	frames *Frames
	names  []extent
}

type function struct {
	start, size uint64
	name        uint32 // offset in the table
	table       uint8  // of the names
	rank        uint8  // global names before weak ones before local ones
}

// At returns the symbol that covers an address. A symbol without a size (of assembler code) covers the range of its
// frame entry.
func (t *Functions) At(vaddr uint64) (name string, ok bool) {
	all := t.all
	i, _ := slices.BinarySearchFunc(all, vaddr, func(f function, at uint64) int {
		if f.start <= at {
			return -1
		}
		return 1
	})
	var best *function
	for n := 0; i > 0 && n < maxAliases; n++ {
		i--
		if best != nil && all[i].start != best.start {
			break
		}
		if all[i].covers(t.frames, vaddr) && (best == nil || t.better(&all[i], best)) {
			best = &all[i]
		}
	}
	if best == nil {
		return "", false
	}
	return t.text(best), true
}

// maxAliases is the number of symbols before an address that are looked at: names of one function, or functions that
// end before the address.
const maxAliases = 64

// better reports whether f has a better name than another function at its address.
func (t *Functions) better(f, than *function) bool {
	if f.rank != than.rank {
		return f.rank < than.rank
	}
	a, b := t.text(f), t.text(than)
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) < 0
}

func (f function) covers(frames *Frames, vaddr uint64) bool {
	if f.size > 0 {
		return vaddr-f.start < f.size
	}
	e, ok := frames.At(vaddr)
	return ok && e.Start == f.start
}

// text reads a function's name, and as much as is looked at of a longer one.
func (t *Functions) text(f *function) string {
	name, _, _ := strings.Cut(t.names[f.table].text(uint64(f.name), maxName), "@") // a version
	return name
}

// ReadFunctions reads .symtab, of the file or else of its debug file, and .dynsym.
func ReadFunctions(f *File, frames *Frames, debug Finder, room *Room) *Functions {
	t := &Functions{frames: frames}
	t.add(f, elf.SHT_DYNSYM, room)
	t.add(f, elf.SHT_SYMTAB, room)
	if f.headers.kind(elf.SHT_SYMTAB) == nil {
		if d := f.DebugFile(debug); d != nil {
			t.add(d, elf.SHT_SYMTAB, room)
		}
	}
	slices.SortFunc(t.all,
		func(a, b function) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.name, b.name)) })
	return t
}

// add takes the functions of a symbol table in, if there is room.
func (t *Functions) add(f *File, kind elf.SectionType, room *Room) {
	s := f.headers.kind(kind)
	names := f.headers.linked(s)
	if names == nil || !names.held() || !s.held() {
		return
	}
	const each = uint64(unsafe.Sizeof(function{}))
	count := min(s.size/symbolSize, maxSymbols)
	if len(extentOf(f.reader, s).read(max(s.size, 1)-1, 1)) == 0 || !room.take(count*each) { // the file does have it
		return
	}
	t.all = slices.Grow(t.all, int(count))
	table := uint8(len(t.names))
	t.names = append(t.names, extentOf(f.reader, names))
	f.pieces(s.offset, s.size, func(data []byte, _ uint64) bool {
		for ; len(data) >= symbolSize && len(t.all) < maxSymbols; data = data[symbolSize:] {
			info, index := data[4], binary.LittleEndian.Uint16(data[6:])
			kind := elf.ST_TYPE(info)
			if index == 0 || kind != elf.STT_FUNC && kind != elf.STT_GNU_IFUNC {
				continue
			}
			t.all = append(t.all, function{
				start: binary.LittleEndian.Uint64(data[8:]), size: binary.LittleEndian.Uint64(data[16:]),
				name: binary.LittleEndian.Uint32(data), table: table, rank: rankOf(elf.ST_BIND(info)),
			})
		}
		return len(t.all) < maxSymbols
	})
}

func rankOf(binding elf.SymBind) uint8 {
	switch binding {
	case elf.STB_GLOBAL:
		return 0
	case elf.STB_WEAK:
		return 1
	}
	return 2
}
