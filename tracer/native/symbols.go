package native

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"path"
	"slices"
	"strings"
	"unsafe"
)

// symbolTable is a file's functions in order of address.
type symbolTable struct {
	functions []function
}

type function struct {
	start, size uint64
	names       []byte // string table
	name        uint32 // offset in it
	rank        uint8  // global names before weak ones before local ones
}

// Sizes of the parts of an Elf64_Sym.
const symbolSize = 24

// maxName is how many bytes of a symbol's name are looked at. The longest seen, of a template of PyTorch's, has 3,000.
const maxName = 8 << 10

// function returns the symbol that covers an address. One without a size (of assembler code) covers what its frame entry does.
func (m *Module) function(vaddr uint64) (name string, ok bool) {
	if m.symbols == nil {
		m.symbols = m.readSymbols()
	}
	all := m.symbols.functions
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
		if all[i].covers(m, vaddr) && (best == nil || all[i].better(best)) {
			best = &all[i]
		}
	}
	if best == nil {
		return "", false
	}
	return best.text(), true
}

// maxAliases is how many symbols before an address are looked at: names of the same function, or ones that end before it.
const maxAliases = 64

// better says whether a name is to be preferred to another of the same address.
func (f *function) better(than *function) bool {
	if f.rank != than.rank {
		return f.rank < than.rank
	}
	a, b := f.text(), than.text()
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) < 0
}

func (f function) covers(m *Module, vaddr uint64) bool {
	if f.size > 0 {
		return vaddr-f.start < f.size
	}
	e, ok := m.frames.lookup(m, vaddr)
	return ok && e.start == f.start
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

// readSymbols reads .symtab, of the file or else of its debug file, and .dynsym.
func (m *Module) readSymbols() *symbolTable {
	t := &symbolTable{}
	t.add(m, m.elf, ".dynsym")
	t.add(m, m.elf, ".symtab")
	if m.elf.Section(".symtab") == nil {
		if d := m.debugFile(); d != nil {
			t.add(m, d, ".symtab")
		}
	}
	slices.SortFunc(t.functions, func(a, b function) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.name, b.name)) })
	return t
}

// add takes the functions of a symbol table in.
func (t *symbolTable) add(m *Module, f *elf.File, section string) {
	s := f.Section(section)
	if s == nil || s.Link == 0 || uint64(s.Link) >= uint64(len(f.Sections)) {
		return
	}
	data, names := m.sectionData(s), m.sectionData(f.Sections[s.Link])
	if !m.room.take(uint64(len(data)) / symbolSize * uint64(unsafe.Sizeof(function{}))) {
		return
	}
	for ; len(data) >= symbolSize && len(t.functions) < maxSymbols; data = data[symbolSize:] {
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
		t.functions = append(t.functions, function{
			start: binary.LittleEndian.Uint64(data[8:]), size: binary.LittleEndian.Uint64(data[16:]),
			names: names, name: binary.LittleEndian.Uint32(data), rank: rank,
		})
	}
}

// debugFile opens the file that has what was stripped off, by build id (.note.gnu.build-id, as GDB finds it) or by name
// (.gnu_debuglink). Nil if there is none, or it is of another build.
func (m *Module) debugFile() *elf.File {
	if m.debug == nil {
		return nil
	}
	id := m.buildID(m.elf)
	var names []string
	if len(id) > 1 {
		names = append(names, "/usr/lib/debug/.build-id/"+hex.EncodeToString(id[:1])+"/"+hex.EncodeToString(id[1:])+".debug")
	}
	link := m.section(m.elf, ".gnu_debuglink")
	if end := bytes.IndexByte(link, 0); end > 0 && len(id) > 0 {
		if name := string(link[:end]); path.Base(name) == name {
			names = append(names, "/usr/lib/debug/"+name)
		}
	}
	for _, name := range names {
		file, err := m.debug(name)
		if err != nil {
			continue
		}
		if f, err := openELF(file); err == nil && bytes.Equal(m.buildID(f), id) {
			return f
		}
	}
	return nil
}

// buildID returns what the linker has marked the build with, nil if nothing.
func (m *Module) buildID(f *elf.File) []byte {
	r := reader{data: m.section(f, ".note.gnu.build-id")}
	nameSize, size, kind := r.u32(), r.u32(), r.u32()
	const gnuBuildID, maxID = 3, 64
	if kind != gnuBuildID || nameSize != 4 || string(r.take(4)) != "GNU\x00" || size > maxID {
		return nil
	}
	return r.take(uint64(size))
}
