// Package markdown prints reports for pull requests and issues: a few small tables that name the largest needs. Keeping
// the texts of a notebook from being read as Markdown belongs here; other pages for people do not.
package markdown

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// How many rows tables have.
const (
	maxCells       = 15
	maxExperiments = 10
	maxLines       = 10
	maxReasons     = 10
	maxMeters      = 6
	maxExcerpt     = 60
)

// page is the content of a page.
type page struct {
	*bufio.Writer
	meters []string // the columns of needs
	cells  []row    // the heaviest, up to a number
	more   int
	also   []row // experiments
	unlike int
	peaks  map[string]model.Figure // of the sessions, by meter, the highest
	order  int
	count  int // cells
	failed int
}

// row is the part of a window that its row needs.
type row struct {
	order   int
	name    string
	figures map[string]model.Figure
	status  string
	source  string
	counted string // counters, in words
}

// Print writes the heaviest cells, the experiments, the lines of the notebook with the most memory at the peak, and
// everything inexact, as GitHub and GitLab show Markdown. Texts of the notebook are code spans, in which nothing is a
// link, a mention or HTML. Its length is bounded.
func Print(w io.Writer, r *model.Report) error { return write(w, r, typedLines) }

// Full writes the same with the lines of libraries that allocated.
func Full(w io.Writer, r *model.Report) error { return write(w, r, allLines) }

func write(w io.Writer, r *model.Report, lines func([]model.Line) []line) error {
	near := r.Nearest()
	p := &page{Writer: bufio.NewWriter(w), meters: columns(r, r.Ranking(near)), peaks: map[string]model.Figure{}}
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

// columns returns the meters with a column: those that users read, the ranking one first.
func columns(r *model.Report, ranks string) []string {
	known := r.AllMeters()
	all := words.Headlines(known)
	if len(all) == 0 {
		all = known
	}
	if slices.Contains(known, ranks) {
		all = append([]string{ranks}, slices.DeleteFunc(slices.Clone(all), func(id string) bool {
			return id == ranks
		})...)
	}
	return all[:min(len(all), maxMeters)]
}

func (p *page) need(r *row) int64 {
	if len(p.meters) == 0 {
		return 0
	}
	return r.figures[p.meters[0]].Need()
}

func (p *page) take(w *model.Window) {
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
	one := row{order: p.order, status: w.Status, source: w.Source[:min(len(w.Source), 4*maxExcerpt*4)]}
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
		if one.name, one.source = Code(w.Name), ""; len(p.also) < maxExperiments {
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
	slices.SortStableFunc(p.cells, func(a, b row) int {
		return cmp.Or(cmp.Compare(p.need(&b), p.need(&a)), cmp.Compare(a.order, b.order))
	})
	if len(p.cells) > maxCells {
		p.cells = p.cells[:maxCells]
		p.more++
	}
}

func (p *page) head(r *model.Report, near []model.Nearness) {
	p.WriteString("### Memory, by ipytracer\n\n")
	fmt.Fprintf(p, "%s", words.Plural(p.count, "cell"))
	if p.failed > 0 {
		fmt.Fprintf(p, ", %d failed", p.failed)
	}
	if r.Host.Name != "" {
		fmt.Fprintf(p, ", on %s (Linux %s, %s)", Code(r.Host.Name), Code(r.Host.Kernel), words.Bytes(r.Host.Memory))
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
		fmt.Fprintf(p, " %s %s", meter(id), size(f, f.Peak, true))
	}
	p.WriteString("\n\n")
	p.nearest(r, near)
	p.slower(r)
}

// table adds a row for each window, and says how many have none.
func (p *page) table(what, rest string, rows []row, more int, sources bool) {
	if len(rows) == 0 {
		return
	}
	p.WriteString("| " + what + " |")
	for i, id := range p.meters {
		if i == 0 {
			fmt.Fprintf(p, " need (%s) | consumed | peak |", meter(id))
		} else {
			fmt.Fprintf(p, " need (%s) |", meter(id))
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

func (p *page) row(one *row, sources bool) {
	p.WriteString("| " + one.name)
	if one.status != model.OK {
		p.WriteString(" (" + Code(one.status) + ")")
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
		fmt.Fprintf(p, " %s |", size(f, f.Need(), true))
		if i == 0 {
			fmt.Fprintf(p, " %s | %s |", size(f, f.Consumed, false), size(f, f.Peak, true))
		}
	}
	if sources {
		p.WriteString(" " + Code(escape.OneLine(one.source, false, maxExcerpt)) + " |")
	}
	p.WriteString("\n")
}

// counters adds the counters of the cells and experiments that have a row.
func (p *page) counters() {
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

func place(f model.Frame) string {
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

// size returns a size with its mark: high ones rest on the peak, so a loss can only make them larger.
func size(f model.Figure, n int64, high bool) string {
	switch {
	case f.Exact:
		return words.Bytes(n)
	case f.Bound == nil && high:
		return "≥" + words.Bytes(n)
	}
	return "≈" + words.Bytes(n)
}

// meter returns the name of a meter for people.
func meter(id string) string {
	if _, known := strings.CutPrefix(id, "gpu."); known {
		return Code(id)
	}
	return Code(strings.TrimPrefix(id, "cpu."))
}

// Code returns a text as a code span within a table: nothing in it is Markdown. The marks around it are longer than any
// in it.
func Code(s string) string {
	s = strings.ReplaceAll(escape.Text(s), `\|`, `\¦`) // two backslashes before a bar would end the cell
	s = strings.ReplaceAll(strings.TrimSpace(s), "|", `\|`)
	if s == "" {
		return ""
	}
	longest, run := 0, 0
	for _, c := range s {
		if run++; c != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	mark := strings.Repeat("`", longest+1)
	if s[0] == '`' || s[len(s)-1] == '`' {
		s = " " + s + " "
	}
	return mark + s + mark
}
