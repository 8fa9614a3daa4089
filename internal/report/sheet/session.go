package sheet

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// How many rows tables have.
const (
	maxCells       = 15
	maxExperiments = 10
	maxLineRows    = 10
	maxReasons     = 10
	maxMeters      = 6
	maxExcerpt     = 60
)

// session is the Markdown of a session.
type session struct {
	*bufio.Writer
	meters []string    // the columns of needs
	cells  []windowRow // the heaviest, up to a number
	more   int
	also   []windowRow // experiments
	unlike int
	peaks  map[string]model.Figure // of the sessions, by meter, the highest
	order  int
	count  int // cells
	failed int
}

// windowRow is the part of a window that its row needs.
type windowRow struct {
	order   int
	name    string
	figures map[string]model.Figure
	status  string
	source  string
	counted string // counters, in words
}

// SessionMarkdown writes the heaviest cells, the experiments, the lines of the notebook with the most memory at the
// peak, and everything inexact, as GitHub and GitLab show Markdown. Texts of the notebook are code spans, in which
// nothing is a link, a mention or HTML. Its length is bounded.
func SessionMarkdown(w io.Writer, r *model.Report) error { return writeSession(w, r, typedLines) }

// SessionMarkdownFull writes the same with the lines of libraries that allocated.
func SessionMarkdownFull(w io.Writer, r *model.Report) error { return writeSession(w, r, allLines) }

func writeSession(w io.Writer, r *model.Report, lines func([]model.Line) []lineRow) error {
	near := r.Nearest()
	p := &session{Writer: bufio.NewWriter(w), meters: headlinesOf(r, r.Ranking(near)), peaks: map[string]model.Figure{}}
	for window := range r.AllPassing() {
		p.take(window)
	}
	p.head(r, near)
	p.table("cell", "cells that needed less", p.cells, p.more, true)
	p.table("experiment", "experiments", p.also, p.unlike, false)
	p.counters()
	p.lines(lines(r.Lines))
	p.advice(r.Advice)
	p.exactness(r)
	return p.Flush()
}

// headlinesOf returns the meters with a column: those that users read, the ranking one first.
func headlinesOf(r *model.Report, ranks string) []string {
	known := r.AllMeters()
	all := words.Headlines(known)
	if len(all) == 0 {
		all = known
	}
	if slices.Contains(known, ranks) {
		all = words.First(all, ranks)
	}
	return all[:min(len(all), maxMeters)]
}

func (p *session) need(r *windowRow) int64 {
	if len(p.meters) == 0 {
		return 0
	}
	return r.figures[p.meters[0]].Need()
}

func (p *session) take(w *model.Window) {
	switch w.Kind {
	case model.Session:
		for id, f := range w.Figures() {
			if f.Peak >= p.peaks[id].Peak {
				p.peaks[id] = f
			}
		}
		return
	case model.Statement:
		return
	}
	p.order++
	one := windowRow{order: p.order, status: w.Status, source: w.Source[:min(len(w.Source), 4*maxExcerpt*4)]}
	if w.Counters != nil {
		one.counted = words.Counters(w.Counters)
	}
	one.figures = map[string]model.Figure{}
	for _, id := range p.meters {
		if f, ok := w.Together(id); ok {
			one.figures[id] = f
		}
	}
	if w.Kind == model.Experiment {
		if one.name, one.source = doc.Code(w.Name), ""; len(p.also) < maxExperiments {
			p.also = append(p.also, one)
		} else {
			p.unlike++
		}
		return
	}
	if p.count++; w.Status == model.Error {
		p.failed++
	}
	one.name = words.CellOf(w)
	p.cells = append(p.cells, one)
	slices.SortStableFunc(p.cells, func(a, b windowRow) int {
		return cmp.Or(cmp.Compare(p.need(&b), p.need(&a)), cmp.Compare(a.order, b.order))
	})
	if len(p.cells) > maxCells {
		p.cells = p.cells[:maxCells]
		p.more++
	}
}

func (p *session) head(r *model.Report, near []model.Nearness) {
	p.WriteString("### Memory, by ipytracer\n\n")
	fmt.Fprintf(p, "%s", words.Plural(p.count, "cell"))
	if p.failed > 0 {
		fmt.Fprintf(p, ", %d failed", p.failed)
	}
	if r.Host.Name != "" {
		fmt.Fprintf(p, ", on %s (Linux %s, %s)", doc.Code(r.Host.Name), doc.Code(r.Host.Kernel),
			words.Bytes(r.Host.Memory))
	}
	p.WriteString(".")
	for i, id := range p.meters {
		f, ok := p.peaks[id]
		if !ok || f.Peak == 0 {
			continue
		}
		if i == 0 {
			p.WriteString(" Peaks of the session:")
		} else {
			p.WriteString(",")
		}
		fmt.Fprintf(p, " %s %s", meterCode(id), words.Highest.Text(&f))
	}
	p.WriteString("\n\n")
	p.nearest(r, near)
	p.slower(r)
}

// table adds a row for each window, and says how many have none.
func (p *session) table(what, rest string, rows []windowRow, more int, sources bool) {
	if len(rows) == 0 {
		return
	}
	p.WriteString("| " + what + " |")
	for i, id := range p.meters {
		if i == 0 {
			fmt.Fprintf(p, " need (%s) | consumed | peak |", meterCode(id))
		} else {
			fmt.Fprintf(p, " need (%s) |", meterCode(id))
		}
	}
	if sources {
		p.WriteString(" source |")
	}
	p.WriteString("\n|---|" + strings.Repeat("--:|", len(p.meters)+min(len(p.meters), 1)*2))
	if sources {
		p.WriteString("---|")
	}
	p.WriteString("\n")
	for _, one := range rows {
		p.row(&one, sources)
	}
	if more > 0 {
		fmt.Fprintf(p, "\n… and %d more %s.\n", more, rest)
	}
	p.WriteString("\n")
}

func (p *session) row(one *windowRow, sources bool) {
	p.WriteString("| " + one.name)
	if one.status != model.OK {
		p.WriteString(" (" + doc.Code(one.status) + ")")
	}
	p.WriteString(" |")
	for i, id := range p.meters {
		f, ok := one.figures[id]
		if !ok {
			p.WriteString(" – |")
			if i == 0 {
				p.WriteString(" – | – |")
			}
			continue
		}
		fmt.Fprintf(p, " %s |", words.Need.Text(&f))
		if i == 0 {
			fmt.Fprintf(p, " %s | %s |", words.Consumed.Text(&f), words.Highest.Text(&f))
		}
	}
	if sources {
		p.WriteString(" " + doc.Code(escape.OneLine(one.source, false, maxExcerpt)) + " |")
	}
	p.WriteString("\n")
}

// counters adds the counters of the cells and experiments that have a row.
func (p *session) counters() {
	begun := false
	for _, one := range append(p.cells, p.also...) {
		if one.counted == "" {
			continue
		}
		if !begun {
			p.WriteString("| | counted |\n|---|---|\n")
			begun = true
		}
		p.WriteString("| " + one.name + " | " + one.counted + " |\n")
	}
	if begun {
		p.WriteString("\n")
	}
}

func frameText(f model.Frame) string {
	if f.IsNowhere() {
		return escape.Bounded(f.Function, 2*maxExcerpt)
	}
	where := f.File
	if f.InCell() {
		where = words.FrameCell(&f)
	}
	if f.Function != "" && f.Function != "<module>" {
		where += " " + f.Function
	}
	return escape.Bounded(fmt.Sprintf("%s:%d", where, f.Line), 2*maxExcerpt)
}

// meterCode returns the name of a meter for people.
func meterCode(id string) string {
	if _, known := strings.CutPrefix(id, "gpu."); known {
		return doc.Code(id)
	}
	return doc.Code(strings.TrimPrefix(id, "cpu."))
}
