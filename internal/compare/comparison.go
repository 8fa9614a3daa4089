package compare

import (
	"ipytracer/internal/words"
	"ipytracer/model"
	"slices"
)

func abs(n int64) int64 { return max(n, -n) }

// comparison is the state of one comparison.
type comparison struct {
	a, b       *Run
	d          *model.Diff
	pairs      []pair
	judged     []string // the meters of causes and limits
	rowA, rowB map[cellRun]int
	indexA     []int // for each of d's meters the index in a's; -1 for none
	indexB     []int
	inA, inB   map[int][]reading // by row
	causeOf    map[int]int       // index of a row's cause
}

// cellRun is a run of a cell.
type cellRun struct{ pid, execution int }

// place records the row of each run of a cell, and the column of each meter.
func (c *comparison) place() {
	c.rowA, c.rowB = map[cellRun]int{}, map[cellRun]int{}
	for i, p := range c.pairs {
		if p.a >= 0 {
			one := &c.a.cells[p.a]
			c.rowA[cellRun{one.PID, one.Execution}] = i
		}
		if p.b >= 0 {
			one := &c.b.cells[p.b]
			c.rowB[cellRun{one.PID, one.Execution}] = i
		}
	}
	for _, id := range c.d.Meters {
		c.indexA = append(c.indexA, slices.Index(c.a.meters, id))
		c.indexB = append(c.indexB, slices.Index(c.b.meters, id))
	}
}

// own returns the change of a cell's own memory: of the bytes that it needs on top of those before it, or of those that
// it leaves, whichever changed more.
func own(meter *model.MeterDiff) (bytes int64, keeps bool) {
	if abs(meter.Consumed) > abs(meter.Need) {
		return meter.Consumed, true
	}
	return meter.Need, false
}

// reason returns the reason why a cell's own memory changed, and whether that is its source.
func (c *comparison) reason(row *model.CellDiff) (text string, edited bool) {
	switch row.Change {
	case model.Edited:
		return words.WhyEdited + words.EditedIn(row.Edits), true
	case model.New:
		return words.WhyNew, true
	case model.Gone:
		return words.WhyGone, true
	case model.Moved:
		return words.WhyMoved, false
	}
	return words.WhySame, false
}

// ownOf returns the change of a cell's own memory, of one meter.
func (c *comparison) ownOf(row int, meter string) int64 {
	for k := range c.d.Cells[row].Meters {
		if m := &c.d.Cells[row].Meters[k]; m.Meter == meter {
			bytes, _ := own(m)
			return bytes
		}
	}
	return 0
}

// givesBack reports whether a cell frees memory on balance in both runs, more of it or less.
func givesBack(m *model.MeterDiff) bool {
	_, keeps := own(m)
	return keeps && m.A != nil && m.B != nil && m.A.Consumed < 0 && m.B.Consumed < 0
}

// link is a name that has another value than in the other run, as far as the sources show that.
type link struct {
	name    string
	row     int   // of the cell that made it
	inPlace bool  // the cell did not make it, but may have changed it
	from    *link // the name that the cell read for that; nil where its own source is the reason
}

// root returns the link with the reason.
func (l *link) root() *link {
	for l.from != nil {
		l = l.from
	}
	return l
}

// reading is a statement that reads such a name.
type reading struct {
	first, last int
	of          *link
	released    bool // the statement releases the value
}

func (c *comparison) index(row int, ofB bool) int {
	if ofB {
		return c.pairs[row].b
	}
	return c.pairs[row].a
}

func (c *comparison) codeAt(row int, ofB bool) *code {
	run := c.a
	if ofB {
		run = c.b
	}
	if i := c.index(row, ofB); i >= 0 {
		return run.cells[i].code
	}
	return nil
}
