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
func Diff(diff *model.Diff, options Options) *doc.Document {
	v := compared{newLayout("Memory: A → B", options)}
	v.On(doc.Page)
	v.page(diff)
	v.On(doc.Terminal)
	v.diffRun("A", &diff.A)
	v.diffRun("B", &diff.B)
	v.Blank()
	for i := range diff.Whole {
		v.diffWhole(diff, &diff.Whole[i], len(diff.Whole) > 1)
	}
	v.diffCauses(diff)
	v.diffCells(diff)
	v.diffTimes(diff)
	v.judged(diff.Judged)
	v.doubts(diff.Doubts)
	return v.Document
}

func (v compared) diffRun(name string, run *model.DiffRun) {
	spans := []doc.Span{doc.Bold(name + "  "), doc.Plain(escape.Bounded(path.Base(run.File), maxName*2)),
		doc.Dim(" · " + words.Plural(run.Cells, "cell") + " in " + words.Duration(run.DurationNS)),
	}
	for _, one := range [][2]string{{"Python ", run.Python}, {"IPython ", run.IPython}} {
		if one[1] != "" {
			spans = append(spans, doc.Dim(" · "+one[0]+escape.Bounded(one[1], maxName)))
		}
	}
	v.Prose("   ", spans)
}

// diffWhole shows the peaks of the sessions, and their cells.
func (v compared) diffWhole(diff *model.Diff, one *model.WholeDiff, several bool) {
	if several {
		v.Prose("", doc.Bold(escape.Bounded(one.Command, maxName*2)))
	}
	for i := range one.Meters {
		change := &one.Meters[i]
		if i > 0 && (words.IsPart(change.Meter) || abs(change.Peak) < diff.Least) {
			continue
		}
		parts := []doc.Span{doc.In(doc.Change(change.Peak), "peak "+fromTo(change.A, change.B, words.Highest,
			change.Peak))}
		if change.Meter == diff.Meters[0] {
			where := ""
			if one.PeakA != nil {
				where = "in " + cellOf(diff.Cells[*one.PeakA].A)
			}
			if one.PeakB != nil {
				where += " → in " + cellOf(diff.Cells[*one.PeakB].B)
			}
			parts = append(parts, doc.Dim(where))
		}
		v.Field(words.Meter(change.Meter), parts)
	}
}

// cellOf returns the name of a cell of one run for people.
func cellOf(cell *model.DiffCell) string {
	if cell == nil {
		return "no cell"
	}
	return words.Row(&model.CellDiff{B: cell})
}

func (v compared) diffCauses(diff *model.Diff) {
	for i := range diff.Causes[:min(len(diff.Causes), maxDiffCauses)] {
		cause := &diff.Causes[i]
		name := "cause"
		if i > 0 {
			name = "and"
		}
		row := &diff.Cells[cause.Cell]
		v.Field(name, doc.Bold(words.Row(row)+" "+row.Change), cause.Why,
			doc.Dim(escape.OneLine(editedLine(row), false, 60)))
		v.diffFollows(diff, cause, maxDiffCauses)
	}
	if n := len(diff.Causes) - maxDiffCauses; n > 0 {
		v.Field("and", words.Plural(n, "more cell"))
	}
	if len(diff.Causes) == 0 {
		v.noCause(diff)
	}
}

// diffFollows names the cells that follow from a cause, and the names that they read.
func (v compared) diffFollows(diff *model.Diff, cause *model.Cause, most int) {
	for i := range cause.Follows[:min(len(cause.Follows), most)] {
		f := &cause.Follows[i]
		v.Field("  so", escape.OneLine(words.Row(&diff.Cells[f.Cell])+" "+f.Why, false, maxProse))
	}
	if n := len(cause.Follows) - most; n > 0 {
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
func (v compared) diffCells(diff *model.Diff) {
	most := v.o.Cells
	if most == 0 {
		most = maxDiffCells
	}
	if v.o.Full {
		most = len(diff.Cells)
	}
	if len(diff.Causes) > 0 {
		v.Heading("Cells that made the difference, A → B")
	}
	for i := range diff.Causes[:min(len(diff.Causes), most)] {
		v.diffCell(diff, &diff.Cells[diff.Causes[i].Cell])
		v.diffFollowing(diff, &diff.Causes[i], most)
	}
	if n := len(diff.Causes) - most; n > 0 {
		v.Note("… and %s; --full prints all.", words.Plural(n, "more cell"))
	}
	v.diffOthers(diff, most)
}

// diffOthers lists the cells with hardly any change of their own.
func (v compared) diffOthers(diff *model.Diff, most int) {
	var follow, moved, quiet []int
	for i := range diff.Cells {
		row := &diff.Cells[i]
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
		v.diffList(diff, follow, most)
	}
	if len(quiet)+len(moved) > 0 {
		v.Heading("Edited, new, gone and moved without a change of " + words.Bytes(diff.Least) + " or more")
		v.diffList(diff, append(quiet, moved...), most)
	}
}

// diffList prints a line for each of some cells.
func (v compared) diffList(diff *model.Diff, rows []int, most int) {
	table := doc.NewTable(doc.Left("cell"), doc.Left(""), doc.Right(words.Meter(diff.Meters[0])+" peak"),
		doc.Right("need"),
		doc.Flex("source"))
	for _, i := range rows[:min(len(rows), most)] {
		row := &diff.Cells[i]
		peak, needs := "–", "–"
		if m := of(row, diff.Meters[0]); m != nil {
			peak, needs = words.Change(m.Peak), words.Change(m.Need)
		}
		table.Row(words.Row(row), row.Change, peak, needs,
			escape.Lines(sourceOfRow(row), false, maxLead))
	}
	v.Table(table)
	if n := len(rows) - most; n > 0 {
		v.Note("… and %s; --full prints all.", words.Plural(n, "more cell"))
	}
}
