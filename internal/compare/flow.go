package compare

import (
	"slices"

	"ipytracer/model"
)

// A cell with the same source may need more or less because of a name that it reads: one that an edited cell before it
// made, or that a cell made which itself read such a name. The names are followed through the cells of each kernel in
// the order they ran.

// Bounds of the search.
const (
	maxReadings = 256 // of a cell
	maxCalled   = 256 // names that functions read, of a statement
	maxFollowed = 1 << 16
	maxChain    = 16 // cells from a cause on
)

// flow follows names through the cells of one kernel.
type flow struct {
	values map[string]*link    // names that have another value
	calls  map[string][]string // names that functions read
}

// readings returns, by row, the statements that read values that differ from those of the other run: in B those of
// edited or new cells, in A those of edited or gone ones.
func (c *comparison) readings(of, other *side) map[int][]reading {
	out, flows := map[int][]reading{}, map[int]*flow{}
	var rows []int
	for row, i := range of.index {
		if i >= 0 {
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(x, y int) int { return of.index[x] - of.index[y] })
	for _, row := range rows {
		one := of.at(row)
		if one.code == nil {
			continue
		}
		f := flows[one.PID]
		if f == nil {
			f = &flow{values: map[string]*link{}, calls: map[string][]string{}}
			flows[one.PID] = f
		}
		if all := f.cell(row, one.code, c.seeds(row, one.code, other)); len(all) > 0 {
			out[row] = all
		}
	}
	return out
}

// seeds returns the statements of a cell that differ from those in the other run.
func (c *comparison) seeds(row int, of *code, other *side) map[int]bool {
	switch c.pairs[row].change {
	case model.Edited:
		return changedIn(c.d.Cells[row].Edits, of, other.codeAt(row), other == c.a)
	case model.New, model.Gone:
		all := map[int]bool{}
		for i := range of.statements {
			all[i] = true
		}
		return all
	}
	return nil
}

// cell returns the readings of a cell's statements.
func (f *flow) cell(row int, of *code, seeds map[int]bool) (out []reading) {
	for i := range of.statements {
		s := &of.statements[i]
		found := f.read(s)
		var from *link
		for _, l := range found {
			in := l
			if l.row == row {
				in = l.from
			}
			if from == nil {
				from = l
			}
			if in != nil && len(out) < maxReadings {
				out = append(out, reading{s.first, s.last, in, false})
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

// read returns the links of the names that a statement reads, and that the functions read which it may call.
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

// write updates the names that a statement assigns, changes or deletes.
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
