package elffile

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"iter"
	"unsafe"
)

// Symbol is a defined dynamic symbol.
type Symbol struct {
	Value, Size uint64
	Function    bool
}

// MaxTable is the size in bytes of the largest table of symbols, of names, or of relocations that is read. The largest
// seen: 1.1 MiB of symbols and 3.1 MiB of names (LLVM 15), 8.9 MiB of relocations.
const MaxTable = 16 << 20

// maxName is the length in bytes of the longest name of a symbol that is read. The longest seen, of a template of
// PyTorch's, has 3,000.
const maxName = 8 << 10

var (
	errNoSymbols  = errors.New("no dynamic symbols")
	errCompressed = errors.New("the section is compressed")
	errTooMuch    = errors.New("the section is larger than any library's")
)

// symbolSize is the size of an Elf64_Sym in bytes.
const symbolSize = 24

// symbols are a symbol table without its first entry, which stands for no symbol, and the table of names.
type symbols struct {
	layout
	data  []byte
	names string
	work  *Room // the bytes of names and entries that may still be read
}

// symbolEntry is an entry of a symbol table.
type symbolEntry struct {
	Symbol
	nameAt  uint32
	defined bool // by the file itself
}

func (l layout) entrySize() int { return l.pick(symbolSize, 16) }

// readSymbols reads the table of dynamic symbols and the table of their names.
func readSymbols(r io.ReaderAt, h *headers, room, work *Room) (symbols, error) {
	table := h.kind(elf.SHT_DYNSYM)
	names := h.linked(table)
	if names == nil {
		return symbols{}, errNoSymbols
	}
	s := symbols{layout: h.layout, work: work}
	data, err := readSection(r, table, room)
	if err != nil {
		return symbols{}, fmt.Errorf("dynamic symbols: %w", err)
	}
	if size := s.entrySize(); len(data) < size || len(data)%size != 0 {
		return symbols{}, fmt.Errorf("%w: a table of %d bytes", errNoSymbols, len(data))
	}
	text, err := readSection(r, names, room)
	if err != nil {
		return symbols{}, fmt.Errorf("names of dynamic symbols: %w", err)
	}
	s.data = data[s.entrySize():]
	s.names = unsafe.String(unsafe.SliceData(text), len(text)) // without a copy: nothing writes to text
	return s, nil
}

// readSection reads a table that is no larger than [MaxTable].
func readSection(r io.ReaderAt, s *section, room *Room) ([]byte, error) {
	switch {
	case s.flags&elf.SHF_COMPRESSED != 0:
		return nil, errCompressed
	case !s.held():
		return nil, errors.New("the section is not in the file")
	case s.size > MaxTable || !room.take(s.size):
		return nil, errTooMuch
	}
	data, err := readTable(r, s.offset, s.size)
	if err != nil {
		return nil, fmt.Errorf("read the section: %w", err)
	}
	return data, nil
}

func (s *symbols) count() int { return len(s.data) / s.entrySize() }

// at returns an entry. Index 0 is the second entry of the file's table, because symbols leaves out the first.
func (s *symbols) at(i int) (e symbolEntry) {
	f := fields{s.layout, s.data[i*s.entrySize():]}
	var info byte
	var index uint16
	e.nameAt = f.short()
	if s.wide {
		info, index = f.data[0], s.order.Uint16(f.data[2:])
		f.skip(4)
		e.Value, e.Size = f.word(), f.word()
	} else {
		e.Value, e.Size = f.word(), f.word()
		info, index = f.data[0], s.order.Uint16(f.data[2:])
	}
	e.defined, e.Function = elf.SectionIndex(index) != elf.SHN_UNDEF, elf.ST_TYPE(info) == elf.STT_FUNC
	return e
}

// name returns the name of an entry, as a part of the table of names. It is "" if the entry has no name, or a name
// longer than maxName. ok is false once too many bytes of names have been read (maxWork).
func (s *symbols) name(e symbolEntry) (name string, ok bool) {
	name = textIn(s.names, e.nameAt, maxName)
	return name, s.work.take(uint64(len(name)) + symbolSize)
}

// named returns an entry and its name, by the entry's number in relocations, which counts the table's first entry.
// known is false if there is no such entry, or as for [symbols.name].
func (s *symbols) named(n int) (e symbolEntry, name string, known bool) {
	if n <= 0 || n > s.count() {
		return e, "", false
	}
	e = s.at(n - 1)
	name, known = s.name(e)
	return e, name, known
}

// all yields the symbols that the file defines, in order, with their names. It ends early once too many bytes of names
// have been read, see [symbols.name].
func (s *symbols) all() iter.Seq2[string, symbolEntry] {
	return func(yield func(string, symbolEntry) bool) {
		for i := range s.count() {
			e := s.at(i)
			if !e.defined {
				continue
			}
			if name, ok := s.name(e); !ok || !yield(name, e) {
				return
			}
		}
	}
}

// Exported returns the dynamic symbols that a file defines, in the order of its table.
func (f *File) Exported() (iter.Seq2[string, Symbol], error) {
	s, err := readSymbols(f.reader, f.headers, &f.room, &f.work)
	if err != nil {
		return nil, err
	}
	return func(yield func(string, Symbol) bool) {
		for name, e := range s.all() {
			if !yield(name, e.Symbol) {
				return
			}
		}
	}, nil
}

// Defines reports whether a file exports a symbol. The file may be for any machine.
func Defines(r io.ReaderAt, name string) bool {
	h, err := readHeaders(r)
	if err != nil {
		return false
	}
	s, err := readSymbols(r, h, &Room{maxHeld}, &Room{maxWork})
	if err != nil {
		return false
	}
	for exported := range s.all() {
		if exported == name {
			return true
		}
	}
	return false
}
