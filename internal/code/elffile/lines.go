package elffile

import (
	"cmp"
	"slices"
	"unsafe"
)

// Lines are read from .debug_line alone (DWARF 2 to 5, section 6.2), which has a program for each unit that gives each
// instruction its line. The standard library's reader is made for files that can be trusted: it allocates memory for as
// many names as a file claims to have.

// Limits for one file.
const (
	maxLines     = 64 << 20 // bytes of .debug_line
	maxSequences = 1 << 19
	maxExecuted  = 8 << 30 // bytes of programs that are executed
)

// Lines finds the source and line of an instruction. Programs and names are read from the file on demand.
type Lines struct {
	sections  lineSections
	sequences []sequence // in order of address
	work      Room       // bytes of programs that may still be executed
}

// sequence is a part of a line program that describes one range of addresses, in order of address.
type sequence struct {
	start, end uint64 // addresses
	unit, at   uint64 // offsets in .debug_line: of the program's header, of the sequence's first opcode
}

// ReadLines finds the sequences of a file's line programs by running every program once. If the file has none,
// ReadLines does so for its debug file.
func ReadLines(f *File, debug Finder, room *Room) *Lines {
	t := readLines(f, room)
	if len(t.sequences) == 0 {
		if d := f.DebugFile(debug); d != nil {
			t = readLines(d, room)
		}
	}
	return t
}

func readLines(f *File, room *Room) *Lines {
	t := &Lines{sections: lineSections{f.extent(".debug_line"), f.extent(".debug_line_str"), f.extent(".debug_str")}}
	if t.sections.line.size <= maxLines {
		t.readAll(room)
	}
	return t
}

func (t *Lines) readAll(room *Room) {
	t.work = Room{maxExecuted}
	for at := uint64(0); at < t.sections.line.size && len(t.sequences) < maxSequences; {
		p, next, ok := t.sections.program(at)
		if next <= at {
			break
		}
		before := len(t.sequences)
		if ok {
			t.index(p)
		}
		if !room.take(uint64(len(t.sequences)-before) * uint64(unsafe.Sizeof(sequence{}))) {
			t.sequences = t.sequences[:before]
			break
		}
		at = next
	}
	slices.SortFunc(t.sequences,
		func(a, b sequence) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.unit, b.unit)) })
}

// index adds the sequences of a program, except those that begin at address 0: the linker has left out their functions.
func (t *Lines) index(p *lineProgram) {
	s := sequence{unit: p.unit, at: p.at()}
	first := true
	p.run(func(r lineRow) bool {
		if first {
			s.start, first = r.address, false
		}
		if r.end {
			if s.end = r.address; s.start != 0 && s.end > s.start && len(t.sequences) < maxSequences {
				t.sequences = append(t.sequences, s)
			}
			s.at, first = p.at(), true
		}
		return true
	})
}

// At returns the source file and the line of an instruction, or "" and 0 if they are not known. The name of the file is
// hostile text.
func (t *Lines) At(vaddr uint64) (file string, line int) {
	i, _ := slices.BinarySearchFunc(t.sequences, vaddr, func(s sequence, at uint64) int {
		if s.start <= at {
			return -1
		}
		return 1
	})
	if i == 0 || vaddr >= t.sequences[i-1].end {
		return "", 0
	}
	s := t.sequences[i-1]
	p, _, ok := t.sections.program(s.unit)
	changed := !ok || s.at < p.at() || s.at > p.end // since ReadLines has read the file
	if changed || !t.work.take(p.end-s.unit) {
		return "", 0
	}
	p.opcodes.Take(s.at - p.at())
	var last lineRow
	p.run(func(r lineRow) bool {
		if r.address > vaddr {
			return false
		}
		last = r
		return !r.end
	})
	if last.line == 0 || last.end {
		return "", 0
	}
	return p.fileName(last.file), int(min(last.line, 1<<31-1))
}
