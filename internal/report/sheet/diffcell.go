package sheet

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// diffCell shows a cell that caused a difference: its meters and times side by side, the line, and the reason.
func (v compared) diffCell(diff *model.Diff, row *model.CellDiff) {
	v.Blank()
	v.Prose("    ", doc.Bold(words.Row(row)), doc.Yellow("  "+row.Change+"  "),
		doc.Dim(escape.Lines(sourceOfRow(row), false, maxLead)))
	table := doc.NewTable(doc.Left("    meter"), doc.Right("need A"), doc.Right("B"), doc.Right("change"),
		doc.Right("keeps A").Drop(2), doc.Right("B").Drop(2), doc.Right("change").Drop(1), doc.Right("peak A").Drop(4),
		doc.Right("B").Drop(3))
	for i := range row.Meters {
		change := &row.Meters[i]
		if i > 0 && (words.IsPart(change.Meter) || max(abs(change.Need), abs(change.Consumed),
			abs(change.Peak)) < diff.Least) {
			continue
		}
		table.Row("    "+words.Meter(change.Meter), words.Need.Text(change.A), words.Need.Text(change.B),
			words.Change(change.Need),
			words.Consumed.Text(change.A), words.Consumed.Text(change.B), words.Change(change.Consumed),
			words.Highest.Text(change.A),
			words.Highest.Text(change.B))
	}
	v.Table(table)
	v.Prose("            ", doc.Dim("    time    "), "wall "+times(row,
		func(x *model.DiffCell) int64 { return x.DurationNS })+" · cpu "+
		times(row, func(x *model.DiffCell) int64 { return x.CPUNS }))
	shown := 0
	for i := range row.Lines {
		line := &row.Lines[i]
		if shown == maxDiffLines || abs(line.Change) < abs(row.Lines[0].Change)/20 {
			break
		}
		if hides(row, line) {
			continue
		}
		shown++
		v.Prose("            ", doc.Dim("    by      "), words.Change(line.Change)+" "+words.Meter(line.Meter),
			" "+escape.OneLine(words.LineOf(diff, line), false, maxProse),
			doc.Dim(" ("+words.Bytes(line.A)+" → "+words.Bytes(line.B)+" at the peak"+hardlyResident(row, line)+")"))
	}
	v.Prose("            ", doc.Dim("    why     "), escape.OneLine(row.Why, false, maxProse))
}

// diffFollowing lists the cells that follow from a cell, a row each; with all parts, each as the cause is shown.
func (v compared) diffFollowing(diff *model.Diff, cause *model.Cause, most int) {
	if len(cause.Follows) == 0 {
		return
	}
	if v.o.Full {
		for i := range cause.Follows {
			v.diffCell(diff, &diff.Cells[cause.Follows[i].Cell])
		}
		return
	}
	v.Blank()
	table := doc.NewTable(doc.Left("    so"), doc.Left(""), doc.Right("need"), doc.Right("keeps").Drop(2),
		doc.Flex("why"))
	for i := range cause.Follows[:min(len(cause.Follows), most)] {
		follower := &cause.Follows[i]
		row := &diff.Cells[follower.Cell]
		needs, keeps := "–", "–"
		if m := of(row, follower.Meter); m != nil {
			needs, keeps = words.Change(m.Need), words.Change(m.Consumed)
		}
		table.Row("    "+words.Row(row), row.Change, needs, keeps,
			escape.OneLine(row.Why, false, maxProse))
	}
	v.Table(table)
	if n := len(cause.Follows) - most; n > 0 {
		v.Note("… and %s; --full prints all.", words.Plural(n, "more cell"))
	}
}

// hides reports whether a line's mapped memory is that of its arrays, which have a line of their own.
func hides(row *model.CellDiff, line *model.LineDiff) bool {
	return words.IsOutermost(line.Meter) && slices.ContainsFunc(row.Lines, func(x model.LineDiff) bool {
		return words.LiesWithin(x.Meter) && x.Cell == line.Cell && x.Line == line.Line && x.File == line.File &&
			x.Function == line.Function && 2*abs(x.Change) >= abs(line.Change)
	})
}

// hardlyResident says that the mapped memory of a line was hardly touched: resident memory has not moved with it.
func hardlyResident(row *model.CellDiff, line *model.LineDiff) string {
	change := of(row, "cpu.resident")
	if change == nil || !words.IsOutermost(line.Meter) {
		return ""
	}
	rose := max(abs(change.Need), abs(change.Peak), abs(change.Consumed))
	if 2*rose >= abs(line.Change) {
		return ""
	}
	return "; mapped, not touched: resident changed by " + words.Bytes(rose) + " at most"
}

// times returns "1.20 s → 1.40 s".
func times(row *model.CellDiff, of func(*model.DiffCell) int64) string {
	one := func(cell *model.DiffCell) string {
		if cell == nil || of(cell) < 0 {
			return "–"
		}
		return words.Duration(of(cell))
	}
	return one(row.A) + " → " + one(row.B)
}

// slowest is the most cells that are named for their time.
const slowest = 3

// diffTimes names the cells of both runs with the largest changes of time, of at least a second and a fifth.
func (v compared) diffTimes(diff *model.Diff) {
	var rows []*model.CellDiff
	change := func(r *model.CellDiff) int64 { return r.B.DurationNS - r.A.DurationNS }
	for i := range diff.Cells {
		r := &diff.Cells[i]
		if r.A != nil && r.B != nil && abs(change(r)) >= max(1e9, r.A.DurationNS/5) {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b *model.CellDiff) int {
		return cmp.Compare(abs(change(b)), abs(change(a)))
	})
	if len(rows) == 0 {
		return
	}
	v.Heading("Slower or faster by a second and a fifth")
	for _, r := range rows[:min(len(rows), slowest)] {
		v.Prose("    ",
			words.Row(r)+"  wall "+times(r, func(x *model.DiffCell) int64 { return x.DurationNS })+" · cpu "+
				times(r, func(x *model.DiffCell) int64 { return x.CPUNS }),
			doc.Dim("  "+escape.Lines(sourceOfRow(r), false, maxLead)))
	}
	if n := len(rows) - slowest; n > 0 {
		v.Prose("", doc.Dim("… and "+words.Plural(n, "more cell")))
	}
}

// judged lists the exceeded limits, and those that cannot be judged.
func (v compared) judged(judgement *model.Judgement) {
	if judgement == nil {
		return
	}
	v.Heading("Limit: " + strings.Join(judgement.Limits, ", "))
	for _, text := range judgement.Over {
		v.Field("over", doc.Red(escape.Bounded(text, maxProse)))
	}
	for _, text := range judgement.Unsure {
		v.Field("perhaps", doc.Yellow(escape.Bounded(text, maxProse)))
	}
	if len(judgement.Over)+len(judgement.Unsure) == 0 {
		v.Prose("", doc.Green("nothing is over"))
	}
}

// compared lays a comparison out.
type compared struct{ layout }

func sourceOfRow(row *model.CellDiff) string {
	if row.B != nil {
		return row.B.Source
	}
	return row.A.Source
}

// of returns one meter of a row, nil if it has no figure.
func of(row *model.CellDiff, meter string) *model.MeterDiff {
	for i := range row.Meters {
		if row.Meters[i].Meter == meter {
			return &row.Meters[i]
		}
	}
	return nil
}

// The shown parts of a comparison on a terminal, unless all is shown.
const (
	maxDiffCells  = 15
	maxDiffLines  = 4
	maxDiffCauses = 3
)

// fromTo returns "1.00 GiB → 2.00 GiB, +1.00 GiB (+100.0 %)".
func fromTo(figure, b *model.Figure, q words.Quantity, change int64) string {
	text := q.Text(figure) + " → " + q.Text(b) + ", " + words.Change(change)
	if figure != nil && b != nil {
		if p := words.Percent(change, q.Of(*figure)); p != "" && change != 0 {
			text += " (" + p + ")"
		}
	}
	return text
}

func (v compared) noCause(d *model.Diff) {
	v.Field("cause", "none: no cell needs or keeps "+words.Bytes(d.Least)+" more or less than it did")
}
