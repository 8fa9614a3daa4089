package running

import (
	"bytes"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/cpython"
	"ipytracer/tracer/internal/tracee"
)

// Code is a code object of a traced Python, as it was when it was first in a stack.
type Code struct {
	Name, file string
	firstLine  int32
	table      []byte
	partial    bool // the table is longer
	version    cpython.Version
}

// Codes are the code objects of all targets, by number.
type Codes struct {
	Report  *tracee.Certificate
	All     map[uint64]*Code
	earlier map[uint64]*Code // All as it was at the last call of Forget
	Stacks  int              // number of stacks since then
	tables  int              // bytes of the line tables in All
	full    bool             // there was no room for a table
}

const (
	maxTable  = 4 << 20  // bytes of one line table that is fetched: some hundred thousand lines
	maxTables = 32 << 20 // bytes of all line tables that are kept
)

func (k *Codes) Add(p *tracee.Python, c *ledger.Code) {
	if k.All == nil {
		k.All = map[uint64]*Code{}
	}
	table := wholeTable(p, c)
	if k.tables += len(table); k.tables > maxTables {
		if k.tables -= len(table); !k.full {
			k.full = true
			k.Report.LeavesUnnamed("pid %d has too much code that allocates: not every line is known", c.PID)
		}
		table = nil
	}
	partial := len(table) != c.TableSize
	k.All[c.Number] = &Code{
		Name: strings.ToValidUTF8(c.Name, "?"), file: strings.ToValidUTF8(c.File, "?"), firstLine: c.FirstLine,
		table: table, partial: partial, version: p.Binary.Version(),
	}
}

// wholeTable fetches a line table that was too long for its record, if its beginning is unchanged.
func wholeTable(p *tracee.Python, c *ledger.Code) []byte {
	if c.TableSize <= len(c.Table) || c.TableSize > maxTable {
		return c.Table
	}
	whole := make([]byte, c.TableSize)
	if _, err := p.Memory.ReadAt(whole, int64(c.TableAddress)); err != nil || !bytes.HasPrefix(whole, c.Table) {
		return c.Table
	}
	return whole
}

// Stack returns a stack with its lines as they were typed.
func (k *Codes) Stack(from *ledger.Stack, typed *Cells) *event.Stack {
	k.Stacks++
	out := &event.Stack{Number: from.Number, PID: from.PID, More: from.More,
		Frames: make([]event.Frame, len(from.Frames))}
	for i, f := range from.Frames {
		c := k.codeOf(f.Code)
		if c == nil { // it could not be read, or its record was lost
			out.Frames[i].Function = "?"
			continue
		}
		line := cpython.Line(c.version, c.firstLine, c.table, f.At)
		if c.partial && c.version.Minor <= 9 { // a table of these versions does not show where it ends
			line = 0
		}
		at, input := typed.TypedLine(from.PID, c.file, int32(min(max(line, 0), 1<<31-1)))
		out.Frames[i] = event.Frame{Function: c.Name, File: c.file, Line: at, Input: input}
	}
	return out
}

// manyCodes and manyStacks are a quarter of what the tables of the kernel half hold.
const (
	manyCodes  = 1 << 14
	ManyStacks = 1 << 15
)

// AreFew reports whether there are so few codes and stacks that Forget would gain little.
func (k *Codes) AreFew() bool { return len(k.All) < manyCodes && k.Stacks < ManyStacks }

// Forget begins a new generation of code objects. The last one is kept, because stacks that were sent before refer to
// it.
func (k *Codes) Forget() { *k = Codes{Report: k.Report, earlier: k.All, full: k.full} }

// codeOf returns a code object, nil where it is not known.
func (k *Codes) codeOf(number uint64) *Code {
	if c := k.All[number]; c != nil {
		return c
	}
	return k.earlier[number]
}
