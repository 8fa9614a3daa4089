// Package sheet prints comparisons, plans and audits as pages without scripts: HTML for a browser or a mail, Markdown
// for pull requests. The content and order of such a page belong here; the interactive page of a session does not.
package sheet

import (
	"fmt"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// page is the content of a page, for either form.
type page struct {
	Title    string
	Facts    []fact
	Sections []section
}

// fact is a line at the top: a name and a text.
type fact struct {
	Name, Text string
	Tone       tone
}

// section is a heading with its content: text to paste, a table, or both.
type section struct {
	Title   string
	Note    string
	Pre     string
	Columns []column
	Rows    [][]cell
	More    string // number of items without a row
}

type column struct {
	Title string
	Right bool
}

// cell is one of a table. Everything in it may come from a notebook.
type cell struct {
	Text string
	Code bool
	Tone tone
}

// tone is the emphasis of a text; no information is in it alone.
type tone string

const (
	more  tone = "more"
	less  tone = "less"
	doubt tone = "doubt"
)

// The most rows of each kind on a page; JSON has all.
const (
	htmlRows     = 500
	markdownRows = 20
)

func plain(text string) cell { return cell{Text: text} }

func code(text string) cell { return cell{Text: clip(text), Code: true} }

// clip returns a text of a notebook in one line, cut to a row's width.
func clip(text string) string { return escape.OneLine(text, false, 160) }

// change returns a difference with its sign, and whether it is more or less.
func change(bytes int64) cell { return cell{Text: words.Change(bytes), Tone: toneOf(bytes)} }

func toneOf(change int64) tone {
	switch {
	case change > 0:
		return more
	case change < 0:
		return less
	}
	return ""
}

// figure returns a figure with its mark; high ones rest on the peak, so a loss can only make them larger.
func figure(f *model.Figure, of func(model.Figure) int64, high bool) cell {
	switch {
	case f == nil:
		return plain("–")
	case f.Exact:
		return plain(words.Bytes(of(*f)))
	case f.Bound == nil && high:
		return cell{Text: "≥" + words.Bytes(of(*f)), Tone: doubt}
	}
	return cell{Text: "≈" + words.Bytes(of(*f)), Tone: doubt}
}

func peak(f model.Figure) int64     { return f.Peak }
func need(f model.Figure) int64     { return f.Need() }
func consumed(f model.Figure) int64 { return f.Consumed }

// doubts adds a section for the doubts, if there are any.
func (p *page) doubts(all []string, rows int) {
	if len(all) == 0 {
		return
	}
	s := section{Title: "Doubts", Note: "What speaks against taking everything at its word."}
	for i, text := range all {
		if i == rows {
			s.More = words.Plural(len(all)-i, "more doubt")
			break
		}
		s.Rows = append(s.Rows, []cell{{Text: text, Tone: doubt}})
	}
	s.Columns = []column{{Title: "doubt"}}
	p.Sections = append(p.Sections, s)
}

// columns returns the columns of a table: titles that begin with ">" stand to the right.
func columns(titles ...string) (out []column) {
	for _, t := range titles {
		name, right := strings.CutPrefix(t, ">")
		out = append(out, column{name, right})
	}
	return out
}

// rest says how many rows have no room.
func rest(n, rows int, what string) string {
	if n <= rows {
		return ""
	}
	return fmt.Sprintf("and %s; --format json has all", words.Plural(n-rows, "more "+what))
}
