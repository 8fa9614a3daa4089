// Package native explains stacks of machine code. It finds the rule that leads from an instruction to its caller, the
// instruction's function, and its line if the file has DWARF. Package internal/code/elffile reads that information from
// files; package internal/python/cpython knows Python's frames.
//
// The package reads only files, and copies of stacks that its callers have made. It is for little-endian machines. A
// file may be hostile: sizes, counts and depths are bounded, entries that make no sense count as missing, and nothing
// panics. Addresses are the file's virtual addresses; add the load bias for an address in a process.
package native

import (
	"io"

	"ipytracer/internal/code/elffile"
)

// Module is an ELF file. It keeps the reader that it was opened with, and reads on demand. [Module.Rule] and
// [Module.Bias] may be called while another goroutine is in [Module.Place]; nothing else is safe for concurrent use.
type Module struct {
	file      *elffile.File
	processor *processor
	frames    *elffile.Frames
	functions *elffile.Functions // nil until first used
	lines     *elffile.Lines     // nil until first used
	debug     elffile.Finder
	room      *elffile.Room
}

// Open parses the headers of an ELF file. debug opens files with debug information below /usr/lib/debug; it may be nil.
// room limits the memory for names and lines; rules are read from the file on demand. The error matches
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

// Prepared is how many bytes of a file [Module.Prepare] reads at most.
const Prepared = 64 << 20

// Prepare makes the first lookups of rules as fast as later ones, by reading the tables: those of a library that the
// process has mapped, but not yet used, are still on disk. It keeps at most 256 KiB, and much less of most files.
// Before each read it calls isOver, and returns early if that is true. No other method may be called while it runs.
func (m *Module) Prepare(isOver func() bool) { m.frames.Prepare(Prepared, m.room, isOver) }

// Bias returns the load bias of a process's mapping of the file, see [elffile.File.Bias].
func (m *Module) Bias(start, offset uint64) (bias uint64, ok bool) { return m.file.Bias(start, offset) }

// function returns the symbol that covers an address.
func (m *Module) function(vaddr uint64) (name string, ok bool) {
	if m.functions == nil {
		m.functions = elffile.ReadFunctions(m.file, m.frames, m.debug, m.room)
	}
	return m.functions.At(vaddr)
}

// line returns the source file and the line of an instruction, or "" and 0 if they are not known.
func (m *Module) line(vaddr uint64) (file string, line int) {
	if m.lines == nil {
		m.lines = elffile.ReadLines(m.file, m.debug, m.room)
	}
	return m.lines.At(vaddr)
}
