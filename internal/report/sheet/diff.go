package sheet

import (
	"path"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Diff shows the growth and its reason, the cells that caused it, those that follow, and its certainty.
func Diff(d *model.Diff, o Options) *doc.Document {
	v := compared{newLayout("Memory: A → B", o)}
	v.On(doc.Page)
	v.page(d)
	v.On(doc.Terminal)
	v.diffRun("A", &d.A)
	v.diffRun("B", &d.B)
	v.Blank()
	for i := range d.Whole {
		v.diffWhole(d, &d.Whole[i], len(d.Whole) > 1)
	}
	v.diffCauses(d)
	v.diffCells(d)
	v.diffTimes(d)
	v.judged(d.Judged)
	v.doubts(d.Doubts)
	return v.Document
}

func (v compared) diffRun(name string, r *model.DiffRun) {
	spans := []doc.Span{doc.Bold(name + "  "), doc.Plain(escape.Bounded(path.Base(r.File), maxName*2)),
		doc.Dim(" · " + words.Plural(r.Cells, "cell") + " in " + words.Duration(r.DurationNS)),
	}
	for _, one := range [][2]string{{"Python ", r.Python}, {"IPython ", r.IPython}} {
		if one[1] != "" {
			spans = append(spans, doc.Dim(" · "+one[0]+escape.Bounded(one[1], maxName)))
		}
	}
	v.Prose("   ", spans)
}

// diffWhole shows the peaks of the sessions, and their cells.
func (v compared) diffWhole(d *model.Diff, one *model.WholeDiff, several bool) {
	if several {
		v.Prose("", doc.Bold(escape.Bounded(one.Command, maxName*2)))
	}
	for i := range one.Meters {
		m := &one.Meters[i]
		if i > 0 && (words.IsPart(m.Meter) || abs(m.Peak) < d.Least) {
			continue
		}
		parts := []doc.Span{doc.In(doc.Change(m.Peak), "peak "+fromTo(m.A, m.B, words.Highest, m.Peak))}
		if m.Meter == d.Meters[0] {
			where := ""
			if one.PeakA != nil {
				where = "in " + cellOf(d.Cells[*one.PeakA].A)
			}
			if one.PeakB != nil {
				where += " → in " + cellOf(d.Cells[*one.PeakB].B)
			}
			parts = append(parts, doc.Dim(where))
		}
		v.Field(words.Meter(m.Meter), parts)
	}
}

// cellOf returns the name of a cell of one run for people.
func cellOf(x *model.DiffCell) string {
	if x == nil {
		return "no cell"
	}
	return words.Row(&model.CellDiff{B: x})
}

func (v compared) diffCauses(d *model.Diff) {
	for i := range d.Causes[:min(len(d.Causes), maxDiffCauses)] {
		c := &d.Causes[i]
		name := "cause"
		if i > 0 {
			name = "and"
		}
		row := &d.Cells[c.Cell]
		v.Field(name, doc.Bold(words.Row(row)+" "+row.Change), c.Why,
			doc.Dim(escape.OneLine(editedLine(row), false, 60)))
		v.diffFollows(d, c, maxDiffCauses)
	}
	if n := len(d.Causes) - maxDiffCauses; n > 0 {
		v.Field("and", words.Plural(n, "more cell"))
	}
	if len(d.Causes) == 0 {
		v.noCause(d)
	}
}

// diffFollows names the cells that follow from a cause, and the names that they read.
func (v compared) diffFollows(d *model.Diff, c *model.Cause, most int) {
	for i := range c.Follows[:min(len(c.Follows), most)] {
		f := &c.Follows[i]
		v.Field("  so", escape.OneLine(words.Row(&d.Cells[f.Cell])+" "+f.Why, false, maxProse))
	}
	if n := len(c.Follows) - most; n > 0 {
		v.Field("  so", words.Plural(n, "more cell"))
	}
}

// editedLine returns the first line of an edited cell, if it is known; the source of another cell.
func editedLine(row *model.CellDiff) string {
	if len(row.Edits) == 0 || row.Edits[0].LinesB == 0 {
		return sourceOfRow(row)
	}
	number := row.Edits[0].B
	for l := range strings.Lines(row.B.Source) {
		if number--; number == 0 {
			return strings.TrimSpace(l)
		}
	}
	return sourceOfRow(row)
}

// diffCells shows the causes, one after another, and then the cells that follow from the causes.
func (v compared) diffCells(d *model.Diff) {
	most := v.o.Cells
	if most == 0 {
		most = maxDiffCells
	}
	if v.o.Full {
		most = len(d.Cells)
	}
	if len(d.Causes) > 0 {
		v.Heading("Cells that made the difference, A → B")
	}
	for i := range d.Causes[:min(len(d.Causes), most)] {
		v.diffCell(d, &d.Cells[d.Causes[i].Cell])
		v.diffFollowing(d, &d.Causes[i], most)
	}
	if n := len(d.Causes) - most; n > 0 {
		v.Note("… and %s; --full prints all.", words.Plural(n, "more cell"))
	}
	v.diffOthers(d, most)
}

// diffOthers lists the cells with hardly any change of their own.
func (v compared) diffOthers(d *model.Diff, most int) {
	var follow, moved, quiet []int
	for i := range d.Cells {
		row := &d.Cells[i]
		switch {
		case row.Consequence:
			follow = append(follow, i)
		case row.Why != "":
		case row.Change == model.Moved:
			moved = append(moved, i)
		case row.Change != model.Same:
			quiet = append(quiet, i)
		}
	}
	if len(follow) > 0 {
		v.Heading("Higher or lower only because of what stood before")
		v.diffList(d, follow, most)
	}
	if len(quiet)+len(moved) > 0 {
		v.Heading("Edited, new, gone and moved without a change of " + words.Bytes(d.Least) + " or more")
		v.diffList(d, append(quiet, moved...), most)
	}
}

// diffList prints a line for each of some cells.
func (v compared) diffList(d *model.Diff, rows []int, most int) {
	t := doc.NewTable(doc.Left("cell"), doc.Left(""), doc.Right(words.Meter(d.Meters[0])+" peak"), doc.Right("need"),
		doc.Flex("source"))
	for _, i := range rows[:min(len(rows), most)] {
		row := &d.Cells[i]
		peak, needs := "–", "–"
		if m := of(row, d.Meters[0]); m != nil {
			peak, needs = words.Change(m.Peak), words.Change(m.Need)
		}
		t.Row(words.Row(row), row.Change, peak, needs,
			escape.Lines(sourceOfRow(row), false, maxLead))
	}
	v.Table(t)
	if n := len(rows) - most; n > 0 {
		v.Note("… and %s; --full prints all.", words.Plural(n, "more cell"))
	}
}
