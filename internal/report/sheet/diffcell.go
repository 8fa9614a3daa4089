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
func (v compared) diffCell(d *model.Diff, row *model.CellDiff) {
	v.Blank()
	v.Prose("    ", doc.Bold(words.Row(row)), doc.Yellow("  "+row.Change+"  "),
		doc.Dim(escape.Lines(sourceOfRow(row), false, maxLead)))
	t := doc.NewTable(doc.Left("    meter"), doc.Right("need A"), doc.Right("B"), doc.Right("change"),
		doc.Right("keeps A").Drop(2), doc.Right("B").Drop(2), doc.Right("change").Drop(1), doc.Right("peak A").Drop(4),
		doc.Right("B").Drop(3))
	for i := range row.Meters {
		m := &row.Meters[i]
		if i > 0 && (words.IsPart(m.Meter) || max(abs(m.Need), abs(m.Consumed), abs(m.Peak)) < d.Least) {
			continue
		}
		t.Row("    "+words.Meter(m.Meter), words.Need.Text(m.A), words.Need.Text(m.B), words.Change(m.Need),
			words.Consumed.Text(m.A), words.Consumed.Text(m.B), words.Change(m.Consumed), words.Highest.Text(m.A),
			words.Highest.Text(m.B))
	}
	v.Table(t)
	v.Prose("            ", doc.Dim("    time    "), "wall "+times(row,
		func(x *model.DiffCell) int64 { return x.DurationNS })+" · cpu "+
		times(row, func(x *model.DiffCell) int64 { return x.CPUNS }))
	shown := 0
	for i := range row.Lines {
		l := &row.Lines[i]
		if shown == maxDiffLines || abs(l.Change) < abs(row.Lines[0].Change)/20 {
			break
		}
		if hides(row, l) {
			continue
		}
		shown++
		v.Prose("            ", doc.Dim("    by      "), words.Change(l.Change)+" "+words.Meter(l.Meter),
			" "+escape.OneLine(words.LineOf(d, l), false, maxProse),
			doc.Dim(" ("+words.Bytes(l.A)+" → "+words.Bytes(l.B)+" at the peak"+hardlyResident(row, l)+")"))
	}
	v.Prose("            ", doc.Dim("    why     "), escape.OneLine(row.Why, false, maxProse))
}

// diffFollowing lists the cells that follow from a cell, a row each; with all parts, each as the cause is shown.
func (v compared) diffFollowing(d *model.Diff, c *model.Cause, most int) {
	if len(c.Follows) == 0 {
		return
	}
	if v.o.Full {
		for i := range c.Follows {
			v.diffCell(d, &d.Cells[c.Follows[i].Cell])
		}
		return
	}
	v.Blank()
	t := doc.NewTable(doc.Left("    so"), doc.Left(""), doc.Right("need"), doc.Right("keeps").Drop(2), doc.Flex("why"))
	for i := range c.Follows[:min(len(c.Follows), most)] {
		f := &c.Follows[i]
		row := &d.Cells[f.Cell]
		needs, keeps := "–", "–"
		if m := of(row, f.Meter); m != nil {
			needs, keeps = words.Change(m.Need), words.Change(m.Consumed)
		}
		t.Row("    "+words.Row(row), row.Change, needs, keeps,
			escape.OneLine(row.Why, false, maxProse))
	}
	v.Table(t)
	if n := len(c.Follows) - most; n > 0 {
		v.Note("… and %s; --full prints all.", words.Plural(n, "more cell"))
	}
}

// hides reports whether a line's mapped memory is that of its arrays, which have a line of their own.
func hides(row *model.CellDiff, l *model.LineDiff) bool {
	return words.IsOutermost(l.Meter) && slices.ContainsFunc(row.Lines, func(x model.LineDiff) bool {
		return words.LiesWithin(x.Meter) && x.Cell == l.Cell && x.Line == l.Line && x.File == l.File &&
			x.Function == l.Function && 2*abs(x.Change) >= abs(l.Change)
	})
}

// hardlyResident says that the mapped memory of a line was hardly touched: resident memory has not moved with it.
func hardlyResident(row *model.CellDiff, l *model.LineDiff) string {
	m := of(row, "cpu.resident")
	if m == nil || !words.IsOutermost(l.Meter) {
		return ""
	}
	rose := max(abs(m.Need), abs(m.Peak), abs(m.Consumed))
	if 2*rose >= abs(l.Change) {
		return ""
	}
	return "; mapped, not touched: resident changed by " + words.Bytes(rose) + " at most"
}

// times returns "1.20 s → 1.40 s".
func times(row *model.CellDiff, of func(*model.DiffCell) int64) string {
	one := func(x *model.DiffCell) string {
		if x == nil || of(x) < 0 {
			return "–"
		}
		return words.Duration(of(x))
	}
	return one(row.A) + " → " + one(row.B)
}

// slowest is the most cells that are named for their time.
const slowest = 3

// diffTimes names the cells of both runs with the largest changes of time, of at least a second and a fifth.
func (v compared) diffTimes(d *model.Diff) {
	var rows []*model.CellDiff
	change := func(r *model.CellDiff) int64 { return r.B.DurationNS - r.A.DurationNS }
	for i := range d.Cells {
		r := &d.Cells[i]
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
func (v compared) judged(j *model.Judgement) {
	if j == nil {
		return
	}
	v.Heading("Limit: " + strings.Join(j.Limits, ", "))
	for _, text := range j.Over {
		v.Field("over", doc.Red(escape.Bounded(text, maxProse)))
	}
	for _, text := range j.Unsure {
		v.Field("perhaps", doc.Yellow(escape.Bounded(text, maxProse)))
	}
	if len(j.Over)+len(j.Unsure) == 0 {
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
func fromTo(a, b *model.Figure, q words.Quantity, change int64) string {
	text := q.Text(a) + " → " + q.Text(b) + ", " + words.Change(change)
	if a != nil && b != nil {
		if p := words.Percent(change, q.Of(*a)); p != "" && change != 0 {
			text += " (" + p + ")"
		}
	}
	return text
}

func (v compared) noCause(d *model.Diff) {
	v.Field("cause", "none: no cell needs or keeps "+words.Bytes(d.Least)+" more or less than it did")
}
