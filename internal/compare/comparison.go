package compare

import (
	"ipytracer/internal/words"
	"ipytracer/model"
	"slices"
)

func abs(n int64) int64 { return max(n, -n) }

// comparison is the state of one comparison.
type comparison struct {
	a, b    *side
	d       *model.Diff
	pairs   []pair
	judged  []string    // the meters of causes and limits
	causeOf map[int]int // index of a row's cause
}

// side is one of the compared runs.
type side struct {
	*Run
	index    []int // of its cell in each row; -1 for none
	rows     map[cellRun]int
	columns  []int             // for each of the comparison's meters the index in the run's; -1 for none
	readings map[int][]reading // by row
}

// cellRun is a run of a cell.
type cellRun struct{ pid, execution int }

// sideOf returns a run with its place in the rows and meters of a comparison.
func sideOf(run *Run, pairs []pair, meters []string, index func(pair) int) *side {
	s := &side{Run: run, rows: map[cellRun]int{}}
	for row, p := range pairs {
		s.index = append(s.index, index(p))
		if one := s.at(row); one != nil {
			s.rows[cellRun{one.PID, one.Execution}] = row
		}
	}
	for _, id := range meters {
		s.columns = append(s.columns, slices.Index(run.meters, id))
	}
	return s
}

// at returns the cell in a row; nil for none.
func (s *side) at(row int) *cell {
	if i := s.index[row]; i >= 0 {
		return &s.cells[i]
	}
	return nil
}

// codeAt returns what is known of the source in a row; nil for nothing.
func (s *side) codeAt(row int) *code {
	if one := s.at(row); one != nil {
		return one.code
	}
	return nil
}

// figure returns the figure of one of the comparison's meters, by its index; nil for none.
func (s *side) figure(all []*model.Figure, meter int) *model.Figure {
	if k := s.columns[meter]; k >= 0 && k < len(all) {
		return all[k]
	}
	return nil
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
