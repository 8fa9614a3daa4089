package compare

import (
	"hash/maphash"
	"strings"

	"ipytracer/model"
)

// Run is one session, reduced to what a comparison needs.
type Run struct {
	report   model.DiffRun
	meters   []string
	cells    []cell
	sessions []session
	gpus     []string

	leftOut          int      // cells for which there was no room
	sources          int      // bytes of the sources
	unseen           []string // reasons why figures or windows are in doubt
	unnamed          []string // reasons why the stacks that allocated are not known in full
	withoutSource    int      // cells without a source
	late             bool
	limits           []string
	interned         map[string]string
	truncatedSources int
	codes            map[uint64]*code
	keptNames        int // names and lines in codes
}

// session has the figures of one traced tree over its whole session.
type session struct {
	command string
	figures []*model.Figure // in the order of Run.meters
}

// cell is one run of a cell.
type cell struct {
	model.DiffCell
	hash    uint64 // of the source as [normal] returns it
	code    *code  // nil without a source, or if the run has no room for its analysis
	figures []*model.Figure
	lines   []line
}

// line is a line that allocated in a cell, with its bytes at the cell's peak of a meter.
type line struct {
	meter     int // in Run.meters
	function  string
	file      string
	number    int
	execution int // the execution of the cell that has the line; 0 for a line of a file
	bytes     int64
}

var seed = maphash.MakeSeed()

// intern returns one copy of each text. The copy shares no memory with the text.
func (run *Run) intern(s string) string {
	if known, ok := run.interned[s]; ok {
		return known
	}
	s = beginning(s, maxSource)
	run.interned[s] = s
	return s
}

// beginning returns a copy of at most limit bytes of the beginning of a text, without invalid UTF-8. A part of the text
// itself would keep the memory of a recording's whole batch.
func beginning(s string, limit int) string {
	return strings.Clone(strings.ToValidUTF8(s[:min(len(s), limit)], ""))
}

// code is the analysis of a source. All runs of the same cell share it.
type code struct {
	lines      []uint64
	statements []statement
}

// statement is a simple statement of a cell, or the head of a compound statement. The statements of its blocks follow
// on their own: names in blocks of if, for and with are in the cell's namespace.
type statement struct {
	first, last int // lines, from 1
	// reads, assigns and changes are names: those that the statement reads, those that it assigns, and those whose
	// values it may change in place, as x[0] = 1, x.y = 1 and x.append(1) do.
	reads, assigns, changes []string
	deletes                 []string
	// calls are the names that a function or a class reads when it is called. The function's name is among assigns.
	calls []string
	text  uint64 // of the statement without white space and comments
}
