package sheet

import (
	"fmt"
	"io"
	"path"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// DiffHTML writes a comparison as a page without scripts. It fails with w's error only.
func DiffHTML(w io.Writer, d *model.Diff) error { return html(w, diffPage(d, htmlRows)) }

// DiffMarkdown writes a comparison for a pull request.
func DiffMarkdown(w io.Writer, d *model.Diff) error { return asMarkdown(w, diffPage(d, markdownRows)) }

func diffPage(d *model.Diff, rows int) *page {
	p := &page{Title: "Memory: A → B"}
	for _, one := range []struct {
		name string
		run  *model.DiffRun
	}{{"A", &d.A}, {"B", &d.B}} {
		text := path.Base(one.run.File) + " · " + words.Plural(one.run.Cells, "cell") + " in " +
			words.Duration(one.run.DurationNS)
		if one.run.Python != "" {
			text += " · Python " + one.run.Python
		}
		p.Facts = append(p.Facts, fact{Name: one.name, Text: text})
	}
	for i := range d.Whole {
		for k := range d.Whole[i].Meters {
			if m := &d.Whole[i].Meters[k]; k == 0 || !words.IsPart(m.Meter) && abs(m.Peak) >= d.Least {
				p.Facts = append(p.Facts, fact{
					words.Meter(m.Meter),
					"peak " + sides(m.A, m.B, peak, true) + ", " + words.Change(m.Peak) + share(m), toneOf(m.Peak),
				})
			}
		}
	}
	for i := range d.Causes[:min(len(d.Causes), 3)] {
		c := &d.Causes[i]
		p.Facts = append(p.Facts, fact{
			"cause", words.Row(&d.Cells[c.Cell]) + " " + d.Cells[c.Cell].Change + ": " + c.Why, toneOf(c.Bytes),
		})
		p.follows(d, c)
	}
	if len(d.Causes) == 0 {
		p.Facts = append(p.Facts, fact{
			"cause", "none: no cell needs or keeps " + words.Bytes(d.Least) + " more or less than it did", "",
		})
	}
	if j := d.Judged; j != nil {
		p.judged(j)
	}
	p.Sections = append(p.Sections, causes(d, rows))
	p.dependent(d, rows)
	p.following(d, rows)
	p.lines(d, rows)
	p.doubts(d.Doubts, rows)
	return p
}

// follows names the first cells that follow from a cause.
func (p *page) follows(d *model.Diff, c *model.Cause) {
	const few = 3
	for i := range c.Follows[:min(len(c.Follows), few)] {
		f := &c.Follows[i]
		p.Facts = append(p.Facts, fact{"so", words.Row(&d.Cells[f.Cell]) + " " + f.Why, toneOf(f.Bytes)})
	}
	if n := len(c.Follows) - few; n > 0 {
		p.Facts = append(p.Facts, fact{Name: "so", Text: words.Plural(n, "more cell")})
	}
}

// dependent lists the cells that need or keep another amount because of a name that they read.
func (p *page) dependent(d *model.Diff, rows int) {
	s := section{
		Title:   "Cells that follow from them",
		Columns: columns("cell", "", "from", "meter", ">need", ">keeps", "why", "source"),
	}
	n := 0
	for i := range d.Causes {
		c := &d.Causes[i]
		for k := range c.Follows {
			if n++; n > rows {
				continue
			}
			f := &c.Follows[k]
			row := &d.Cells[f.Cell]
			line := []cell{
				plain(words.Row(row)), plain(row.Change), plain(words.Row(&d.Cells[c.Cell])),
				plain(words.Meter(f.Meter)), plain("–"), plain("–"), plain(row.Why), code(source(row)),
			}
			for m := range row.Meters {
				if one := &row.Meters[m]; one.Meter == f.Meter {
					line[4], line[5] = change(one.Need), change(one.Consumed)
				}
			}
			s.Rows = append(s.Rows, line)
		}
	}
	s.More = rest(n, rows, "cell")
	if n > 0 {
		p.Sections = append(p.Sections, s)
	}
}

func abs(n int64) int64 { return max(n, -n) }

func sides(a, b *model.Figure, of func(model.Figure) int64, high bool) string {
	return figure(a, of, high).Text + " → " + figure(b, of, high).Text
}

func share(m *model.MeterDiff) string {
	if m.A == nil || m.B == nil || m.Peak == 0 {
		return ""
	}
	if text := words.Percent(m.Peak, m.A.Peak); text != "" {
		return " (" + text + ")"
	}
	return ""
}

func (p *page) judged(j *model.Judgement) {
	limits := "limit " + strings.Join(j.Limits, ", ")
	for _, t := range j.Over {
		p.Facts = append(p.Facts, fact{limits, t, more})
	}
	for _, t := range j.Unsure {
		p.Facts = append(p.Facts, fact{limits, "cannot be judged: " + t, doubt})
	}
	if len(j.Over)+len(j.Unsure) == 0 {
		p.Facts = append(p.Facts, fact{limits, "nothing is over", less})
	}
}

// causes has a row for each meter of the cells that caused the difference.
func causes(d *model.Diff, rows int) section {
	s := section{
		Title: "Cells that made the difference",
		Columns: columns("cell", "", "meter", ">need A", ">B", ">change", ">keeps A", ">B", ">change", ">time A → B",
			"source"),
		Note: "need = highest − start, keeps = end − start, of the process and its children together",
	}
	for i := range d.Causes[:min(len(d.Causes), rows)] {
		row := &d.Cells[d.Causes[i].Cell]
		first := true
		for k := range row.Meters {
			m := &row.Meters[k]
			if k > 0 && (words.IsPart(m.Meter) || max(abs(m.Need), abs(m.Consumed)) < d.Least) {
				continue
			}
			line := []cell{
				plain(""), plain(""), plain(words.Meter(m.Meter)), figure(m.A, need, true), figure(m.B, need, true),
				change(m.Need), figure(m.A, consumed, false), figure(m.B, consumed, false), change(m.Consumed),
				plain(""), plain(""),
			}
			if first {
				line[0], line[1] = plain(words.Row(row)), plain(row.Change)
				line[9], line[10] = plain(times(row)), code(source(row))
				first = false
			}
			s.Rows = append(s.Rows, line)
		}
	}
	s.More = rest(len(d.Causes), rows, "cell")
	return s
}

func source(row *model.CellDiff) string {
	if row.B != nil {
		return row.B.Source
	}
	return row.A.Source
}

func times(row *model.CellDiff) string {
	one := func(x *model.DiffCell) string {
		if x == nil {
			return "–"
		}
		return words.Duration(x.DurationNS)
	}
	return one(row.A) + " → " + one(row.B)
}

// following lists the other changed cells.
func (p *page) following(d *model.Diff, rows int) {
	s := section{
		Title:   "Other cells that changed",
		Columns: columns("cell", "", ">"+words.Meter(d.Meters[0])+" peak A", ">B", ">change", ">need", "why", "source"),
	}
	n := 0
	for i := range d.Cells {
		row := &d.Cells[i]
		if !row.Consequence && (row.Why != "" || row.Change == model.Same) {
			continue
		}
		if n++; n > rows {
			continue
		}
		line := []cell{
			plain(words.Row(row)), plain(row.Change), plain("–"), plain("–"), plain("–"), plain("–"), plain(row.Why),
			code(source(row)),
		}
		for k := range row.Meters {
			if m := &row.Meters[k]; m.Meter == d.Meters[0] {
				line[2], line[3] = figure(m.A, peak, true), figure(m.B, peak, true)
				line[4], line[5] = change(m.Peak), change(m.Need)
			}
		}
		s.Rows = append(s.Rows, line)
	}
	s.More = rest(n, rows, "cell")
	if n > 0 {
		p.Sections = append(p.Sections, s)
	}
}

// lines lists the changed lines in the cells that caused the difference.
func (p *page) lines(d *model.Diff, rows int) {
	s := section{Title: "By which line", Columns: columns("in", "meter", ">at the peak A", ">B", ">change", "line")}
	n := 0
	for i := range d.Causes {
		row := &d.Cells[d.Causes[i].Cell]
		for k := range row.Lines {
			l := &row.Lines[k]
			if abs(l.Change) < max(1, d.Least/16, abs(row.Lines[0].Change)/20) {
				break
			}
			if n++; n <= rows {
				s.Rows = append(s.Rows, []cell{
					plain(words.Row(row)), plain(words.Meter(l.Meter)), plain(words.Bytes(l.A)),
					plain(words.Bytes(l.B)), change(l.Change), code(words.LineOf(d, l)),
				})
			}
		}
	}
	s.More = rest(n, rows, "line")
	s.Note = fmt.Sprintf("What was allocated in the cell and was there at its peak, "+
		"by the innermost line of the user's own; %s counts what is mapped, touched or not", words.Meter("cpu.mapped"))
	if n > 0 {
		p.Sections = append(p.Sections, s)
	}
}
