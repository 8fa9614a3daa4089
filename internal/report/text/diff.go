package text

import (
	"fmt"
	"io"
	"path"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// The shown parts of a comparison, unless all is shown.
const (
	maxDiffCells  = 15
	maxDiffLines  = 4
	maxDiffCauses = 3
	maxDoubts     = 12
)

// diffView has the sections of a comparison.
type diffView struct {
	*printer
	o Options
}

// Diff writes a comparison for people: the growth and its reason, the cells that caused it, those that follow, and its
// certainty. It fails with w's error only.
func Diff(w io.Writer, d *model.Diff, o Options) error {
	v := diffView{o.printer(), o}
	v.to = w
	v.diffRun("A", &d.A)
	v.diffRun("B", &d.B)
	v.blank()
	for i := range d.Whole {
		v.diffWhole(d, &d.Whole[i], len(d.Whole) > 1)
	}
	v.diffCauses(d)
	v.diffCells(d)
	v.diffTimes(d)
	v.judged(d.Judged)
	doubted(v.printer, d.Doubts, o.Full)
	return v.flush(w)
}

func (v diffView) diffRun(name string, r *model.DiffRun) {
	spans := []span{
		{name + "  ", bold}, {escape.Bounded(path.Base(r.File), maxName*2), plain},
		{" · " + words.Plural(r.Cells, "cell") + " in " + words.Duration(r.DurationNS), dim},
	}
	for _, one := range [][2]string{{"Python ", r.Python}, {"IPython ", r.IPython}} {
		if one[1] != "" {
			spans = append(spans, span{" · " + one[0] + escape.Bounded(one[1], maxName), dim})
		}
	}
	v.prose("   ", spans...)
}

// fromTo returns "1.00 GiB → 2.00 GiB, +1.00 GiB (+100.0 %)".
func fromTo(a, b *model.Figure, q quantity, change int64) string {
	text := side(a, q) + " → " + side(b, q) + ", " + words.Change(change)
	if a != nil && b != nil {
		if p := words.Percent(change, q.of(*a)); p != "" && change != 0 {
			text += " (" + p + ")"
		}
	}
	return text
}

// side returns one figure of a comparison with its mark.
func side(f *model.Figure, q quantity) string {
	if f == nil {
		return "–"
	}
	return q.show(map[string]model.Figure{"": *f}, "").text
}

// diffWhole shows the peaks of the sessions, and their cells.
func (v diffView) diffWhole(d *model.Diff, one *model.WholeDiff, several bool) {
	if several {
		v.prose("", span{escape.Bounded(one.Command, maxName*2), bold})
	}
	for i := range one.Meters {
		m := &one.Meters[i]
		if i > 0 && (words.IsPart(m.Meter) || abs64(m.Peak) < d.Least) {
			continue
		}
		parts := []span{{"peak " + fromTo(m.A, m.B, highest, m.Peak), styleOf(m.Peak)}}
		if m.Meter == d.Meters[0] {
			where := ""
			if one.PeakA != nil {
				where = "in " + cellOf(d.Cells[*one.PeakA].A)
			}
			if one.PeakB != nil {
				where += " → in " + cellOf(d.Cells[*one.PeakB].B)
			}
			parts = append(parts, span{where, dim})
		}
		v.field(meterName(m.Meter), parts...)
	}
}

func abs64(n int64) int64 { return max(n, -n) }

func styleOf(change int64) style {
	switch {
	case change > 0:
		return yellow
	case change < 0:
		return green
	}
	return plain
}

// cellOf returns the name of a cell of one run for people.
func cellOf(x *model.DiffCell) string {
	if x == nil {
		return "no cell"
	}
	return words.Row(&model.CellDiff{B: x})
}

func (v diffView) diffCauses(d *model.Diff) {
	for i := range d.Causes[:min(len(d.Causes), maxDiffCauses)] {
		c := &d.Causes[i]
		name := "cause"
		if i > 0 {
			name = "and"
		}
		row := &d.Cells[c.Cell]
		v.field(name, span{words.Row(row) + " " + row.Change, bold}, span{c.Why, plain},
			span{escape.OneLine(editedLine(row), false, 60), dim})
		v.diffFollows(d, c, maxDiffCauses)
	}
	if n := len(d.Causes) - maxDiffCauses; n > 0 {
		v.field("and", span{words.Plural(n, "more cell"), plain})
	}
	if len(d.Causes) == 0 {
		v.field("cause",
			span{"none: no cell needs or keeps " + words.Bytes(d.Least) + " more or less than it did", plain})
	}
}

// diffFollows names the cells that follow from a cause, and the names that they read.
func (v diffView) diffFollows(d *model.Diff, c *model.Cause, most int) {
	for i := range c.Follows[:min(len(c.Follows), most)] {
		f := &c.Follows[i]
		v.field("  so", span{escape.OneLine(words.Row(&d.Cells[f.Cell])+" "+f.Why, false, maxProse), plain})
	}
	if n := len(c.Follows) - most; n > 0 {
		v.field("  so", span{words.Plural(n, "more cell"), plain})
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

func sourceOfRow(row *model.CellDiff) string {
	if row.B != nil {
		return row.B.Source
	}
	return row.A.Source
}

// diffCells shows the causes, one after another, and then the cells that follow from the causes.
func (v diffView) diffCells(d *model.Diff) {
	most := v.o.Cells
	if most == 0 {
		most = maxDiffCells
	}
	if v.o.Full {
		most = len(d.Cells)
	}
	if len(d.Causes) > 0 {
		v.title("Cells that made the difference, A → B")
	}
	for i := range d.Causes[:min(len(d.Causes), most)] {
		v.diffCell(d, &d.Cells[d.Causes[i].Cell])
		v.diffFollowing(d, &d.Causes[i], most)
	}
	if n := len(d.Causes) - most; n > 0 {
		v.prose("", span{fmt.Sprintf("… and %s; --full prints all.", words.Plural(n, "more cell")), dim})
	}
	v.diffOthers(d, most)
}

// diffOthers lists the cells with hardly any change of their own.
func (v diffView) diffOthers(d *model.Diff, most int) {
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
		v.title("Higher or lower only because of what stood before")
		v.diffList(d, follow, most)
	}
	if len(quiet)+len(moved) > 0 {
		v.title("Edited, new, gone and moved without a change of " + words.Bytes(d.Least) + " or more")
		v.diffList(d, append(quiet, moved...), most)
	}
}

// diffList prints a line for each of some cells.
func (v diffView) diffList(d *model.Diff, rows []int, most int) {
	t := table{
		columns: []column{
			{title: "cell"}, {title: ""}, {title: meterName(d.Meters[0]) + " peak", right: true},
			{title: "need", right: true}, {title: "source", flex: true},
		},
		indent: rowIndent,
	}
	for _, i := range rows[:min(len(rows), most)] {
		row := &d.Cells[i]
		peak, needs := "–", "–"
		if m := of(row, d.Meters[0]); m != nil {
			peak, needs = words.Change(m.Peak), words.Change(m.Need)
		}
		t.rows = append(t.rows, tableRow(words.Row(row), row.Change, peak, needs,
			escape.Lines(sourceOfRow(row), false, maxLead)))
	}
	t.print(v.printer)
	if n := len(rows) - most; n > 0 {
		v.prose("", span{fmt.Sprintf("… and %s; --full prints all.", words.Plural(n, "more cell")), dim})
	}
}

func tableRow(texts ...string) row {
	var r row
	for _, t := range texts {
		r.cells = append(r.cells, span{t, plain})
	}
	return r
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
