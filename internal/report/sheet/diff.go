package sheet

import (
	"path"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Diff shows how the sessions' peaks differ, which cells caused that and why, the cells that follow from these, and the
// doubts.
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

// diffRun shows one of the two runs in a line. name is A or B.
func (v compared) diffRun(name string, run *model.DiffRun) {
	spans := []doc.Span{doc.Bold(name + "  "), doc.Plain(escape.Bounded(path.Base(run.File), maxName*2)),
		doc.Dim(" · " + words.Plural(run.Cells, "cell") + " in " + words.Duration(run.DurationNS)),
	}
	addVersion := func(program, version string) {
		if version != "" {
			spans = append(spans, doc.Dim(" · "+program+escape.Bounded(version, maxName)))
		}
	}
	addVersion("Python ", run.Python)
	addVersion("IPython ", run.IPython)
	v.Prose("   ", spans)
}

// diffWhole shows the peaks of two sessions and, for the first meter, the cells with the peaks. several says that the
// runs have other sessions, so the command is shown.
func (v compared) diffWhole(diff *model.Diff, whole *model.WholeDiff, several bool) {
	if several {
		v.Prose("", doc.Bold(escape.Bounded(whole.Command, maxName*2)))
	}
	for i := range whole.Meters {
		change := &whole.Meters[i]
		if i > 0 && (words.IsPart(change.Meter) || abs(change.Peak) < diff.Least) {
			continue
		}
		peaks := "peak " + fromTo(change.A, change.B, words.Highest, change.Peak)
		parts := []doc.Span{doc.In(doc.Change(change.Peak), peaks)}
		if change.Meter == diff.Meters[0] {
			where := ""
			if whole.PeakA != nil {
				where = "in " + cellOf(diff.Cells[*whole.PeakA].A)
			}
			if whole.PeakB != nil {
				where += " → in " + cellOf(diff.Cells[*whole.PeakB].B)
			}
			parts = append(parts, doc.Dim(where))
		}
		v.Field(words.Meter(change.Meter), parts)
	}
}

// cellOf returns the name of a cell of one run for people; "no cell" for nil.
func cellOf(cell *model.DiffCell) string {
	if cell == nil {
		return "no cell"
	}
	return words.Row(&model.CellDiff{B: cell})
}

// diffCauses names the first cells that caused the difference, and the cells that follow from each.
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

// editedLine returns the first edited line of a cell; its whole source if that line is not known.
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

// diffCells shows each cell that caused the difference and the cells that follow from it, and then the other cells.
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

// diffOthers lists the changed cells that caused nothing: first those that are higher or lower only because of earlier
// cells.
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

// diffList prints a table of cells, of which rows are the indices.
func (v compared) diffList(diff *model.Diff, rows []int, most int) {
	table := doc.NewTable(doc.Left("cell"), doc.Left(""), doc.Right(words.Meter(diff.Meters[0])+" peak"),
		doc.Right("need"), doc.Flex("source"))
	for _, i := range rows[:min(len(rows), most)] {
		row := &diff.Cells[i]
		peak, need := "–", "–"
		if m := meterOf(row, diff.Meters[0]); m != nil {
			peak, need = words.Change(m.Peak), words.Change(m.Need)
		}
		table.Row(words.Row(row), row.Change, peak, need,
			escape.Lines(sourceOfRow(row), false, maxLead))
	}
	v.Table(table)
	if n := len(rows) - most; n > 0 {
		v.Note("… and %s; --full prints all.", words.Plural(n, "more cell"))
	}
}
