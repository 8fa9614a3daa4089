package compare

import (
	"cmp"
	"slices"

	"ipytracer/model"
)

// explained is an explanation of a changed cell by a name that it reads.
type explained struct {
	reads []model.DiffRead // the chain of names from the cell back to the reason
	root  int              // the row with the reason
	fits  bool             // the figures of the cells in between agree with the explanation
}

// explain searches the names that a cell reads for the one that best explains why the cell needs or keeps more or less.
func (c *comparison) explain(row int, changed *model.MeterDiff) (best explained, found bool) {
	bytes, _ := ownChange(changed)
	grew := c.grewIn(row, bytes)
	var fitting, others []reading
	for _, r := range slices.Concat(c.b.readings[row], c.a.readings[row]) {
		isInStatement := func(line int) bool { return r.first <= line && line <= r.last }
		if len(grew) > 0 && !slices.ContainsFunc(grew, isInStatement) {
			continue
		}
		if c.fits(r, changed) {
			fitting = append(fitting, r)
		} else if !r.released {
			others = append(others, r)
		}
	}
	candidates := fitting
	if best.fits = len(fitting) > 0; !best.fits {
		candidates = others
	}
	if len(candidates) == 0 {
		return best, false
	}
	rootWeight := func(r reading) int64 { return c.weight(r.value.root().row, changed.Meter) }
	r := slices.MaxFunc(candidates, func(x, y reading) int {
		return cmp.Or(cmp.Compare(rootWeight(x), rootWeight(y)), cmp.Compare(depth(y.value), depth(x.value)))
	})
	l := r.value
	best.root = l.root().row
	for ; l != nil; l = l.from {
		best.reads = append(best.reads, model.DiffRead{Name: l.name, Cell: l.row, InPlace: l.inPlace})
	}
	best.reads[0].Released = r.released
	return best, true
}

// grewIn returns the cell's own lines that made most of the difference, as far as they are known.
func (c *comparison) grewIn(row int, bytes int64) (lines []int) {
	for _, l := range c.d.Cells[row].Lines {
		if l.Cell == row && l.Function == "<module>" && l.Line > 0 && 2*abs(l.Change) >= abs(bytes) &&
			l.Change > 0 == (bytes > 0) {
			lines = append(lines, l.Line)
		}
	}
	return lines
}

// fits reports whether the cells from which a value came changed in the same direction as the reading cell, as far as
// they changed. For a cell that frees memory they must have changed in the opposite direction.
func (c *comparison) fits(r reading, changed *model.MeterDiff) bool {
	bytes, _ := ownChange(changed)
	frees := givesBack(changed)
	if r.released && !frees {
		return false
	}
	wantGrowth := bytes > 0
	if frees {
		wantGrowth = !wantGrowth
	}
	for l := r.value; l != nil; l = l.from {
		change := c.ownChangeOf(l.row, changed.Meter)
		if abs(change) >= max(c.d.Least, 1) && change > 0 != wantGrowth {
			return false
		}
	}
	return true
}

// weight returns the size of the change of a cell's own memory.
func (c *comparison) weight(row int, meter string) int64 { return abs(c.ownChangeOf(row, meter)) }
