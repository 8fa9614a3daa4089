package tracer

import (
	"bytes"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/ledger"
)

// openCell is the known state of a running cell.
type openCell struct {
	pid      int32
	file     string        // the file name in its code
	ran      bool          // a statement of it was seen
	decided  event.Outcome // at its result; unknown before
	typed    []byte        // its text as it was typed, as far as it has arrived, in characters of kind bytes
	kind     uint32
	total    int // bytes of the whole text
	compiled []byte
	told     bool // its text has been queued
	lines    []int32
	found    *event.CellSource // the text of a cell that already ran
	inputs   int64             // of the same: see [event.Boundary]
}

// cells are the running cells of a session, and the data of others that is needed still.
type cells struct {
	open   map[uint64]*openCell
	newest uint64               // the greatest number seen
	lines  map[cellFile][]int32 // where the lines of cells' code were typed, if elsewhere
	past   past                 // the cells that ran before the session
}

// forget drops the cells that ran in a process as it ended.
func (all *cells) forget(pid int32) {
	for number, c := range all.open {
		if c.pid == pid {
			delete(all.open, number)
		}
	}
}

// cell returns a running cell, which it creates at the first mention.
func (all *cells) cell(number uint64, pid int32) *openCell {
	c := all.open[number]
	if c == nil {
		if all.open == nil {
			all.open = map[uint64]*openCell{}
		}
		c = &openCell{pid: pid}
		all.open[number] = c
	}
	return c
}

// add adds a chunk: of the typed text, then of the compiled text. It returns the text once it is complete.
func (all *cells) add(chunk *ledger.SourceChunk) *event.CellSource {
	c := all.cell(chunk.Cell, chunk.PID)
	if c.told {
		return nil
	}
	if chunk.Kind != 0 {
		if chunk.Offset == len(c.typed) { // else one before it is missing
			c.typed, c.kind, c.total = append(c.typed, chunk.Text...), chunk.Kind, chunk.Total
		}
		return nil
	}
	if chunk.Offset != len(c.compiled) {
		return nil
	}
	c.compiled = append(c.compiled, chunk.Text...)
	if bytes.HasSuffix(c.compiled, []byte{0}) || len(c.compiled) >= ledger.CompiledLimit {
		return all.tell(chunk.Cell, c)
	}
	return nil
}

// tell returns a cell's text: as it was typed if all that is sent has arrived, else as it was compiled.
func (all *cells) tell(number uint64, c *openCell) *event.CellSource {
	compiled, whole := bytes.CutSuffix(c.compiled, []byte{0})
	out := &event.CellSource{Cell: number, PID: c.pid, Text: strings.ToValidUTF8(string(compiled), "\ufffd"),
		Truncated: !whole}
	if c.kind != 0 && len(c.typed) >= min(c.total, ledger.SourceLimit) {
		typed := ledger.DecodeText(c.typed, c.kind)
		if whole {
			c.lines = typedLines(out.Text, typed)
		}
		out.Text, out.Truncated = typed, c.total > len(c.typed)
	}
	c.told, c.typed, c.compiled = true, nil, nil
	all.keepLines(c)
	if out.Text == "" && out.Truncated {
		return nil
	}
	return out
}

// cellFile is a file name that the code of a process's cells has.
type cellFile struct {
	pid  int32
	name string
}

// maxLineMaps is the most cells with remembered lines. Few have lines that were typed elsewhere.
const maxLineMaps = 4096

// keepLines remembers where the lines of a cell's code were typed, for the stacks that go through it.
func (all *cells) keepLines(c *openCell) {
	key := cellFile{c.pid, c.file}
	if c.lines == nil || len(all.lines) >= maxLineMaps {
		delete(all.lines, key)
		return
	}
	if all.lines == nil {
		all.lines = map[cellFile][]int32{}
	}
	all.lines[key] = c.lines
}

// typedLine returns the line where a line of a cell's code was typed; lines of other code are unchanged. input is N of
// In[N] if the cell ran before the session, else 0.
func (all *cells) typedLine(pid int32, file string, line int32) (at, input int32) {
	lines := all.lines[cellFile{pid, file}]
	before := all.past.cell(pid, file)
	if before == nil {
		return lineIn(lines, line), 0
	}
	if lines == nil {
		lines = before.lines
	}
	return lineIn(lines, line), before.number
}
