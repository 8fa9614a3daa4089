package sheet

import (
	"path"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// page is what pages say.
func (v compared) page(d *model.Diff) {
	v.pageRun("A", &d.A)
	v.pageRun("B", &d.B)
	for i := range d.Whole {
		for k := range d.Whole[i].Meters {
			if m := &d.Whole[i].Meters[k]; k == 0 || !words.IsPart(m.Meter) && abs(m.Peak) >= d.Least {
				v.Field(words.Meter(m.Meter),
					doc.In(doc.Change(m.Peak), "peak "+fromTo(m.A, m.B, words.Highest, m.Peak)))
			}
		}
	}
	for i := range d.Causes[:min(len(d.Causes), maxDiffCauses)] {
		c := &d.Causes[i]
		v.Field("cause", doc.In(doc.Change(c.Bytes), words.Row(&d.Cells[c.Cell])+" "+d.Cells[c.Cell].Change+": "+c.Why))
		for i := range c.Follows[:min(len(c.Follows), maxDiffCauses)] {
			f := &c.Follows[i]
			v.Field("so", doc.In(doc.Change(f.Bytes), words.Row(&d.Cells[f.Cell])+" "+f.Why))
		}
		if n := len(c.Follows) - maxDiffCauses; n > 0 {
			v.Field("so", words.Plural(n, "more cell"))
		}
	}
	if len(d.Causes) == 0 {
		v.noCause(d)
	}
	if j := d.Judged; j != nil {
		limits := "limit " + strings.Join(j.Limits, ", ")
		for _, t := range j.Over {
			v.Field(limits, doc.In(doc.More, t))
		}
		for _, t := range j.Unsure {
			v.Field(limits, doc.In(doc.Doubt, "cannot be judged: "+t))
		}
		if len(j.Over)+len(j.Unsure) == 0 {
			v.Field(limits, doc.In(doc.Less, "nothing is over"))
		}
	}
	v.causes(d)
	v.dependent(d)
	v.others(d)
	v.lines(d)
}

func (v compared) pageRun(name string, r *model.DiffRun) {
	text := path.Base(r.File) + " · " + words.Plural(r.Cells, "cell") + " in " + words.Duration(r.DurationNS)
	if r.Python != "" {
		text += " · Python " + r.Python
	}
	v.Field(name, text)
}

// causes has a row for each meter of the cells that caused the difference.
func (v compared) causes(d *model.Diff) {
	v.Heading("Cells that made the difference")
	v.Prose("", "need = highest − start, keeps = end − start, of the process and its children together")
	t := doc.NewTable(doc.Left("cell"), doc.Left(""), doc.Left("meter"), doc.Right("need A"), doc.Right("B"),
		doc.Right("change"), doc.Right("keeps A"), doc.Right("B"), doc.Right("change"), doc.Right("time A → B"),
		doc.Left("source"))
	t.Item = "cell"
	for i := range d.Causes {
		row := &d.Cells[d.Causes[i].Cell]
		wall := times(row, func(x *model.DiffCell) int64 { return x.DurationNS })
		add := func(m *model.MeterDiff, name, change, wall string, source doc.Span, row func(...any)) {
			row(name, change, words.Meter(m.Meter), doc.Figure(words.Need, m.A), doc.Figure(words.Need, m.B),
				changed(m.Need), doc.Figure(words.Consumed, m.A), doc.Figure(words.Consumed, m.B), changed(m.Consumed),
				wall, source)
		}
		first := true
		for k := range row.Meters {
			m := &row.Meters[k]
			if k > 0 && (words.IsPart(m.Meter) || max(abs(m.Need), abs(m.Consumed)) < d.Least) {
				continue
			}
			if first {
				add(m, words.Row(row), row.Change, wall, code(sourceOfRow(row)), t.Row)
			} else {
				add(m, "", "", "", doc.Span{}, t.Also)
			}
			first = false
		}
	}
	v.Table(t)
}

// dependent lists the cells that need or keep another amount because of a name that they read.
func (v compared) dependent(d *model.Diff) {
	t := doc.NewTable(doc.Left("cell"), doc.Left(""), doc.Left("from"), doc.Left("meter"), doc.Right("need"),
		doc.Right("keeps"), doc.Left("why"), doc.Left("source"))
	t.Item = "cell"
	for i := range d.Causes {
		c := &d.Causes[i]
		for k := range c.Follows {
			f := &c.Follows[k]
			row := &d.Cells[f.Cell]
			need, keeps := doc.Plain("–"), doc.Plain("–")
			if m := of(row, f.Meter); m != nil {
				need, keeps = changed(m.Need), changed(m.Consumed)
			}
			t.Row(words.Row(row), row.Change, words.Row(&d.Cells[c.Cell]), words.Meter(f.Meter), need, keeps, row.Why,
				code(sourceOfRow(row)))
		}
	}
	v.section("Cells that follow from them", "", t)
}

// section adds a section with a table that has rows.
func (v compared) section(title, note string, t *doc.Table) {
	if t.Len() == 0 {
		return
	}
	v.Heading(title)
	if note != "" {
		v.Prose("", note)
	}
	v.Table(t)
}

// others lists the other changed cells.
func (v compared) others(d *model.Diff) {
	if len(d.Meters) == 0 {
		return
	}
	t := doc.NewTable(doc.Left("cell"), doc.Left(""), doc.Right(words.Meter(d.Meters[0])+" peak A"), doc.Right("B"),
		doc.Right("change"), doc.Right("need"), doc.Left("why"), doc.Left("source"))
	t.Item = "cell"
	for i := range d.Cells {
		row := &d.Cells[i]
		if !row.Consequence && (row.Why != "" || row.Change == model.Same) {
			continue
		}
		figures := doc.Spans("–", "–", "–", "–")
		if m := of(row, d.Meters[0]); m != nil {
			figures = doc.Spans(doc.Figure(words.Highest, m.A), doc.Figure(words.Highest, m.B), changed(m.Peak),
				changed(m.Need))
		}
		t.Row(words.Row(row), row.Change, figures, row.Why, code(sourceOfRow(row)))
	}
	v.section("Other cells that changed", "", t)
}

// lines lists the changed lines in the cells that caused the difference.
func (v compared) lines(d *model.Diff) {
	t := doc.NewTable(doc.Left("in"), doc.Left("meter"), doc.Right("at the peak A"), doc.Right(
		"B"), doc.Right("change"),
		doc.Left("line"))
	t.Item = "line"
	for i := range d.Causes {
		row := &d.Cells[d.Causes[i].Cell]
		for k := range row.Lines {
			l := &row.Lines[k]
			if abs(l.Change) < max(1, d.Least/16, abs(row.Lines[0].Change)/20) {
				break
			}
			t.Row(words.Row(row), words.Meter(l.Meter), words.Bytes(l.A), words.Bytes(l.B), changed(l.Change),
				code(words.LineOf(d, l)))
		}
	}
	v.section("By which line", "What was allocated in the cell and was there at its peak, by the innermost line of "+
		"the user's own; "+words.Meter("cpu.mapped")+" counts what is mapped, touched or not", t)
}
