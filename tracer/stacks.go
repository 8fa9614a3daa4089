package tracer

import (
	"bytes"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/cpython"
)

// code is a code object of a traced Python, as it was when it was first in a stack.
type code struct {
	name, file string
	firstLine  int32
	table      []byte
	partial    bool // the table is longer
	version    cpython.Version
}

// codes are the code objects of all targets, by number.
type codes struct {
	report *certificate
	all    map[uint64]*code
	before map[uint64]*code // those of before stacks were last forgotten
	stacks int              // since then
	tables int              // bytes of their line tables
	full   bool             // there was no room for a table
}

// Limits in bytes: of one line table that is fetched, some hundred thousand lines; and of all that are kept.
const (
	maxTable  = 4 << 20
	maxTables = 32 << 20
)

func (k *codes) add(p *python, c *ledger.Code) {
	if k.all == nil {
		k.all = map[uint64]*code{}
	}
	table := p.wholeTable(c)
	if k.tables += len(table); k.tables > maxTables {
		if k.tables -= len(table); !k.full {
			k.full = true
			k.report.leavesUnnamed("pid %d has too much code that allocates: not every line is known", c.PID)
		}
		table = nil
	}
	partial := len(table) != c.TableSize
	k.all[c.Number] = &code{
		name: strings.ToValidUTF8(c.Name, "?"), file: strings.ToValidUTF8(c.File, "?"), firstLine: c.FirstLine,
		table: table, partial: partial, version: p.binary.Version(),
	}
}

// wholeTable fetches a line table that was too long for its record, if its beginning is unchanged.
func (p *python) wholeTable(c *ledger.Code) []byte {
	if c.TableSize <= len(c.Table) || c.TableSize > maxTable {
		return c.Table
	}
	whole := make([]byte, c.TableSize)
	if _, err := p.memory.ReadAt(whole, int64(c.TableAddress)); err != nil || !bytes.HasPrefix(whole, c.Table) {
		return c.Table
	}
	return whole
}

// stack returns a stack with its lines as they were typed.
func (k *codes) stack(from *ledger.Stack, typed *cells) *event.Stack {
	k.stacks++
	out := &event.Stack{Number: from.Number, PID: from.PID, More: from.More,
		Frames: make([]event.Frame, len(from.Frames))}
	for i, f := range from.Frames {
		c := k.of(f.Code)
		if c == nil { // it could not be read, or its record was lost
			out.Frames[i].Function = "?"
			continue
		}
		line := cpython.Line(c.version, c.firstLine, c.table, f.At)
		if c.partial && c.version.Minor <= 9 { // such a table does not say where it ends
			line = 0
		}
		at, input := typed.typedLine(from.PID, c.file, int32(min(max(line, 0), 1<<31-1)))
		out.Frames[i] = event.Frame{Function: c.name, File: c.file, Line: at, Input: input}
	}
	return out
}
