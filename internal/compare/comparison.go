package compare

import (
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
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
	index    []int             // for each row the index of the run's cell; -1 for none
	rows     map[cellRun]int   // the inverse of index
	columns  []int             // for each meter of the comparison the index among the run's meters; -1 for none
	readings map[int][]reading // by row
}

// cellRun is a run of a cell.
type cellRun struct{ pid, execution int }

// sideOf returns a run with its places in the rows and meters of a comparison.
func sideOf(run *Run, pairs []pair, meters []string, index func(pair) int) *side {
	s := &side{Run: run, rows: map[cellRun]int{}}
	for row, p := range pairs {
		s.index = append(s.index, index(p))
		if cell := s.cellIn(row); cell != nil {
			s.rows[cellRun{cell.PID, cell.Execution}] = row
		}
	}
	for _, id := range meters {
		s.columns = append(s.columns, slices.Index(run.meters, id))
	}
	return s
}

// cellIn returns the run's cell in a row; nil if it has none.
func (s *side) cellIn(row int) *cell {
	if i := s.index[row]; i >= 0 {
		return &s.cells[i]
	}
	return nil
}

// codeIn returns the analysis of the source in a row; nil if there is none.
func (s *side) codeIn(row int) *code {
	if cell := s.cellIn(row); cell != nil {
		return cell.code
	}
	return nil
}

// figure returns the figure of the comparison's meter with an index, out of a window's figures; nil if there is none.
func (s *side) figure(figures []*model.Figure, meter int) *model.Figure {
	if k := s.columns[meter]; k >= 0 && k < len(figures) {
		return figures[k]
	}
	return nil
}

// ownChange returns by how much a cell's own memory changed: what the cell needs on top of the memory before it, or
// what it leaves (keeps), whichever changed more.
func ownChange(meter *model.MeterDiff) (bytes int64, keeps bool) {
	if abs(meter.Consumed) > abs(meter.Need) {
		return meter.Consumed, true
	}
	return meter.Need, false
}

// reason says why a cell's own memory changed. edited is true if the reason is the cell's source.
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

// ownChangeOf returns by how much a cell's own memory changed, of one meter.
func (c *comparison) ownChangeOf(row int, meter string) int64 {
	for k := range c.d.Cells[row].Meters {
		if m := &c.d.Cells[row].Meters[k]; m.Meter == meter {
			bytes, _ := ownChange(m)
			return bytes
		}
	}
	return 0
}

// givesBack reports whether the cell's memory changed most by what it frees: it frees more than it allocates, in both
// runs.
func givesBack(m *model.MeterDiff) bool {
	_, keeps := ownChange(m)
	return keeps && m.A != nil && m.B != nil && m.A.Consumed < 0 && m.B.Consumed < 0
}

// link is a name whose value may differ from that in the other run, judged by the sources.
type link struct {
	name    string
	row     int   // the row of the cell that made the value
	inPlace bool  // the cell did not make the value, but may have changed it in place
	from    *link // the name that the cell read to do so; nil if the cell's own source is the reason
}

// root returns the link whose cell is the reason for the different value.
func (l *link) root() *link {
	for l.from != nil {
		l = l.from
	}
	return l
}

// reading is a statement that reads a name with a different value.
type reading struct {
	first, last int   // lines of the statement
	value       *link // the name
	released    bool  // the statement releases the value
}
