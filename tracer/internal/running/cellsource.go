package running

import (
	"bytes"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/ledger"
)

// OpenCell is the known state of a running cell.
type OpenCell struct {
	PID      int32
	File     string        // the file name in its code
	Ran      bool          // a statement of it was seen
	Decided  event.Outcome // at its result; unknown before
	Typed    []byte        // its text as it was typed, as far as it has arrived, in characters of kind bytes
	Kind     uint32
	total    int // bytes of the whole text
	Compiled []byte
	Told     bool // its text has been queued
	Lines    []int32
	Found    *event.CellSource // the text of a cell that already ran
	Inputs   int64             // of the same: see [event.Boundary]
}

// Cells are the running cells of a session, and the data of others that is needed still.
type Cells struct {
	Open   map[uint64]*OpenCell
	Newest uint64               // the greatest number seen
	lines  map[cellFile][]int32 // where the lines of cells' code were typed, if elsewhere
	Past   past                 // the cells that ran before the session
}

// Forget drops the cells that ran in a process as it ended.
func (all *Cells) Forget(pid int32) {
	for number, c := range all.Open {
		if c.PID == pid {
			delete(all.Open, number)
		}
	}
}

// Cell returns a running cell, which it creates at the first mention.
func (all *Cells) Cell(number uint64, pid int32) *OpenCell {
	c := all.Open[number]
	if c == nil {
		if all.Open == nil {
			all.Open = map[uint64]*OpenCell{}
		}
		c = &OpenCell{PID: pid}
		all.Open[number] = c
	}
	return c
}

// Add adds a chunk: of the typed text, then of the compiled text. It returns the text once it is complete.
func (all *Cells) Add(chunk *ledger.SourceChunk) *event.CellSource {
	c := all.Cell(chunk.Cell, chunk.PID)
	if c.Told {
		return nil
	}
	if chunk.Kind != 0 {
		if chunk.Offset == len(c.Typed) { // else one before it is missing
			c.Typed, c.Kind, c.total = append(c.Typed, chunk.Text...), chunk.Kind, chunk.Total
		}
		return nil
	}
	if chunk.Offset != len(c.Compiled) {
		return nil
	}
	c.Compiled = append(c.Compiled, chunk.Text...)
	if bytes.HasSuffix(c.Compiled, []byte{0}) || len(c.Compiled) >= ledger.CompiledLimit {
		return all.Tell(chunk.Cell, c)
	}
	return nil
}

// Tell returns a cell's text: as it was typed if all that is sent has arrived, else as it was compiled.
func (all *Cells) Tell(number uint64, c *OpenCell) *event.CellSource {
	compiled, whole := bytes.CutSuffix(c.Compiled, []byte{0})
	out := &event.CellSource{Cell: number, PID: c.PID, Text: strings.ToValidUTF8(string(compiled), "\ufffd"),
		Truncated: !whole}
	if c.Kind != 0 && len(c.Typed) >= min(c.total, ledger.SourceLimit) {
		typed := ledger.DecodeText(c.Typed, c.Kind)
		if whole {
			c.Lines = TypedLines(out.Text, typed)
		}
		out.Text, out.Truncated = typed, c.total > len(c.Typed)
	}
	c.Told, c.Typed, c.Compiled = true, nil, nil
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
func (all *Cells) keepLines(c *OpenCell) {
	key := cellFile{c.PID, c.File}
	if c.Lines == nil || len(all.lines) >= maxLineMaps {
		delete(all.lines, key)
		return
	}
	if all.lines == nil {
		all.lines = map[cellFile][]int32{}
	}
	all.lines[key] = c.Lines
}

// TypedLine returns the line where a line of a cell's code was typed; lines of other code are unchanged. input is N of
// In[N] if the cell ran before the session, else 0.
func (all *Cells) TypedLine(pid int32, file string, line int32) (at, input int32) {
	lines := all.lines[cellFile{pid, file}]
	before := all.Past.cell(pid, file)
	if before == nil {
		return LineIn(lines, line), 0
	}
	if lines == nil {
		lines = before.lines
	}
	return LineIn(lines, line), before.number
}
