package compare

import (
	"hash/maphash"
	"ipytracer/model"
	"strings"
)

// Run is one session, as far as it is compared.
type Run struct {
	report   model.DiffRun
	meters   []string
	cells    []cell
	sessions []session
	gpus     []string

	left, sources    int      // cells that had no room; bytes
	unseen           []string // reasons why figures or windows are in doubt
	unnamed          []string // reasons why the stacks that allocated are not known in full
	bare             int      // cells without a source
	late             bool
	limits           []string
	interned         map[string]string
	truncatedSources int
	codes            map[uint64]*code
	kept             int // names and lines in codes
}

// session has the figures of one traced tree in all.
type session struct {
	command string
	figures []*model.Figure // in the order of Run.meters
}

// cell is a run of a cell.
type cell struct {
	model.DiffCell
	hash    uint64 // of the source, white space apart
	code    *code  // nil where nothing is known of it
	figures []*model.Figure
	lines   []line
}

// line has the bytes of one line at the peak of a meter in a cell that it allocated in.
type line struct {
	meter     int // in Run.meters
	function  string
	file      string
	number    int
	execution int // the cell of the line, 0 for a file's
	bytes     int64
}

var seed = maphash.MakeSeed()

// intern returns one copy of each text, separate from the text that it was a part of.
func (run *Run) intern(s string) string {
	if known, ok := run.interned[s]; ok {
		return known
	}
	s = beginning(s, maxSource)
	run.interned[s] = s
	return s
}

// beginning returns a copy of the beginning of a text, without bytes that are no characters. The memory of a
// recording's text is freed with its batch, so a part of it must not keep it.
func beginning(s string, most int) string {
	return strings.Clone(strings.ToValidUTF8(s[:min(len(s), most)], ""))
}

// code is the analysis of a source: runs of the same cell share it.
type code struct {
	lines      []uint64
	statements []statement
}

// statement is a simple statement of a cell, or the head of a block of one: the names in if, for, with and similar
// blocks are in the cell's own namespace.
type statement struct {
	first, last int // lines, from 1
	// The names that the statement reads, those that it assigns, and those whose values it may change in place:
	// x[0] = 1, x.y = 1, or a call of a method that is the whole statement, x.append(1).
	reads, assigns, changes []string
	deletes                 []string
	// calls are the names that a function or a class reads when it is called, by a name that is among assigns.
	calls []string
	text  uint64 // of the statement without white space and comments
}
