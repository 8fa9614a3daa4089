package elftest

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ipytracer/internal/code/elffile"
)

// Hostile is a kind of ELF file that costs its reader much memory or time: a few bytes stand for many, or the headers
// have the same bytes read again and again.
type Hostile struct {
	Name string
	make func() craft
}

// craft describes a hostile file: program headers and sections.
type craft struct {
	programs []elf.Prog64
	sections []crafted
	sparse   int64 // the size of the file is at least this; what follows the contents is a hole
}

// crafted is a section of a hostile file. Its data is written to the file. Without data, the header stays as it is.
type crafted struct {
	name   string
	header elf.Section64
	data   []byte
	as     int // if not 0: the number of an earlier section that has the same offset and size
}

const (
	mebibyte = 1 << 20
	gibibyte = 1 << 30
	// hostileData is the offset at which contents begin, behind the program headers.
	hostileData = 64 + 56*64
)

// Write writes the file to a folder, under each of the names, and returns the last path.
func (h Hostile) Write(t testing.TB, folder string, names ...string) (path string) {
	t.Helper()
	c := h.make()
	data := c.bytes()
	for _, name := range names {
		path = filepath.Join(folder, name)
		if err := os.WriteFile(path, data, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, max(c.sparse, int64(len(data)))); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func (c craft) bytes() []byte {
	var body, headers bytes.Buffer
	put := func(w *bytes.Buffer, v any) { _ = binary.Write(w, binary.LittleEndian, v) }
	names := crafted{name: ".shstrtab", header: elf.Section64{Type: uint32(elf.SHT_STRTAB)}, data: []byte{0}}
	all := append([]crafted{{}}, c.sections...)
	for i := range all {
		if all[i].name != "" {
			all[i].header.Name = uint32(len(names.data))
			names.data = append(append(names.data, all[i].name...), 0)
		}
	}
	all = append(all, names)
	for i := range all {
		s := &all[i]
		switch {
		case s.as > 0:
			s.header.Off, s.header.Size = all[s.as].header.Off, all[s.as].header.Size
		case s.data != nil:
			s.header.Off = hostileData + uint64(body.Len())
			if s.header.Size == 0 {
				s.header.Size = uint64(len(s.data))
			}
			body.Write(s.data)
		}
		put(&headers, s.header)
	}
	head := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(elffile.Native), Version: 1, Phoff: 64,
		Shoff: hostileData + uint64(body.Len()), Ehsize: 64, Phentsize: 56, Phnum: uint16(len(c.programs)),
		Shentsize: 64, Shnum: uint16(len(all)), Shstrndx: uint16(len(all) - 1)}
	copy(head.Ident[:], "\x7fELF\x02\x01\x01")
	var out bytes.Buffer
	put(&out, head)
	put(&out, c.programs)
	out.Write(make([]byte, hostileData-out.Len()))
	out.Write(body.Bytes())
	out.Write(headers.Bytes())
	return out.Bytes()
}

// typed returns the header of a section of a kind.
func typed(kind elf.SectionType, link uint32) elf.Section64 {
	h := elf.Section64{Type: uint32(kind), Link: link}
	switch kind {
	case elf.SHT_DYNSYM, elf.SHT_SYMTAB, elf.SHT_RELA:
		h.Entsize = 24
	}
	return h
}

// loads returns n segments with the same contents.
func loads(n int, offset, size uint64) (segments []elf.Prog64) {
	for i := range n {
		segments = append(segments, elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X),
			Off: offset, Vaddr: uint64(i) * 4 * gibibyte, Filesz: size, Memsz: size, Align: 0x1000})
	}
	return segments
}

// entries returns a symbol table of n defined functions. Each name begins one byte behind the one before it.
func entries(n int) []byte {
	out := make([]byte, 24, 24*(n+1))
	for i := range n {
		out = binary.LittleEndian.AppendUint32(out, uint32(1+i%4000))
		out = append(out, 0x12, 0, 1, 0)
		out = binary.LittleEndian.AppendUint64(out, 0x1000+uint64(i)*16)
		out = binary.LittleEndian.AppendUint64(out, 16)
	}
	return out
}

// known returns a table with the symbols by which readers recognize interpreters, libraries and dynamic linkers, and
// the table of their names.
func known() (symbols, names []byte) {
	var out bytes.Buffer
	_ = binary.Write(&out, binary.LittleEndian, elf.Sym64{})
	names = []byte{0}
	for i, name := range []string{"PyEval_EvalCode", "_PyRuntime", "Py_Version", "mmap", "mremap", "malloc", "free",
		"_r_debug", "_dl_debug_state", "cuMemAlloc_v2", "cuMemFree_v2"} {
		_ = binary.Write(&out, binary.LittleEndian, elf.Sym64{Name: uint32(len(names)), Info: 0x12, Shndx: 1,
			Value: 0x100 + uint64(i)*64, Size: 64})
		names = append(append(names, name...), 0)
	}
	return out.Bytes(), names
}

// endless returns a table of names that has a single NUL, at its end.
func endless(size int) []byte { return append([]byte(strings.Repeat("P", size-1)), 0) }

// sparseStrings is a file of some KiB whose table of names, a section with the given name, claims 2 GiB.
func sparseStrings(name string) craft {
	return craft{programs: loads(1, 0, 0x1000), sparse: 3 * gibibyte, sections: []crafted{
		{name: ".dynsym", header: typed(elf.SHT_DYNSYM, 2), data: entries(1)},
		{name: name, header: elf.Section64{Type: uint32(elf.SHT_STRTAB), Off: 1 << 16, Size: 2 * gibibyte}},
	}}
}

// zipped returns the contents of a compressed section that unpacks to a gibibyte.
var zipped = sync.OnceValue(func() []byte {
	var out bytes.Buffer
	header := elf.Chdr64{Type: uint32(elf.COMPRESS_ZLIB), Size: gibibyte, Addralign: 1}
	_ = binary.Write(&out, binary.LittleEndian, header)
	w, _ := zlib.NewWriterLevel(&out, zlib.BestSpeed)
	block := make([]byte, mebibyte)
	for range gibibyte / mebibyte {
		_, _ = w.Write(block)
	}
	_ = w.Close()
	return out.Bytes()
})

// frameBomb returns an .eh_frame of at least size bytes, full of entries that refer to one long common entry.
func frameBomb(size int) []byte {
	common := append([]byte("\x01zR\x00\x01\x78\x10\x01\x1b"), make([]byte, 4000)...)
	out := binary.LittleEndian.AppendUint32(nil, uint32(4+len(common)))
	out = append(binary.LittleEndian.AppendUint32(out, 0), common...)
	for len(out) < size {
		out = binary.LittleEndian.AppendUint32(out, 13)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(out)))
		out = append(out, 0, 0, 0, 0, 0x40, 0, 0, 0, 0)
	}
	return out
}

// lineBomb returns a line program of about size bytes, full of rows of which each ends a sequence.
func lineBomb(size int) []byte {
	header := []byte("\x04\x00\x1b\x00\x00\x00\x01\x01\x01\xfb\x0e\x0d\x00\x01\x01\x01\x01" +
		"\x00\x00\x00\x01\x00\x00\x01d\x00\x00a.c\x00\x01\x00\x00\x00")
	row := []byte("\x00\x09\x02\x00\x10\x00\x00\x00\x00\x00\x00\x13\x02\x04\x00\x01\x01")
	body := append(header, bytes.Repeat(row, size/len(row))...)
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// relocations returns n relocations of different pointers.
func relocations(n int) (out []byte) {
	for i := range n {
		out = binary.LittleEndian.AppendUint64(out, 0x1000+uint64(i)*8)
		out = binary.LittleEndian.AppendUint64(out, 1<<32|8)
		out = binary.LittleEndian.AppendUint64(out, uint64(i))
	}
	return out
}

// alike appends n copies of a section to the first sections.
func alike(first []crafted, n int, one crafted) []crafted {
	for range n {
		first = append(first, one)
	}
	return first
}

// dynamic returns the sections with the dynamic symbols and with their names.
func dynamic(symbols, names []byte) []crafted {
	return []crafted{
		{name: ".dynsym", header: typed(elf.SHT_DYNSYM, 2), data: symbols},
		{name: ".dynstr", header: typed(elf.SHT_STRTAB, 0), data: names},
	}
}

// exporting is a file with the functions that readers look for, and with more sections. The first of these has number
// 3.
func exporting(more ...crafted) craft {
	symbols, names := known()
	return craft{programs: loads(1, 0, 0x1000), sections: append(dynamic(symbols, names), more...)}
}

func compressed(name string, kind elf.SectionType) crafted {
	s := crafted{name: name, header: typed(kind, 0), data: zipped()}
	s.header.Flags = uint64(elf.SHF_COMPRESSED)
	return s
}

func program(name string, data []byte) craft {
	return exporting(crafted{name: name, header: typed(elf.SHT_PROGBITS, 0), data: data})
}

// overlapping is a file with n segments of the same bytes.
func overlapping(n int, size uint64) craft {
	c := exporting()
	c.programs, c.sparse = loads(n, 0, size), int64(size)
	return c
}

// Attacks returns all kinds of hostile files.
func Attacks() []Hostile { return append(onTables(), onContents()...) }

// onTables returns the files with hostile tables of names, symbols and headers.
func onTables() []Hostile {
	return []Hostile{
		{"sparse names", func() craft { return sparseStrings(".dynstr") }},
		{"sparse names of another name", func() craft { return sparseStrings(".strtab") }},
		{"one long name for all symbols", func() craft {
			return craft{programs: loads(1, 0, 0x1000), sections: dynamic(entries(20000), endless(16*mebibyte))}
		}},
		{"names as long as any", func() craft {
			names := bytes.Repeat(endless(8000), 2096)
			return craft{programs: loads(1, 0, 0x1000), sections: dynamic(entries(690000), names)}
		}},
		{"60,000 sections alike", func() craft {
			c := exporting()
			c.sections = alike(c.sections, 60000, crafted{header: typed(elf.SHT_STRTAB, 0), as: 2})
			return c
		}},
		{"4,000 sections of relocations alike", func() craft {
			c := exporting(crafted{name: ".rela.dyn", header: typed(elf.SHT_RELA, 1), data: relocations(690000)})
			c.sections = alike(c.sections, 4000, crafted{name: ".rela.dyn", header: typed(elf.SHT_RELA, 1), as: 3})
			return c
		}},
		{"compressed names", func() craft {
			c := exporting()
			c.sections[1] = compressed(".dynstr", elf.SHT_STRTAB)
			return c
		}},
		{"tables that are their own names", func() craft {
			c := exporting()
			c.sections[0].header.Link, c.sections[1].header.Link = 1, 1
			return c
		}},
		{"entries of a size without end", func() craft {
			c := exporting(crafted{name: ".symtab", header: typed(elf.SHT_SYMTAB, 2), data: entries(1)})
			c.sections[0].header.Entsize, c.sections[2].header.Entsize = 1<<63, 1<<64-1
			return c
		}},
		{"two million functions", func() craft {
			return exporting(crafted{name: ".symtab", header: typed(elf.SHT_SYMTAB, 2), data: entries(2 << 20)})
		}},
	}
}

// onContents returns the files with hostile segments, call frames and lines.
func onContents() []Hostile {
	return []Hostile{
		{"segments on top of each other", func() craft { return overlapping(64, 60*mebibyte) }},
		{"small segments on top of each other", func() craft { return overlapping(64, 16*mebibyte) }},
		{"a segment of a hole", func() craft { return overlapping(1, 1<<40) }},
		{"call frames", func() craft { return program(".eh_frame", frameBomb(16*mebibyte)) }},
		{"call frames for debuggers", func() craft { return program(".debug_frame", frameBomb(60*mebibyte)) }},
		{"line programs", func() craft { return program(".debug_line", bytes.Repeat(lineBomb(6*mebibyte), 10)) }},
		{"compressed lines", func() craft { return exporting(compressed(".debug_line", elf.SHT_PROGBITS)) }},
	}
}
