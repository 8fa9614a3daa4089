package sheet

import (
	"path"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// page lays the comparison out for pages.
func (v compared) page(diff *model.Diff) {
	v.pageRun("A", &diff.A)
	v.pageRun("B", &diff.B)
	for i := range diff.Whole {
		for k := range diff.Whole[i].Meters {
			if m := &diff.Whole[i].Meters[k]; k == 0 || !words.IsPart(m.Meter) && abs(m.Peak) >= diff.Least {
				v.Field(words.Meter(m.Meter),
					doc.In(doc.Change(m.Peak), "peak "+fromTo(m.A, m.B, words.Highest, m.Peak)))
			}
		}
	}
	for i := range diff.Causes[:min(len(diff.Causes), maxDiffCauses)] {
		cause := &diff.Causes[i]
		v.Field("cause", doc.In(doc.Change(cause.Bytes),
			words.Row(&diff.Cells[cause.Cell])+" "+diff.Cells[cause.Cell].Change+": "+cause.Why))
		for k := range cause.Follows[:min(len(cause.Follows), maxDiffCauses)] {
			f := &cause.Follows[k]
			v.Field("so", doc.In(doc.Change(f.Bytes), words.Row(&diff.Cells[f.Cell])+" "+f.Why))
		}
		if n := len(cause.Follows) - maxDiffCauses; n > 0 {
			v.Field("so", words.Plural(n, "more cell"))
		}
	}
	if len(diff.Causes) == 0 {
		v.noCause(diff)
	}
	if judgement := diff.Judged; judgement != nil {
		limits := "limit " + strings.Join(judgement.Limits, ", ")
		for _, t := range judgement.Over {
			v.Field(limits, doc.In(doc.More, t))
		}
		for _, t := range judgement.Unsure {
			v.Field(limits, doc.In(doc.Doubt, "cannot be judged: "+t))
		}
		if len(judgement.Over)+len(judgement.Unsure) == 0 {
			v.Field(limits, doc.In(doc.Less, "nothing is over"))
		}
	}
	v.causes(diff)
	v.dependent(diff)
	v.others(diff)
	v.lines(diff)
}

// pageRun is [compared.diffRun] for pages.
func (v compared) pageRun(name string, run *model.DiffRun) {
	text := path.Base(run.File) + " · " + words.Plural(run.Cells, "cell") + " in " + words.Duration(run.DurationNS)
	if run.Python != "" {
		text += " · Python " + run.Python
	}
	v.Field(name, text)
}

// causes adds a table of the cells that caused the difference, with a row for each changed meter.
func (v compared) causes(diff *model.Diff) {
	v.Heading("Cells that made the difference")
	v.Prose("", "need = highest − start, keeps = end − start, of the process and its children together")
	table := doc.NewTable(doc.Left("cell"), doc.Left(""), doc.Left("meter"), doc.Right("need A"), doc.Right("B"),
		doc.Right("change"), doc.Right("keeps A"), doc.Right("B"), doc.Right("change"), doc.Right("time A → B"),
		doc.Left("source"))
	table.Item = "cell"
	for i := range diff.Causes {
		row := &diff.Cells[diff.Causes[i].Cell]
		for k := range row.Meters {
			m := &row.Meters[k]
			figures := doc.Spans(words.Meter(m.Meter), doc.Figure(words.Need, m.A), doc.Figure(words.Need, m.B),
				changed(m.Need), doc.Figure(words.Consumed, m.A), doc.Figure(words.Consumed, m.B), changed(m.Consumed))
			switch {
			case k == 0:
				table.Row(words.Row(row), row.Change, figures, times(row, wall), code(sourceOfRow(row)))
			case !words.IsPart(m.Meter) && max(abs(m.Need), abs(m.Consumed)) >= diff.Least:
				table.Also("", "", figures, "", doc.Span{})
			}
		}
	}
	v.Table(table)
}

// dependent lists the cells whose memory changed because of a name that they read.
func (v compared) dependent(diff *model.Diff) {
	table := doc.NewTable(doc.Left("cell"), doc.Left(""), doc.Left("from"), doc.Left("meter"), doc.Right("need"),
		doc.Right("keeps"), doc.Left("why"), doc.Left("source"))
	table.Item = "cell"
	for i := range diff.Causes {
		cause := &diff.Causes[i]
		for k := range cause.Follows {
			follower := &cause.Follows[k]
			row := &diff.Cells[follower.Cell]
			need, keeps := doc.Plain("–"), doc.Plain("–")
			if m := meterOf(row, follower.Meter); m != nil {
				need, keeps = changed(m.Need), changed(m.Consumed)
			}
			table.Row(words.Row(row), row.Change, words.Row(&diff.Cells[cause.Cell]), words.Meter(follower.Meter), need,
				keeps, row.Why, code(sourceOfRow(row)))
		}
	}
	v.section("Cells that follow from them", "", table)
}

// section adds a section with a table, unless the table is empty.
func (v compared) section(title, note string, table *doc.Table) {
	if table.Len() == 0 {
		return
	}
	v.Heading(title)
	if note != "" {
		v.Prose("", note)
	}
	v.Table(table)
}

// others lists the changed cells that caused nothing.
func (v compared) others(diff *model.Diff) {
	if len(diff.Meters) == 0 {
		return
	}
	table := doc.NewTable(doc.Left("cell"), doc.Left(""), doc.Right(words.Meter(diff.Meters[0])+" peak A"),
		doc.Right("B"), doc.Right("change"), doc.Right("need"), doc.Left("why"), doc.Left("source"))
	table.Item = "cell"
	for i := range diff.Cells {
		row := &diff.Cells[i]
		if !row.Consequence && (row.Why != "" || row.Change == model.Same) {
			continue
		}
		figures := doc.Spans("–", "–", "–", "–")
		if m := meterOf(row, diff.Meters[0]); m != nil {
			figures = doc.Spans(doc.Figure(words.Highest, m.A), doc.Figure(words.Highest, m.B), changed(m.Peak),
				changed(m.Need))
		}
		table.Row(words.Row(row), row.Change, figures, row.Why, code(sourceOfRow(row)))
	}
	v.section("Other cells that changed", "", table)
}

// lines lists the changed lines in the cells that caused the difference.
func (v compared) lines(diff *model.Diff) {
	table := doc.NewTable(doc.Left("in"), doc.Left("meter"), doc.Right("at the peak A"), doc.Right("B"),
		doc.Right("change"), doc.Left("line"))
	table.Item = "line"
	for i := range diff.Causes {
		row := &diff.Cells[diff.Causes[i].Cell]
		for k := range row.Lines {
			line := &row.Lines[k]
			least := max(1, diff.Least/16, abs(row.Lines[0].Change)/20)
			if abs(line.Change) < least {
				break
			}
			table.Row(words.Row(row), words.Meter(line.Meter), words.Bytes(line.A), words.Bytes(line.B),
				changed(line.Change), code(words.LineOf(diff, line)))
		}
	}
	v.section("By which line", "What was allocated in the cell and was there at its peak, by the innermost line of "+
		"the user's own; "+words.Meter("cpu.mapped")+" counts what is mapped, touched or not", table)
}
