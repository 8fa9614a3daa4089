package doc

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
)

// page is the content of a page, as its template needs it.
type page struct {
	Title    string
	Facts    []fact
	Sections []section
}

// fact is a line at the top of a page. Tone is a class of the style sheet.
type fact struct{ Name, Text, Tone string }

// section is a heading with its content: text to paste, a table, or both.
type section struct {
	Title, Note, Pre string
	Columns          []pageColumn
	Rows             [][]cell
	More             string // a text about the items without a row
}

type pageColumn struct {
	Title string
	Right bool
}

type cell struct {
	Text string
	Code bool
	Tone string
}

// The most items of each list, on a page and in Markdown. JSON has all of them.
const (
	htmlItems     = 500
	markdownItems = 20
)

// page returns the blocks for a page: the fields as facts, and a section for each heading. Of each list it has the
// first most items.
func (d *Document) page(most int) *page {
	p := &page{Title: d.Title}
	for _, b := range d.blocks {
		if b.on == Terminal || b.item >= most {
			continue
		}
		last := len(p.Sections) - 1
		switch part := b.part.(type) {
		case heading:
			p.Sections = append(p.Sections, section{Title: string(part)})
		case field:
			for _, s := range part.parts {
				p.Facts = append(p.Facts, fact{part.name, s.Text, classes[s.Style]})
			}
		case paragraph:
			p.Sections[last].Note = plainText(part.words)
		case code:
			p.Sections[last].Pre += part.Text
		case *Table:
			part.fill(&p.Sections[last], most)
		}
	}
	return p
}

// fill copies the table to a section. If the rows are items, it copies only the first most items.
func (t *Table) fill(s *section, most int) {
	if t.Item == "" {
		s.More = t.More
	}
	items := 0
	for _, c := range t.Columns {
		s.Columns = append(s.Columns, pageColumn{c.title, c.right})
	}
	for _, r := range t.rows {
		if !r.same {
			items++
		}
		if items > most && t.Item != "" {
			continue
		}
		var cells []cell
		for _, span := range r.cells {
			cells = append(cells, cell{span.Text, span.Source, classes[span.Style]})
		}
		s.Rows = append(s.Rows, cells)
	}
	if items > most && t.Item != "" {
		s.More = fmt.Sprintf(cmp.Or(t.More, "and %s; --format json has all"), words.Plural(items-most, "more "+t.Item))
	}
}

// plainText joins words by spaces.
func plainText(words [][]Span) (text string) {
	for i, word := range words {
		if i > 0 {
			text += " "
		}
		for _, s := range word {
			text += s.Text
		}
	}
	return text
}

//go:embed page.css
var style string

//go:embed page.html
var layout string

// pages is the template of all pages. A notebook's texts cannot become markup: html/template escapes markup, and
// package escape escapes invisible characters.
var pages = template.Must(template.New("page").Funcs(template.FuncMap{
	"safe": func(s string) string { return escape.But(s, "\n") },
}).Parse(layout))

// sheetData is the input of the template.
type sheetData struct {
	*page
	Style  template.CSS
	Policy string // the page may load nothing, run nothing, and has this one style
}

// StyleSource returns the hash of the style sheet of pages, as a content policy names it.
func StyleSource() string {
	sum := sha256.Sum256([]byte(style))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// HTML writes the blocks as a page without scripts. It fails with w's error only.
func (d *Document) HTML(w io.Writer) error {
	policy := "default-src 'none'; style-src " + StyleSource() + "; base-uri 'none'; form-action 'none'"
	out := bufio.NewWriter(w)
	err := pages.Execute(out, sheetData{d.page(htmlItems), template.CSS(style), policy})
	if err != nil {
		return err
	}
	return out.Flush()
}
