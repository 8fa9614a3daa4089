package compare

import (
	"cmp"
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// causes finds the cells that made the difference themselves, and the cells that follow from one of them. Cells that
// are higher or lower only because of the memory of earlier cells are marked as consequences.
func (c *comparison) causes() {
	var unexplained []int
	for i := range c.d.Cells {
		row := &c.d.Cells[i]
		changed := c.largestOwnChange(row)
		switch {
		case changed != nil && c.isOwnCause(i, changed):
			c.addCause(i, changed, "")
		case changed != nil:
			unexplained = append(unexplained, i)
		case c.hasOtherPeak(row):
			row.Consequence, row.Why = true, words.WhyConsequence
		}
	}
	for _, i := range unexplained {
		c.explainUnchanged(i)
	}
	slices.SortStableFunc(c.d.Causes, func(x, y model.Cause) int {
		if x.Edited != y.Edited {
			if x.Edited {
				return -1
			}
			return 1
		}
		return cmp.Compare(largestChange(&y), largestChange(&x))
	})
}

// hasOtherPeak reports whether the peak of a judged meter differs in a cell that both runs have.
func (c *comparison) hasOtherPeak(row *model.CellDiff) bool {
	if row.A == nil || row.B == nil {
		return false
	}
	return slices.ContainsFunc(row.Meters, func(m model.MeterDiff) bool {
		return slices.Contains(c.judged, m.Meter) && abs(m.Peak) >= c.d.Least
	})
}

// largestChange returns the largest change, in bytes, of a cause and of the cells that follow from it.
func largestChange(x *model.Cause) int64 {
	most := abs(x.Bytes)
	for i := range x.Follows {
		most = max(most, abs(x.Follows[i].Bytes))
	}
	return most
}

// isOwnCause reports whether a cell's own source is the reason why its memory changed. That is so for an edited cell,
// unless the lines that made the difference are unchanged and read a value that another cell made.
func (c *comparison) isOwnCause(row int, changed *model.MeterDiff) bool {
	switch c.d.Cells[row].Change {
	case model.Same, model.Moved:
		return false
	case model.Edited:
		bytes, _ := ownChange(changed)
		lines := c.grewIn(row, bytes)
		hasEditedLine := slices.ContainsFunc(lines, func(line int) bool {
			return slices.ContainsFunc(c.d.Cells[row].Edits, func(e model.Edit) bool {
				return e.B <= line && line < e.B+e.LinesB
			})
		})
		readsOtherValue := len(c.b.readings[row])+len(c.a.readings[row]) > 0
		if len(lines) > 0 && !hasEditedLine && readsOtherValue {
			found, ok := c.explain(row, changed)
			return !ok || !found.fits
		}
	}
	return true
}

// addCause adds a cell that made a difference itself. doubt is a further sentence, or "".
func (c *comparison) addCause(i int, changed *model.MeterDiff, doubt string) {
	row := &c.d.Cells[i]
	bytes, keeps := ownChange(changed)
	why, edited := c.reason(row)
	row.Why = words.Join(why, doubt)
	c.causeOf[i] = len(c.d.Causes)
	c.d.Causes = append(c.d.Causes, model.Cause{Cell: i, Meter: changed.Meter, Bytes: bytes, Edited: edited,
		Why: words.More(row.Change, changed.Meter, bytes, keeps) + "; " + row.Why})
}

// explainUnchanged explains a cell whose own source is not the reason: by a function of another cell that made the
// difference, or by the names that the cell reads. If neither fits, it adds the cell as a cause.
func (c *comparison) explainUnchanged(i int) {
	row := &c.d.Cells[i]
	changed := c.largestOwnChange(row)
	bytes, keeps := ownChange(changed)
	more := words.MoreOf(changed.Meter, c.d.Meters[0], bytes, keeps, givesBack(changed))
	if l := c.lineElsewhere(row); l != nil {
		cell := &c.d.Cells[l.Cell]
		row.Why = words.WhyLineOf(words.Row(cell), cell)
		c.addFollow(l.Cell, model.DiffFollow{Cell: i, Meter: changed.Meter, Bytes: bytes, Why: more + "; " + row.Why})
		return
	}
	found, ok := c.explain(i, changed)
	if !ok {
		c.addCause(i, changed, "")
		return
	}
	row.Reads = found.reads
	why := words.WhyReads(c.d, found.reads)
	if !found.fits {
		c.addCause(i, changed, words.ButFigures(why))
		return
	}
	row.Why = why
	c.addFollow(found.root, model.DiffFollow{Cell: i, Meter: changed.Meter, Bytes: bytes, Why: more + ": " + why})
}

// largestOwnChange returns the judged meter of which the cell's own memory changed most; nil if no change was large
// enough.
func (c *comparison) largestOwnChange(row *model.CellDiff) (most *model.MeterDiff) {
	var best int64
	for k := range row.Meters {
		meter := &row.Meters[k]
		if bytes, _ := ownChange(meter); slices.Contains(c.judged, meter.Meter) && abs(bytes) >= max(c.d.Least, 1) &&
			abs(bytes) > best {
			best, most = abs(bytes), meter
		}
	}
	return most
}

// lineElsewhere returns a line of another cell, edited or new, that made most of the difference; nil if there is none.
func (c *comparison) lineElsewhere(row *model.CellDiff) *model.LineDiff {
	for i := range row.Lines {
		l := &row.Lines[i]
		if l.Cell < 0 || abs(l.Change) < max(c.d.Least, abs(row.Lines[0].Change)/2) {
			continue
		}
		change := c.pairs[l.Cell].change
		if (change == model.Edited || change == model.New) && isInFunction(l) {
			return l
		}
	}
	return nil
}

// isInFunction reports whether a line is in a function. Another cell's lines outside of functions ran before: their
// memory was there already.
func isInFunction(l *model.LineDiff) bool {
	return l.Function != "<module>" && l.Function != ""
}

// addFollow adds a cell to the cause from which it follows. It adds the cause, too, if that is new.
func (c *comparison) addFollow(root int, f model.DiffFollow) {
	at, known := c.causeOf[root]
	if !known {
		row := &c.d.Cells[root]
		bytes := c.ownChangeOf(root, f.Meter)
		why, _ := c.reason(row)
		row.Why, row.Consequence = why, false
		at = len(c.d.Causes)
		c.causeOf[root] = at
		c.d.Causes = append(c.d.Causes, model.Cause{Cell: root, Meter: f.Meter, Bytes: bytes, Edited: true,
			Why: words.ItselfAsMuch(row.Change) + "; " + why})
	}
	c.d.Causes[at].Follows = append(c.d.Causes[at].Follows, f)
}
