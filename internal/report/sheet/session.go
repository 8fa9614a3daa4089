package sheet

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Bounds of the Markdown of a session.
const (
	maxReasons    = 10
	maxReason     = 300 // characters
	maxSlower     = 600 // characters: it may name a file
	maxAdviceRows = 3   // `tracer advise` lists ten
)

// SessionMarkdown writes, as Markdown of GitHub and GitLab, the heaviest cells, the experiments, the lines of the
// notebook with the most memory at the peak, and what is not exact. Texts of the notebook are code spans, in which
// nothing is a link, a mention or HTML. The length is bounded.
func SessionMarkdown(w io.Writer, report *model.Report) error {
	return sessionOf(report, typedLines(report.Lines)).Markdown(w)
}

// SessionMarkdownFull is [SessionMarkdown] with the lines that allocated themselves, also those of libraries.
func SessionMarkdownFull(w io.Writer, report *model.Report) error {
	return sessionOf(report, allLines(report.Lines)).Markdown(w)
}

// session is the layout of a session's Markdown.
type session struct {
	*doc.Document
	*sessionRows
}

func sessionOf(report *model.Report, lines []lineRow) *doc.Document {
	near := report.Nearest()
	v := session{&doc.Document{Title: "Memory", Flow: true}, rowsOf(report, report.Ranking(near))}
	v.head(report)
	v.nearest(report, near)
	for i := range report.Certificate.Probes {
		if text := words.ExpensiveProbes(&report.Certificate.Probes[i]); text != "" {
			v.paragraph("Slower: ", doc.Source(escape.Bounded(text, maxSlower)))
		}
	}
	v.windows("cell", v.cells, v.moreCells, "cells that needed less")
	v.windows("experiment", v.experiments, v.moreExperiments, "experiments")
	v.counters()
	v.lines(lines)
	v.advice(report.Advice)
	v.exactness(&report.Certificate)
	return v.Document
}

// paragraph adds a paragraph. The caller must pass texts of the notebook as [doc.Source].
func (v session) paragraph(parts ...any) {
	v.Line(doc.Spans(parts...), nil)
	v.Blank()
}

// table adds a table unless it is empty. more is the number of items without a row, what the text behind it.
func (v session) table(t *doc.Table, more int, what string) {
	if t.Len() == 0 {
		return
	}
	if more > 0 {
		t.More = fmt.Sprintf("and %d more%s", more, what)
	}
	v.Table(t)
	v.Blank()
}

// head sums the session up in a line.
func (v session) head(report *model.Report) {
	parts := []any{words.Plural(v.count, "cell")}
	if v.failed > 0 {
		parts = append(parts, fmt.Sprintf(", %d failed", v.failed))
	}
	if host := &report.Host; host.Name != "" {
		parts = append(parts, ", on ", doc.Source(host.Name), " (Linux ", doc.Source(host.Kernel), ", ",
			words.Bytes(host.Memory)+")")
	}
	parts = append(parts, ".")
	separator := " Peaks of the session: "
	for _, id := range v.meters {
		if f, ok := v.peaks[id]; ok && f.Peak != 0 {
			parts = append(parts, separator, meterName(id), " "+words.Highest.Text(&f))
			separator = ", "
		}
	}
	v.paragraph(parts...)
}

// nearest adds a paragraph on how near the session came to its limits, and on the GPUs that it used.
func (v session) nearest(report *model.Report, near []model.Nearness) {
	var limits []string
	var parts []any
	for i := range near {
		if n := &near[i]; n.Share() > 0 {
			text := strings.TrimSuffix(words.Near(n), ",")
			if !n.Exact && model.Vague(n.Peak, n.Bound) {
				text += ", " + words.Vague
			}
			limits = append(limits, text)
		}
	}
	if len(limits) > 0 {
		parts = append(parts, "Nearest to a limit: "+strings.Join(limits, " · ")+".")
	}
	for _, gpu := range report.GPUs {
		if v.peaks[fmt.Sprintf("gpu.%d.driver", gpu.Index)].Peak <= 0 {
			continue
		}
		if len(parts) > 0 {
			parts = append(parts, " ")
		}
		gpu.Name = escape.Bounded(gpu.Name, maxExcerpt)
		parts = append(parts, fmt.Sprintf("GPU %d: ", gpu.Index), doc.Source(words.Device(&gpu)), ".")
	}
	if len(parts) > 0 {
		v.paragraph(parts...)
	}
}

// windows adds the table of the cells or of the experiments: what is "cell" or "experiment". more is the number of
// those without a row, and rest describes them.
func (v session) windows(what string, rows []windowRow, more int, rest string) {
	t := doc.NewTable(doc.Left(what))
	quantities := [][]words.Quantity{{words.Need, words.Consumed, words.Highest}}
	for i, id := range v.meters {
		t.Columns = append(t.Columns, doc.Right("need ("+doc.Code(meterName(id).Text)+")"))
		if i == 0 {
			t.Columns = append(t.Columns, doc.Right("consumed"), doc.Right("peak"))
		} else {
			quantities = append(quantities, []words.Quantity{words.Need})
		}
	}
	if what == "cell" {
		t.Columns = append(t.Columns, doc.Left("source"))
	}
	for i := range rows {
		cells := doc.Spans(rows[i].name + rows[i].status)
		for k, id := range v.meters {
			for _, q := range quantities[k] {
				cells = append(cells, doc.FigureAt(q, rows[i].figures, id))
			}
		}
		if what == "cell" {
			cells = append(cells, doc.Source(escape.OneLine(rows[i].source, false, maxExcerpt)))
		}
		t.Row(cells)
	}
	v.table(t, more, " "+rest+".")
}

// counters adds the counters of the cells and experiments that have a row.
func (v session) counters() {
	t := doc.NewTable(doc.Left(""), doc.Left("counted"))
	for _, row := range slices.Concat(v.cells, v.experiments) {
		if row.counted != "" {
			t.Row(row.name, row.counted)
		}
	}
	v.table(t, 0, "")
}

// lines adds the lines that held most.
func (v session) lines(rows []lineRow) {
	t := doc.NewTable(doc.Left("line"), doc.Left("meter"), doc.Right("at the session's peak"), doc.Right("allocated"),
		doc.Right("times"))
	for _, l := range rows[:min(len(rows), maxLineRows)] {
		about := func(figure string) string { return words.Sampled(figure, l.Sampled) }
		t.Row(doc.Source(frameText(l.Frame)), meterName(l.Meter), about(words.Bytes(l.atPeak)),
			about(words.Bytes(l.allocated)), about(strconv.FormatInt(l.Count, 10)))
	}
	v.table(t, len(rows)-maxLineRows, " lines that held less.")
}

// advice adds the changes that save most.
func (v session) advice(advice *model.Advice) {
	if advice == nil {
		return
	}
	t := doc.NewTable(doc.Right("saves"), doc.Left("accuracy"), doc.Left("line"), doc.Left("try"))
	for i := range advice.Items[:min(len(advice.Items), maxAdviceRows)] {
		item := &advice.Items[i]
		t.Row(words.AdviceGain(item.Saves), item.Accuracy, doc.Source(words.PlaceName(&item.At)),
			doc.Source(escape.OneLine(item.Title, false, 2*maxExcerpt)))
	}
	v.table(t, len(advice.Items)-maxAdviceRows, ": `tracer advise` has them, with the code.")
}

// exactness says what is not exact, and whether it is known in full who allocated.
func (v session) exactness(c *model.Certificate) {
	const marks = "`≈` is off by a known bound, `≥` is at least that much."
	if c.Complete {
		v.Line(doc.Spans("Nothing was lost, refused or guessed; sizes are measured by the kernel, not sampled. "+marks),
			nil)
	} else {
		v.paragraph(doc.Bold("Not complete."), " "+marks)
		v.reasons(c.Incomplete)
	}
	if !c.Attribution.Complete {
		v.Blank()
		v.paragraph("Who allocated is not known in full; no figure and no window depends on that.")
		v.reasons(c.Attribution.Incomplete)
	}
}

// reasons adds a list, with a line for each of the first maxReasons.
func (v session) reasons(reasons []string) {
	for i, why := range reasons {
		if i == maxReasons {
			v.Line(doc.Spans(fmt.Sprintf("- … and %d more", len(reasons)-i)), nil)
			return
		}
		v.Line(doc.Spans("- ", doc.Source(escape.Bounded(why, maxReason))), nil)
	}
}

// meterName returns the name of a meter for people, as code.
func meterName(id string) doc.Span { return doc.Source(strings.TrimPrefix(id, "cpu.")) }
