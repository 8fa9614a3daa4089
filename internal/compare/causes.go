package compare

import (
	"cmp"
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// causes separates the cells that made the difference from those that follow from them, and from those that are only
// higher or lower because of cells before.
func (c *comparison) causes() {
	var same []int
	for i := range c.d.Cells {
		row := &c.d.Cells[i]
		changed, higher := c.change(row), false
		for k := range row.Meters {
			m := &row.Meters[k]
			higher = higher || row.A != nil && row.B != nil && slices.Contains(c.judged, m.Meter) &&
				abs(m.Peak) >= c.d.Least
		}
		switch {
		case changed != nil && c.isOwn(i, changed):
			c.cause(i, changed, "")
		case changed != nil:
			same = append(same, i)
		case higher:
			row.Consequence, row.Why = true, words.WhyConsequence
		}
	}
	for _, i := range same {
		c.other(i)
	}
	slices.SortStableFunc(c.d.Causes, func(x, y model.Cause) int {
		if x.Edited != y.Edited {
			if x.Edited {
				return -1
			}
			return 1
		}
		return cmp.Compare(largest(&y), largest(&x))
	})
}

// largest returns the largest change of a cause and of the cells that follow from it.
func largest(x *model.Cause) int64 {
	most := abs(x.Bytes)
	for i := range x.Follows {
		most = max(most, abs(x.Follows[i].Bytes))
	}
	return most
}

// isOwn reports whether the source of a cell is the reason why its memory changed. It is for an edited cell unless the
// lines that made the difference are unchanged and read a value that another cell made.
func (c *comparison) isOwn(row int, changed *model.MeterDiff) bool {
	switch c.d.Cells[row].Change {
	case model.Same, model.Moved:
		return false
	case model.Edited:
		bytes, _ := own(changed)
		lines := c.grewIn(row, bytes)
		touched := slices.ContainsFunc(lines, func(line int) bool {
			return slices.ContainsFunc(c.d.Cells[row].Edits, func(e model.Edit) bool {
				return e.B <= line && line < e.B+e.LinesB
			})
		})
		if len(lines) > 0 && !touched && len(c.b.readings[row])+len(c.a.readings[row]) > 0 {
			found, ok := c.explain(row, changed)
			return !ok || !found.fits
		}
	}
	return true
}

// cause adds a cell that made a difference itself.
func (c *comparison) cause(i int, changed *model.MeterDiff, doubt string) {
	row := &c.d.Cells[i]
	bytes, keeps := own(changed)
	why, edited := c.reason(row)
	row.Why = words.Join(why, doubt)
	c.causeOf[i] = len(c.d.Causes)
	c.d.Causes = append(c.d.Causes, model.Cause{Cell: i, Meter: changed.Meter, Bytes: bytes, Edited: edited,
		Why: words.More(row.Change, changed.Meter, bytes, keeps) + "; " + row.Why})
}

// other explains a cell if its source is not the reason: by the function of another cell that made the difference, by
// the names that it reads, or not at all.
func (c *comparison) other(i int) {
	row := &c.d.Cells[i]
	changed := c.change(row)
	bytes, keeps := own(changed)
	more := words.MoreOf(changed.Meter, c.d.Meters[0], bytes, keeps, givesBack(changed))
	if l := c.lineElsewhere(row); l != nil {
		of := &c.d.Cells[l.Cell]
		row.Why = words.WhyLineOf(words.Row(of), of)
		c.follow(l.Cell, model.DiffFollow{Cell: i, Meter: changed.Meter, Bytes: bytes, Why: more + "; " + row.Why})
		return
	}
	found, ok := c.explain(i, changed)
	if !ok {
		c.cause(i, changed, "")
		return
	}
	row.Reads = found.reads
	why := words.WhyReads(c.d, found.reads)
	if !found.fits {
		c.cause(i, changed, words.ButFigures(why))
		return
	}
	row.Why = why
	c.follow(found.root, model.DiffFollow{Cell: i, Meter: changed.Meter, Bytes: bytes, Why: more + ": " + why})
}

// change returns the judged meter of which a cell's own memory changed most; nil where no change was large enough.
func (c *comparison) change(row *model.CellDiff) (most *model.MeterDiff) {
	var best int64
	for k := range row.Meters {
		meter := &row.Meters[k]
		if bytes, _ := own(meter); slices.Contains(c.judged, meter.Meter) && abs(bytes) >= max(c.d.Least, 1) &&
			abs(bytes) > best {
			best, most = abs(bytes), meter
		}
	}
	return most
}

// lineElsewhere returns the line of another cell, edited or new, that made most of a difference; nil for none.
func (c *comparison) lineElsewhere(row *model.CellDiff) *model.LineDiff {
	for i := range row.Lines {
		l := &row.Lines[i]
		if l.Cell >= 0 && abs(l.Change) >= max(c.d.Least, abs(row.Lines[0].Change)/2) &&
			(c.pairs[l.Cell].change == model.Edited || c.pairs[l.Cell].change == model.New) && c.definedIn(*l) {
			return l
		}
	}
	return nil
}

// definedIn reports whether a line is in a function that its cell defines. Other lines of that cell ran before, and
// their memory was there.
func (c *comparison) definedIn(l model.LineDiff) bool {
	return l.Function != "<module>" && l.Function != ""
}

// follow adds a cell to the cause that it follows from, which is added if it is new.
func (c *comparison) follow(root int, f model.DiffFollow) {
	at, known := c.causeOf[root]
	if !known {
		row := &c.d.Cells[root]
		bytes := c.ownOf(root, f.Meter)
		why, _ := c.reason(row)
		row.Why, row.Consequence = why, false
		at = len(c.d.Causes)
		c.causeOf[root] = at
		c.d.Causes = append(c.d.Causes, model.Cause{Cell: root, Meter: f.Meter, Bytes: bytes, Edited: true,
			Why: words.ItselfAsMuch(row.Change) + "; " + why})
	}
	c.d.Causes[at].Follows = append(c.d.Causes[at].Follows, f)
}
