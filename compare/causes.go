package compare

import (
	"cmp"
	"slices"

	"ipytracer/model"
	"ipytracer/words"
)

// own is by how much a cell's own memory changed: what it needs on top of what stood before it, or what it leaves, whichever changed more.
func own(m *model.MeterDiff) (bytes int64, keeps bool) {
	if abs(m.Consumed) > abs(m.Need) {
		return m.Consumed, true
	}
	return m.Need, false
}

// causes tells the cells that made the difference from those that only stand higher or lower for it.
func (c *comparison) causes() {
	for i := range c.d.Cells {
		row := &c.d.Cells[i]
		changed, higher := c.change(row), false
		for k := range row.Meters {
			m := &row.Meters[k]
			higher = higher || row.A != nil && row.B != nil && slices.Contains(c.judged, m.Meter) && abs(m.Peak) >= c.d.Least
		}
		switch {
		case changed != nil:
			bytes, keeps := own(changed)
			why, edited := c.why(row)
			row.Why = why
			c.d.Causes = append(c.d.Causes, model.Cause{Cell: i, Meter: changed.Meter, Bytes: bytes, Edited: edited, Why: words.More(row.Change, changed.Meter, bytes, keeps) + "; " + why})
		case higher:
			row.Consequence, row.Why = true, words.WhyConsequence
		}
	}
	slices.SortStableFunc(c.d.Causes, func(x, y model.Cause) int {
		if x.Edited != y.Edited {
			if x.Edited {
				return -1
			}
			return 1
		}
		return cmp.Compare(abs(y.Bytes), abs(x.Bytes))
	})
}

// change is the meter, of those that matter, of which a cell's own memory changed most; nil where none did by enough.
func (c *comparison) change(row *model.CellDiff) (most *model.MeterDiff) {
	var best int64
	for k := range row.Meters {
		m := &row.Meters[k]
		if bytes, _ := own(m); slices.Contains(c.judged, m.Meter) && abs(bytes) >= max(c.d.Least, 1) && abs(bytes) > best {
			best, most = abs(bytes), m
		}
	}
	return most
}

// why says why a cell's own memory changed, and whether the source of it, or of the cell whose line made the difference, did.
func (c *comparison) why(row *model.CellDiff) (text string, edited bool) {
	switch row.Change {
	case model.Edited:
		return words.WhyEdited, true
	case model.New:
		return words.WhyNew, true
	case model.Gone:
		return words.WhyGone, true
	}
	for _, l := range row.Lines {
		if l.Cell >= 0 && abs(l.Change) >= max(c.d.Least, abs(row.Lines[0].Change)/2) && (c.pairs[l.Cell].change == model.Edited || c.pairs[l.Cell].change == model.New) && c.definedIn(l) {
			return words.WhyLineOf(words.Row(&c.d.Cells[l.Cell]), c.d.Cells[l.Cell].Change), true
		}
	}
	if row.Change == model.Moved {
		return words.WhyMoved, false
	}
	return words.WhySame, false
}

// definedIn says whether a line is in a function that its cell defines: one of the cell itself stood there before.
func (c *comparison) definedIn(l model.LineDiff) bool {
	return l.Function != "<module>" && l.Function != ""
}
