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

// diffCell shows one cell in full: its meters and times side by side, the lines that changed most, and the reason.
func (v compared) diffCell(diff *model.Diff, row *model.CellDiff) {
	v.Blank()
	v.Prose("    ", doc.Bold(words.Row(row)), doc.Yellow("  "+row.Change+"  "),
		doc.Dim(escape.Lines(sourceOfRow(row), false, maxLead)))
	table := doc.NewTable(doc.Left("    meter"), doc.Right("need A"), doc.Right("B"), doc.Right("change"),
		doc.Right("keeps A").Drop(2), doc.Right("B").Drop(2), doc.Right("change").Drop(1), doc.Right("peak A").Drop(4),
		doc.Right("B").Drop(3))
	for i := range row.Meters {
		change := &row.Meters[i]
		largest := max(abs(change.Need), abs(change.Consumed), abs(change.Peak))
		if i > 0 && (words.IsPart(change.Meter) || largest < diff.Least) {
			continue
		}
		table.Row("    "+words.Meter(change.Meter),
			words.Need.Text(change.A), words.Need.Text(change.B), words.Change(change.Need),
			words.Consumed.Text(change.A), words.Consumed.Text(change.B), words.Change(change.Consumed),
			words.Highest.Text(change.A), words.Highest.Text(change.B))
	}
	v.Table(table)
	const indent = "            "
	v.Prose(indent, doc.Dim("    time    "), "wall "+times(row, wall)+" · cpu "+times(row, cpu))
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
		v.Prose(indent, doc.Dim("    by      "), words.Change(line.Change)+" "+words.Meter(line.Meter),
			" "+escape.OneLine(words.LineOf(diff, line), false, maxProse),
			doc.Dim(" ("+words.Bytes(line.A)+" → "+words.Bytes(line.B)+" at the peak"+hardlyResident(row, line)+")"))
	}
	v.Prose(indent, doc.Dim("    why     "), escape.OneLine(row.Why, false, maxProse))
}

// diffFollowing lists the cells that follow from a cause, with a row for each; with Full it shows each of them as
// [compared.diffCell] does.
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
		if m := meterOf(row, follower.Meter); m != nil {
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

// hides reports whether a line about mapped memory is left out, because at least half of that memory is arrays of the
// same line of code, which are listed themselves.
func hides(row *model.CellDiff, line *model.LineDiff) bool {
	return words.IsOutermost(line.Meter) && slices.ContainsFunc(row.Lines, func(x model.LineDiff) bool {
		return words.LiesWithin(x.Meter) && x.Cell == line.Cell && x.Line == line.Line && x.File == line.File &&
			x.Function == line.Function && 2*abs(x.Change) >= abs(line.Change)
	})
}

// hardlyResident says that a line's mapped memory was hardly touched, because resident memory changed by less than half
// as much; else it returns "".
func hardlyResident(row *model.CellDiff, line *model.LineDiff) string {
	change := meterOf(row, "cpu.resident")
	if change == nil || !words.IsOutermost(line.Meter) {
		return ""
	}
	rose := max(abs(change.Need), abs(change.Peak), abs(change.Consumed))
	if 2*rose >= abs(line.Change) {
		return ""
	}
	return "; mapped, not touched: resident changed by " + words.Bytes(rose) + " at most"
}

// times returns a time of a cell in both runs: "1.20 s → 1.40 s". A negative time is not known.
func times(row *model.CellDiff, timeOf func(*model.DiffCell) int64) string {
	text := func(cell *model.DiffCell) string {
		if cell == nil || timeOf(cell) < 0 {
			return "–"
		}
		return words.Duration(timeOf(cell))
	}
	return text(row.A) + " → " + text(row.B)
}

// wall returns a cell's duration, in nanoseconds.
func wall(cell *model.DiffCell) int64 { return cell.DurationNS }

// cpu returns a cell's processor time, in nanoseconds.
func cpu(cell *model.DiffCell) int64 { return cell.CPUNS }

// slowest is the most cells that diffTimes names.
const slowest = 3

// diffTimes names the cells whose time changed most. Only changes of at least a second, and of at least a fifth of the
// cell's time, count.
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
		v.Prose("    ", words.Row(r)+"  wall "+times(r, wall)+" · cpu "+times(r, cpu),
			doc.Dim("  "+escape.Lines(sourceOfRow(r), false, maxLead)))
	}
	if n := len(rows) - slowest; n > 0 {
		v.Prose("", doc.Dim("… and "+words.Plural(n, "more cell")))
	}
}

// judged lists the figures that are over a limit, and those that cannot be judged.
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

// compared is the layout of a comparison.
type compared struct{ layout }

// sourceOfRow returns the source of a cell in run B; in run A if it is gone.
func sourceOfRow(row *model.CellDiff) string {
	if row.B != nil {
		return row.B.Source
	}
	return row.A.Source
}

// meterOf returns the changes of one meter of a cell; nil if the cell has no figure of that meter.
func meterOf(row *model.CellDiff, meter string) *model.MeterDiff {
	for i := range row.Meters {
		if row.Meters[i].Meter == meter {
			return &row.Meters[i]
		}
	}
	return nil
}

// The most items of a comparison on a terminal, without Full.
const (
	maxDiffCells  = 15
	maxDiffLines  = 4
	maxDiffCauses = 3
)

// fromTo returns "1.00 GiB → 2.00 GiB, +1.00 GiB (+100.0 %)".
func fromTo(a, b *model.Figure, q words.Quantity, change int64) string {
	text := q.Text(a) + " → " + q.Text(b) + ", " + words.Change(change)
	if a != nil && b != nil {
		if percent := words.Percent(change, q.Of(*a)); percent != "" && change != 0 {
			text += " (" + percent + ")"
		}
	}
	return text
}

// noCause says that no cell caused the difference.
func (v compared) noCause(d *model.Diff) {
	v.Field("cause", "none: no cell needs or keeps "+words.Bytes(d.Least)+" more or less than it did")
}
