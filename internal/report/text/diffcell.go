package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// diffCell shows a cell that caused a difference: its meters and times side by side, the line, and the reason.
func (v diffView) diffCell(d *model.Diff, row *model.CellDiff) {
	v.blank()
	v.prose("    ", span{words.Row(row), bold}, span{"  " + row.Change + "  ", yellow},
		span{escape.Lines(sourceOfRow(row), false, maxLead), dim})
	t := table{columns: []column{
		{title: "    meter"}, {title: "need A", right: true}, {title: "B", right: true}, {title: "change", right: true},
		{title: "keeps A", right: true, drop: 2}, {title: "B", right: true, drop: 2},
		{title: "change", right: true, drop: 1}, {title: "peak A", right: true, drop: 4},
		{title: "B", right: true, drop: 3},
	}, indent: rowIndent}
	for i := range row.Meters {
		m := &row.Meters[i]
		if i > 0 && (words.IsPart(m.Meter) || max(abs64(m.Need), abs64(m.Consumed), abs64(m.Peak)) < d.Least) {
			continue
		}
		t.rows = append(t.rows,
			tableRow("    "+meterName(m.Meter), side(m.A, need), side(m.B, need), words.Change(m.Need),
				side(m.A, consumed), side(m.B, consumed), words.Change(m.Consumed), side(m.A, highest),
				side(m.B, highest)))
	}
	t.print(v.printer)
	v.prose("            ", span{"    time    ", dim}, span{
		"wall " + times(row, func(x *model.DiffCell) int64 { return x.DurationNS }) + " · cpu " +
			times(row, func(x *model.DiffCell) int64 { return x.CPUNS }),
		plain,
	})
	shown := 0
	for i := range row.Lines {
		l := &row.Lines[i]
		if shown == maxDiffLines || abs64(l.Change) < abs64(row.Lines[0].Change)/20 {
			break
		}
		if hides(row, l) {
			continue
		}
		shown++
		v.prose("            ", span{"    by      ", dim},
			span{words.Change(l.Change) + " " + meterName(l.Meter), plain},
			span{" " + escape.OneLine(words.LineOf(d, l), false, maxProse), plain},
			span{
				" (" + words.Bytes(l.A) + " → " + words.Bytes(l.B) + " at the peak" + hardlyResident(row, l) + ")",
				dim,
			})
	}
	v.prose("            ", span{"    why     ", dim}, span{escape.OneLine(row.Why, false, maxProse), plain})
}

// diffFollowing lists the cells that follow from a cell, a row each; with all parts, each as the cause is shown.
func (v diffView) diffFollowing(d *model.Diff, c *model.Cause, most int) {
	if len(c.Follows) == 0 {
		return
	}
	if v.o.Full {
		for i := range c.Follows {
			v.diffCell(d, &d.Cells[c.Follows[i].Cell])
		}
		return
	}
	v.blank()
	t := table{
		columns: []column{
			{title: "    so"}, {title: ""}, {title: "need", right: true}, {title: "keeps", right: true, drop: 2},
			{title: "why", flex: true},
		},
		indent: rowIndent,
	}
	for i := range c.Follows[:min(len(c.Follows), most)] {
		f := &c.Follows[i]
		row := &d.Cells[f.Cell]
		needs, keeps := "–", "–"
		if m := of(row, f.Meter); m != nil {
			needs, keeps = words.Change(m.Need), words.Change(m.Consumed)
		}
		t.rows = append(t.rows, tableRow("    "+words.Row(row), row.Change, needs, keeps,
			escape.OneLine(row.Why, false, maxProse)))
	}
	t.print(v.printer)
	if n := len(c.Follows) - most; n > 0 {
		v.prose("", span{fmt.Sprintf("… and %s; --full prints all.", words.Plural(n, "more cell")), dim})
	}
}

// hides reports whether a line's mapped memory is that of its arrays, which have a line of their own.
func hides(row *model.CellDiff, l *model.LineDiff) bool {
	return words.IsOutermost(l.Meter) && slices.ContainsFunc(row.Lines, func(x model.LineDiff) bool {
		return words.LiesWithin(x.Meter) && x.Cell == l.Cell && x.Line == l.Line && x.File == l.File &&
			x.Function == l.Function && 2*abs64(x.Change) >= abs64(l.Change)
	})
}

// hardlyResident says that the mapped memory of a line was hardly touched: resident memory has not moved with it.
func hardlyResident(row *model.CellDiff, l *model.LineDiff) string {
	m := of(row, "cpu.resident")
	if m == nil || !words.IsOutermost(l.Meter) {
		return ""
	}
	rose := max(abs64(m.Need), abs64(m.Peak), abs64(m.Consumed))
	if 2*rose >= abs64(l.Change) {
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
func (v diffView) diffTimes(d *model.Diff) {
	var rows []*model.CellDiff
	change := func(r *model.CellDiff) int64 { return r.B.DurationNS - r.A.DurationNS }
	for i := range d.Cells {
		r := &d.Cells[i]
		if r.A != nil && r.B != nil && abs64(change(r)) >= max(1e9, r.A.DurationNS/5) {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b *model.CellDiff) int {
		return cmp.Compare(abs64(change(b)), abs64(change(a)))
	})
	if len(rows) == 0 {
		return
	}
	v.title("Slower or faster by a second and a fifth")
	for _, r := range rows[:min(len(rows), slowest)] {
		v.prose("    ",
			span{
				words.Row(r) + "  wall " + times(r, func(x *model.DiffCell) int64 { return x.DurationNS }) + " · cpu " +
					times(r, func(x *model.DiffCell) int64 { return x.CPUNS }),
				plain,
			},
			span{"  " + escape.Lines(sourceOfRow(r), false, maxLead), dim})
	}
	if n := len(rows) - slowest; n > 0 {
		v.prose("", span{"… and " + words.Plural(n, "more cell"), dim})
	}
}

// judged lists the exceeded limits, and those that cannot be judged.
func (v diffView) judged(j *model.Judgement) {
	if j == nil {
		return
	}
	v.title("Limit: " + strings.Join(j.Limits, ", "))
	for _, one := range []struct {
		name  string
		texts []string
		style style
	}{{"over", j.Over, red}, {"perhaps", j.Unsure, yellow}} {
		for _, t := range one.texts {
			v.field(one.name, span{escape.Bounded(t, maxProse), one.style})
		}
	}
	if len(j.Over)+len(j.Unsure) == 0 {
		v.prose("", span{"nothing is over", green})
	}
}

// doubted lists the reasons why the comparison may mislead.
func doubted(to *printer, all []string, full bool) {
	if len(all) == 0 {
		return
	}
	to.title("Doubts")
	for i, d := range all {
		if i == maxDoubts && !full {
			to.prose("", span{fmt.Sprintf("… and %s; --full prints all.", words.Plural(len(all)-i, "more doubt")), dim})
			break
		}
		to.prose("  ", span{"· ", dim}, span{escape.Bounded(d, maxProse), yellow})
	}
}
