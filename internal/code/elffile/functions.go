package elffile

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"slices"
	"strings"
	"unsafe"
)

// maxSymbols is how many symbols of a file are read. The most seen: 165,000 (rustc's driver); libtorch_cuda.so has
// 90,000.
const maxSymbols = 1 << 20

// Functions are a file's functions in order of address, exported or not. Names are read from the file on demand.
type Functions struct {
	all    []function
	frames *Frames
	names  []extent
}

type function struct {
	start, size uint64
	name        uint32 // offset in the table of names
	table       uint8  // index of that table in Functions.names
	rank        uint8  // 0 for a global name, 1 for a weak one, 2 for a local one
}

// At returns the name of the function that covers an address. If several do, it returns the best name. A symbol without
// a size (of assembler code) covers the range of its frame entry.
func (t *Functions) At(vaddr uint64) (name string, ok bool) {
	i, _ := slices.BinarySearchFunc(t.all, vaddr, func(f function, at uint64) int {
		if f.start <= at {
			return -1
		}
		return 1
	})
	var best *function
	for n := 0; i > 0 && n < maxAliases; n++ {
		i--
		f := &t.all[i]
		if best != nil && f.start != best.start {
			break
		}
		if f.covers(t.frames, vaddr) && (best == nil || t.better(f, best)) {
			best = f
		}
	}
	if best == nil {
		return "", false
	}
	return t.text(best), true
}

// maxAliases is how many symbols before an address are examined. They may be names of one function, or functions that
// end before the address.
const maxAliases = 64

// better reports whether f has a better name than other: of higher rank, else shorter, else first in the alphabet.
func (t *Functions) better(f, other *function) bool {
	if f.rank != other.rank {
		return f.rank < other.rank
	}
	name, otherName := t.text(f), t.text(other)
	return cmp.Or(cmp.Compare(len(name), len(otherName)), cmp.Compare(name, otherName)) < 0
}

func (f function) covers(frames *Frames, vaddr uint64) bool {
	if f.size > 0 {
		return vaddr-f.start < f.size
	}
	e, ok := frames.At(vaddr)
	return ok && e.Start == f.start
}

// text reads a function's name without its version ("@…"), at most maxName bytes.
func (t *Functions) text(f *function) string {
	name, _, _ := strings.Cut(t.names[f.table].text(uint64(f.name), maxName), "@")
	return name
}

// ReadFunctions reads the functions of .dynsym and .symtab. If the file has no .symtab, it takes that of its debug
// file.
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

// add reads the functions of a symbol table, if there is room for all its symbols.
func (t *Functions) add(f *File, kind elf.SectionType, room *Room) {
	s := f.headers.kind(kind)
	names := f.headers.linked(s)
	if names == nil || !names.held() || !s.held() {
		return
	}
	const functionSize = uint64(unsafe.Sizeof(function{}))
	count := min(s.size/symbolSize, maxSymbols)
	lastByte := extentOf(f.reader, s).read(max(s.size, 1)-1, 1)
	if len(lastByte) == 0 || !room.take(count*functionSize) { // without the last byte, the size may be a false claim
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

// rankOf returns the rank of a symbol's name, see [function].
func rankOf(binding elf.SymBind) uint8 {
	switch binding {
	case elf.STB_GLOBAL:
		return 0
	case elf.STB_WEAK:
		return 1
	}
	return 2
}
