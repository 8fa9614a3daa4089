package frames

import (
	"fmt"
	"slices"
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
	wording "ipytracer/model/words"
)

// merging finds joins of frames that make too much.
type merging struct{ *book }

// merged is a statement that joins two frames, both of them names.
type merged struct {
	s           *evidence.Statement
	name        string
	call        *syntax.Call
	left, right *syntax.Name
	on          []string
}

// merges finds joins that make more rows than either frame has, and joins of columns that nothing uses.
func (b merging) merges() (found []evidence.Candidate) {
	for _, s := range b.n.Statements {
		m, ok := b.merged(s)
		if !ok || s.Moment == nil {
			continue
		}
		for _, way := range []func(merged) (evidence.Candidate, bool){b.deduplicated, b.chosen, b.multiplied} {
			if c, ok := way(m); ok {
				c.Of = fmt.Sprint("merge ", s.Window.ID)
				found = append(found, c)
				break
			}
		}
	}
	return found
}

// merged reads name = left.merge(right, on=…), and pd.merge(left, right, on=…).
func (b merging) merged(s *evidence.Statement) (m merged, ok bool) {
	name, value := assigned(s.Node)
	if name == "" {
		return m, false
	}
	m = merged{s: s, name: name}
	var left, right syntax.Expr
	if method, object, call := b.method(value); method == "merge" {
		m.call, left, right = call, object, argument(call, 0, "right")
	} else if function, call := b.function(value); function == "merge" {
		m.call, left, right = call, argument(call, 0, "left"), argument(call, 1, "right")
	}
	if m.call == nil || spread(m.call) {
		return m, false
	}
	m.left, _ = left.(*syntax.Name)
	m.right, ok = right.(*syntax.Name)
	m.on, _ = texts(keyword(m.call, "on"))
	return m, ok && m.left != nil && len(m.on) > 0
}

// joined returns the bytes of the rows that the merge made, and their number, from the size of a row of the result.
func (m *merged) rows(f frame) (rows int64) {
	made := by(m.s)
	bytes := m.s.Moment.KeptBytes(func(site *evidence.Site) bool { return made(site) && inManagers(site) })
	return bytes * f.rows / max(1, f.total)
}

// deduplicated finds a merge whose result then loses the rows that are there twice. Where the right frame has such
// rows, they can go before the merge.
func (b merging) deduplicated(m merged) (c evidence.Candidate, ok bool) {
	next := b.next(m.s, m.name)
	if next == nil || next.Moment == nil {
		return c, false
	}
	name, value := assigned(next.Node)
	from, all := b.chain(value)
	if name != m.name || from != m.name || len(all) == 0 || all[0].name != "drop_duplicates" ||
		len(all[0].call.Args) > 0 || keyword(all[0].call, "subset") != nil || keyword(all[0].call, "keep") != nil {
		return c, false
	}
	f, ok := b.frameOf(m.name)
	if !ok {
		return c, false
	}
	rows := m.rows(f)
	if rows < f.rows*5/4 {
		return c, false
	}
	at := m.right.Place().End.Offset
	edits, ok := rewrite(m.s.Cell, change{at, at, ".drop_duplicates()"})
	if !ok {
		return c, false
	}
	gone := 1 - float64(f.rows)/float64(rows)
	result := f.total
	made := by(m.s)
	changes := []string{}
	if !resets(all) {
		changes = append(changes, wording.LabelsChange(m.name))
	}
	return evidence.Candidate{
		Kind: "merge", Cell: m.s.Cell, Line: m.s.Line, Names: []string{m.name}, Accuracy: model.SavesGuess,
		Edits:   edits,
		Title:   wording.MergeTwice(m.name, m.right.ID, rows, f.rows),
		Changes: changes, Unknown: []string{wording.DuplicatesOf(m.right.ID)},
		Falls: func(at *evidence.Moment) int64 {
			switch at.Statement {
			case m.s:
				return share(at.Peak-at.Start, gone)
			case next:
				return share(at.Bytes(made), gone) + share(at.Peak-at.Start-result, gone)
			}
			return share(at.Bytes(made), gone)
		},
	}, true
}

// resets reports whether a chain gives the rows new labels.
func resets(all []operation) bool {
	return slices.ContainsFunc(all, func(o operation) bool {
		return o.name == "reset_index" || o.call != nil && is(keyword(o.call, "ignore_index"), "True")
	})
}

// next returns the first later statement that has a name.
func (b merging) next(s *evidence.Statement, name string) *evidence.Statement {
	for _, one := range b.n.Statements {
		if one.Order > s.Order && (one.Node == nil || mentions(one.Node, name)) {
			return one
		}
	}
	return nil
}

// chosen finds columns of the joined frames that nothing uses.
func (b merging) chosen(m merged) (c evidence.Candidate, ok bool) {
	u := b.usage(m.s, m.name)
	f, ok := b.frameOf(m.name)
	if !ok || u.whole || u.summed {
		return c, false
	}
	used, ok := u.used(f)
	if !ok || len(used) == 0 {
		return c, false
	}
	var changes []change
	var unused []string
	for _, side := range []*syntax.Name{m.left, m.right} {
		keeps, loses, ok := b.sides(side.ID, m, f, u, used)
		if !ok || len(loses) == 0 {
			continue
		}
		var list []string
		for _, column := range keeps {
			q, ok := quoted(m.s.Cell, column)
			if !ok {
				return c, false
			}
			list = append(list, q)
		}
		at := side.Place().End.Offset
		changes = append(changes, change{at, at, "[[" + strings.Join(list, ", ") + "]]"})
		unused = append(unused, loses...)
	}
	saves := int64(0)
	for _, column := range unused {
		if one := f.column(column); one != nil {
			saves += one.Bytes
		} else {
			return c, false // both frames have it, and the result by another name
		}
	}
	if saves == 0 {
		return c, false
	}
	edits, ok := rewrite(m.s.Cell, changes...)
	if !ok {
		return c, false
	}
	c = m.candidate(u, float64(saves)/float64(f.old(u)))
	c.Names, c.Edits = unused, edits
	c.Title = wording.MergeColumns(m.name, unused, saves, b.lengths(m, f))
	if len(u.shown) > 0 {
		c.Changes = append(c.Changes, wording.FrameShown(m.name, placesOf(u.shown)))
	}
	return c, true
}

// candidate returns the advice about a part of the result.
func (m merged) candidate(u *usage, part float64) evidence.Candidate {
	made := by(m.s)
	return evidence.Candidate{
		Kind: "merge", Cell: m.s.Cell, Line: m.s.Line, Names: []string{m.name}, Accuracy: model.SavesBound,
		Falls: func(at *evidence.Moment) int64 {
			return share(at.Bytes(func(site *evidence.Site) bool {
				return (made(site) || site.Statement != nil && u.copies[site.Statement]) && inManagers(site)
			}), part)
		},
	}
}

// sides returns the columns of a joined frame that are needed, in their order, and those that are not; false if not all
// are known.
func (b merging) sides(name string, m merged, result frame, u *usage, used []string) (keeps, loses []string, ok bool) {
	columns, ok := b.columnsAt(name)
	if !ok {
		other := m.left.ID
		if other == name {
			other = m.right.ID
		}
		if columns, ok = b.rest(other, m, result, u); !ok {
			return nil, nil, false
		}
	}
	for _, c := range columns {
		if slices.Contains(m.on, c) || slices.Contains(used, c) {
			keeps = append(keeps, c)
		} else {
			loses = append(loses, c)
		}
	}
	return keeps, loses, true
}

// columnsAt returns the columns of a frame of the session's end; false if not all are known.
func (b merging) columnsAt(name string) (all []string, ok bool) {
	f, ok := b.frameOf(name)
	if !ok || f.v.MoreColumns > 0 {
		return nil, false
	}
	for _, c := range f.v.Columns {
		all = append(all, c.Name)
	}
	return all, true
}

// rest returns the columns of a joined frame that is too small to have them listed: those of the result that the other
// frame does not have.
func (b merging) rest(other string, m merged, result frame, u *usage) (all []string, ok bool) {
	known, ok := b.columnsAt(other)
	if !ok || result.v.MoreColumns > 0 {
		return nil, false
	}
	for _, c := range result.v.Columns {
		if u.isNew(c.Name) || slices.Contains(known, c.Name) && !slices.Contains(m.on, c.Name) {
			continue
		}
		if strings.HasSuffix(c.Name, "_x") || strings.HasSuffix(c.Name, "_y") {
			return nil, false // both frames have it
		}
		all = append(all, c.Name)
	}
	return all, true
}

// lengths returns the rows of the result and of the two frames; nil if a frame is gone.
func (b merging) lengths(m merged, f frame) []int64 {
	left, ok := b.frameOf(m.left.ID)
	right, other := b.frameOf(m.right.ID)
	if !ok || !other {
		return nil
	}
	return []int64{f.rows, left.rows, right.rows}
}

// multiplied finds a merge that made twice as many rows as the longer frame has. Whether these are wanted is not known:
// there is no edit.
func (b merging) multiplied(m merged) (c evidence.Candidate, ok bool) {
	f, ok := b.frameOf(m.name)
	if !ok || f.v.Line != m.s.Line || f.v.Execution != m.s.Cell.Window.Execution {
		return c, false
	}
	rows := b.lengths(m, f)
	if rows == nil || rows[0] < 2*max(rows[1], rows[2]) {
		return c, false
	}
	c = m.candidate(&usage{}, 1-float64(max(rows[1], rows[2]))/float64(rows[0]))
	c.Accuracy = model.SavesGuess
	c.Title = wording.MergeMultiplies(m.name, rows, m.on)
	c.Unknown = []string{wording.RowsWanted()}
	return c, true
}
