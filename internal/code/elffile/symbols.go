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

// MaxTable bounds the bytes of a table of symbols, of names, or of relocations. The largest tables seen in the
// libraries that are looked through: 1.1 MiB of symbols and 3.1 MiB of names (LLVM 15), 8.9 MiB of relocations.
const MaxTable = 16 << 20

// maxName bounds the name of a symbol in bytes. The longest seen, of a template of PyTorch's, has 3,000.
const maxName = 8 << 10

var (
	errNoSymbols  = errors.New("no dynamic symbols")
	errCompressed = errors.New("compressed, as no linker writes it")
	errTooMuch    = errors.New("larger than in any library that is known")
)

// symbolSize is the size of an Elf64_Sym in bytes.
const symbolSize = 24

// symbols are a symbol table, without its first entry, and the table of their names.
type symbols struct {
	layout
	data  []byte
	names string
	work  *Room // how many bytes of names may still be looked at
}

// symbolEntry is an entry of a table of symbols.
type symbolEntry struct {
	Symbol
	nameAt  uint32
	defined bool // by the file itself
}

func (l layout) entrySize() int { return l.pick(symbolSize, 16) }

// readSymbols reads the table of dynamic symbols, and the table of their names. It finds the first by its kind, and the
// second by the first one's link.
func readSymbols(r io.ReaderAt, h *headers, room, work *Room) (symbols, error) {
	table := h.kind(elf.SHT_DYNSYM)
	names := h.linked(table)
	if names == nil {
		return symbols{}, errNoSymbols
	}
	s := symbols{layout: h.layout, work: work}
	data, err := readSection(r, table, room)
	if err != nil {
		return symbols{}, fmt.Errorf("its dynamic symbols are %w", err)
	}
	if size := s.entrySize(); len(data) < size || len(data)%size != 0 {
		return symbols{}, fmt.Errorf("%w: a table of %d bytes", errNoSymbols, len(data))
	}
	text, err := readSection(r, names, room)
	if err != nil {
		return symbols{}, fmt.Errorf("the names of its dynamic symbols are %w", err)
	}
	s.data, s.names = data[s.entrySize():], unsafe.String(unsafe.SliceData(text), len(text)) // no one writes to it
	return s, nil
}

// readSection reads a table that is no larger than [MaxTable].
func readSection(r io.ReaderAt, s *section, room *Room) ([]byte, error) {
	switch {
	case s.flags&elf.SHF_COMPRESSED != 0:
		return nil, errCompressed
	case !s.held():
		return nil, errors.New("not in the file")
	case s.size > MaxTable || !room.take(s.size):
		return nil, errTooMuch
	}
	data, err := readTable(r, s.offset, s.size)
	if err != nil {
		return nil, fmt.Errorf("not to be read: %w", err)
	}
	return data, nil
}

func (s *symbols) count() int { return len(s.data) / s.entrySize() }

// at returns an entry of the table by its index. Index 0 is the second entry of the file's table: the first entry of
// that is left out.
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

// name returns the name of an entry. The name is a part of the table of names. It is "" where the entry has no name, or
// one that is longer than any known name. ok is false once more bytes of names have been looked at than any file has.
func (s *symbols) name(e symbolEntry) (name string, ok bool) {
	name = textIn(s.names, e.nameAt, maxName)
	return name, s.work.take(uint64(len(name)) + symbolSize)
}

// named returns the name and the value of an entry by the entry's number in relocations. It fails as [symbols.name]
// does.
func (s *symbols) named(n int) (e symbolEntry, name string, known bool) {
	if n <= 0 || n > s.count() {
		return e, "", false
	}
	e = s.at(n - 1)
	name, known = s.name(e)
	return e, name, known
}

// all yields the symbols that the file defines, in order, with their names. It ends early once too many bytes of names
// have been looked at (see [symbols.name]).
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

// Exported returns the dynamic symbols that a file defines, in the order of its table. The error says why none are
// known.
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

// Defines reports whether a file, for whichever machine, exports a symbol.
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
