// Package native explains stacks of machine code: the rule that leads from an instruction to its caller, the function
// of an instruction, and, where DWARF is there, its line. Package internal/code/elffile reads that information in
// files; package internal/python/cpython knows Python's frames.
//
// It reads files only, and copies of stacks that somebody else has made; little endian. A file may be anything: sizes,
// counts and depths are bounded, entries that do not fit or make no sense are not known, and nothing panics. Addresses
// are those of the file ("virtual"); add the load bias for a process.
package native

import (
	"io"

	"ipytracer/internal/code/elffile"
)

// Module is an ELF file. It keeps the reader it was opened with, and reads from it when asked. [Module.Rule] and
// [Module.Bias] may be called while another goroutine is in [Module.Place]; nothing else is safe for concurrent use.
type Module struct {
	file      *elffile.File
	processor *processor
	frames    *elffile.Frames
	functions *elffile.Functions // nil until asked for
	lines     *elffile.Lines     // likewise
	debug     elffile.Finder
	room      *elffile.Room
}

// Open parses the headers of an ELF file. debug finds files with debug information below /usr/lib/debug; nil for none.
// Names and lines of the file without room are not known; rules are looked up in the file. The error matches
// [elffile.ErrNotELF].
func Open(file io.ReaderAt, debug elffile.Finder, room *elffile.Room) (*Module, error) {
	f, err := elffile.Open(file)
	if err != nil {
		return nil, err
	}
	m := &Module{file: f, processor: processors[f.Machine()], debug: debug, room: room}
	m.frames = elffile.ReadFrames(f, room)
	return m, nil
}

// Prepared is how much of a file [Module.Prepare] has the kernel read at most, in bytes.
const Prepared = 64 << 20

// Prepare makes the first lookups of rules as fast as later ones: the tables of a library that the process has only
// mapped lie on a disk. It keeps 256 KiB at most, next to nothing of most files. It asks isOver before each read, and
// returns early where that is true. It must have returned before anything else is asked.
func (m *Module) Prepare(isOver func() bool) { m.frames.Prepare(Prepared, m.room, isOver) }

// Bias returns the number that is added to the file's addresses to get those of a process, see [elffile.File.Bias].
func (m *Module) Bias(start, offset uint64) (bias uint64, ok bool) { return m.file.Bias(start, offset) }

// function returns the symbol that covers an address.
func (m *Module) function(vaddr uint64) (name string, ok bool) {
	if m.functions == nil {
		m.functions = elffile.ReadFunctions(m.file, m.frames, m.debug, m.room)
	}
	return m.functions.At(vaddr)
}

// line returns the line of an instruction; "" and 0 if it is not known.
func (m *Module) line(vaddr uint64) (file string, line int) {
	if m.lines == nil {
		m.lines = elffile.ReadLines(m.file, m.debug, m.room)
	}
	return m.lines.At(vaddr)
}
