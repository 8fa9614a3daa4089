package elffile

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"slices"
	"strings"
	"unsafe"
)

// maxSymbols bounds a file's functions. The largest seen: libtorch_cuda.so has 90,000 symbols.
const maxSymbols = 1 << 21

// Functions are a file's functions in order of address, exported or not.
type Functions struct {
	all    []function
	frames *Frames
}

type function struct {
	start, size uint64
	names       []byte // string table
	name        uint32 // offset in it
	rank        uint8  // global names before weak ones before local ones
}

// symbolSize is that of an Elf64_Sym.
const symbolSize = 24

// maxName is how many bytes of a symbol's name are looked at. The longest seen, of a template of PyTorch's, has 3,000.
const maxName = 8 << 10

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
		if all[i].covers(t.frames, vaddr) && (best == nil || all[i].better(best)) {
			best = &all[i]
		}
	}
	if best == nil {
		return "", false
	}
	return best.text(), true
}

// maxAliases is how many symbols before an address are looked at: names of the same function, or ones that end before
// it.
const maxAliases = 64

// better reports whether a name is to be preferred to another of the same address.
func (f *function) better(than *function) bool {
	if f.rank != than.rank {
		return f.rank < than.rank
	}
	a, b := f.text(), than.text()
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) < 0
}

func (f function) covers(frames *Frames, vaddr uint64) bool {
	if f.size > 0 {
		return vaddr-f.start < f.size
	}
	e, ok := frames.At(vaddr)
	return ok && e.Start == f.start
}

func (f function) text() string {
	if uint64(f.name) >= uint64(len(f.names)) {
		return ""
	}
	raw := f.names[f.name:]
	raw = raw[:min(len(raw), maxName)]
	if end := bytes.IndexByte(raw, 0); end >= 0 {
		raw = raw[:end]
	}
	name, _, _ := strings.Cut(string(raw), "@") // a version
	return name
}

// ReadFunctions reads .symtab, of the file or else of its debug file, and .dynsym.
func ReadFunctions(f *File, frames *Frames, debug Finder, room *Room) *Functions {
	t := &Functions{frames: frames}
	t.add(f, ".dynsym", room)
	t.add(f, ".symtab", room)
	if f.headers.Section(".symtab") == nil {
		if d := f.DebugFile(debug, room); d != nil {
			t.add(d, ".symtab", room)
		}
	}
	slices.SortFunc(t.all,
		func(a, b function) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.name, b.name)) })
	return t
}

// add takes the functions of a symbol table in.
func (t *Functions) add(f *File, section string, room *Room) {
	s := f.headers.Section(section)
	if s == nil || s.Link == 0 || uint64(s.Link) >= uint64(len(f.headers.Sections)) {
		return
	}
	data, names := sectionData(s, room), sectionData(f.headers.Sections[s.Link], room)
	if !room.take(uint64(len(data)) / symbolSize * uint64(unsafe.Sizeof(function{}))) {
		return
	}
	for ; len(data) >= symbolSize && len(t.all) < maxSymbols; data = data[symbolSize:] {
		info, index := data[4], binary.LittleEndian.Uint16(data[6:])
		kind, binding := elf.ST_TYPE(info), elf.ST_BIND(info)
		if index == 0 || kind != elf.STT_FUNC && kind != elf.STT_GNU_IFUNC {
			continue
		}
		rank := uint8(2)
		switch binding {
		case elf.STB_GLOBAL:
			rank = 0
		case elf.STB_WEAK:
			rank = 1
		}
		t.all = append(t.all, function{
			start: binary.LittleEndian.Uint64(data[8:]), size: binary.LittleEndian.Uint64(data[16:]),
			names: names, name: binary.LittleEndian.Uint32(data), rank: rank,
		})
	}
}
