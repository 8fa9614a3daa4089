package compare

import (
	"slices"

	"ipytracer/model"
)

// A cell with the same source may need more or less memory because of a name that it reads. An edited cell bound the
// name to a different value, or a cell did so that itself read such a name. This file follows the names through the
// cells of each kernel, in the order in which they ran.

// Bounds of the search.
const (
	maxReadings = 256 // of a cell
	maxCalled   = 256 // names that functions read, of a statement
	maxFollowed = 1 << 16
	maxChain    = 16 // cells from a cause on
)

// flow follows names through the cells of one kernel.
type flow struct {
	values map[string]*link    // names whose value differs from that in the other run
	calls  map[string][]string // names that functions read, by the function's name
}

// readings returns, by row, the statements of a run that read values different from the other run's. In B these values
// come from edited or new cells, in A from edited or gone ones.
func (c *comparison) readings(run, other *side) map[int][]reading {
	out, flows := map[int][]reading{}, map[int]*flow{}
	var rows []int
	for row, i := range run.index {
		if i >= 0 {
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(x, y int) int { return run.index[x] - run.index[y] })
	for _, row := range rows {
		cell := run.cellIn(row)
		if cell.code == nil {
			continue
		}
		f := flows[cell.PID]
		if f == nil {
			f = &flow{values: map[string]*link{}, calls: map[string][]string{}}
			flows[cell.PID] = f
		}
		if readings := f.readingsOfCell(row, cell.code, c.seeds(row, cell.code, other)); len(readings) > 0 {
			out[row] = readings
		}
	}
	return out
}

// seeds returns the indices of a cell's statements that the other run does not have in this cell.
func (c *comparison) seeds(row int, source *code, other *side) map[int]bool {
	switch c.pairs[row].change {
	case model.Edited:
		return changedIn(c.d.Cells[row].Edits, source, other.codeIn(row), other == c.a)
	case model.New, model.Gone:
		seeds := map[int]bool{}
		for i := range source.statements {
			seeds[i] = true
		}
		return seeds
	}
	return nil
}

// readingsOfCell returns the readings of a cell's statements, and updates the names. seeds are the statements that the
// other run does not have.
func (f *flow) readingsOfCell(row int, source *code, seeds map[int]bool) (out []reading) {
	for i := range source.statements {
		s := &source.statements[i]
		var from *link
		for _, l := range f.read(s) {
			if from == nil {
				from = l
			}
			earlier := l // the link of an earlier cell
			if l.row == row {
				earlier = l.from
			}
			if earlier != nil && len(out) < maxReadings {
				out = append(out, reading{s.first, s.last, earlier, false})
			}
		}
		for _, n := range slices.Concat(s.deletes, s.assigns) {
			if l := f.values[n]; l != nil && l.row != row && len(out) < maxReadings {
				out = append(out, reading{s.first, s.last, l, true})
			}
		}
		f.write(row, s, seeds[i], from)
	}
	return out
}

// read returns the links of the names that a statement reads, and of the names that the functions read which it may
// call.
func (f *flow) read(s *statement) (found []*link) {
	seen, left := map[string]bool{}, slices.Clone(s.reads)
	for len(left) > 0 && len(seen) < maxCalled {
		n := left[0]
		left = left[1:]
		if seen[n] {
			continue
		}
		seen[n] = true
		if l := f.values[n]; l != nil {
			found = append(found, l)
		}
		left = append(left, f.calls[n]...)
	}
	return found
}

// write updates the names that a statement assigns, changes or deletes. from is the first link that it read.
func (f *flow) write(row int, s *statement, isSeed bool, from *link) {
	if from != nil && from.row == row {
		from, isSeed = from.from, isSeed || from.from == nil
	}
	if isSeed || from != nil && depth(from) >= maxChain {
		from = nil
	}
	differs := isSeed || from != nil
	for _, n := range s.assigns {
		delete(f.values, n)
		if delete(f.calls, n); len(s.calls) > 0 && len(f.calls) < maxFollowed {
			f.calls[n] = s.calls
		}
		if differs && len(f.values) < maxFollowed {
			f.values[n] = &link{name: n, row: row, from: from}
		}
	}
	for _, n := range s.changes {
		if known := f.values[n]; differs && (known == nil || isSeed) && len(f.values) < maxFollowed {
			f.values[n] = &link{name: n, row: row, inPlace: true, from: from}
		}
	}
	for _, n := range s.deletes {
		delete(f.values, n)
		delete(f.calls, n)
	}
}

func depth(l *link) (n int) {
	for ; l != nil; l = l.from {
		n++
	}
	return n
}
