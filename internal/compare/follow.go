package compare

import (
	"cmp"
	"slices"

	"ipytracer/model"
)

// explained has the names that a cell reads that have another value, and whether that fits the figures.
type explained struct {
	reads []model.DiffRead
	root  int // the row with the reason
	fits  bool
}

// explain looks for the name that a cell reads for which it may need or keep more or less.
func (c *comparison) explain(row int, changed *model.MeterDiff) (best explained, found bool) {
	bytes, _ := own(changed)
	grew := c.grewIn(row, bytes)
	var fitting, others []reading
	for _, r := range slices.Concat(c.b.readings[row], c.a.readings[row]) {
		if len(grew) > 0 && !slices.ContainsFunc(grew,
			func(line int) bool { return r.first <= line && line <= r.last }) {
			continue
		}
		if c.fits(r, changed) {
			fitting = append(fitting, r)
		} else if !r.released {
			others = append(others, r)
		}
	}
	all := fitting
	if best.fits = len(fitting) > 0; !best.fits {
		all = others
	}
	if len(all) == 0 {
		return best, false
	}
	r := slices.MaxFunc(all, func(x, y reading) int {
		return cmp.Or(cmp.Compare(c.weight(x.of.root().row, changed.Meter), c.weight(y.of.root().row, changed.Meter)),
			cmp.Compare(depth(y.of), depth(x.of)))
	})
	l := r.of
	best.root = l.root().row
	for ; l != nil; l = l.from {
		best.reads = append(best.reads, model.DiffRead{Name: l.name, Cell: l.row, InPlace: l.inPlace})
	}
	best.reads[0].Released = r.released
	return best, true
}

// grewIn returns the lines of the cell itself that made most of the difference, where that is known.
func (c *comparison) grewIn(row int, bytes int64) (lines []int) {
	for _, l := range c.d.Cells[row].Lines {
		if l.Cell == row && l.Function == "<module>" && l.Line > 0 && 2*abs(l.Change) >= abs(bytes) &&
			l.Change > 0 == (bytes > 0) {
			lines = append(lines, l.Line)
		}
	}
	return lines
}

// fits reports whether the cells that a value came from changed in the same direction, as far as they changed; in the
// opposite direction for a cell that frees memory.
func (c *comparison) fits(r reading, changed *model.MeterDiff) bool {
	bytes, _ := own(changed)
	gives := givesBack(changed)
	if r.released && !gives {
		return false
	}
	for l := r.of; l != nil; l = l.from {
		if by := c.ownOf(l.row, changed.Meter); abs(by) >= max(c.d.Least, 1) && by > 0 != (bytes > 0 != gives) {
			return false
		}
	}
	return true
}

func (c *comparison) weight(row int, meter string) int64 { return abs(c.ownOf(row, meter)) }
