package doc

import (
	"bufio"
	"io"
	"strings"

	"ipytracer/internal/report/escape"
)

// Size is the room of a terminal.
type Size struct {
	Width int // cells of a line; 0 is no limit
	Color bool
}

// Text writes the blocks for a terminal, and forgets them. It fails with w's error only.
func (d *Document) Text(w io.Writer, size Size) error {
	out := bufio.NewWriter(w)
	p := &printer{width: size.Width, color: size.Color}
	for _, b := range d.blocks {
		if b.on != Page {
			p.block(b.part)
			_, _ = out.WriteString(p.b.String()) // Flush returns the error
			p.b.Reset()
		}
	}
	d.blocks = nil
	return out.Flush()
}

func (p *printer) block(part any) {
	switch part := part.(type) {
	case blank:
		p.blank()
	case heading:
		p.blank()
		p.wrap("", splitWords([]Span{Bold(string(part))}))
		p.blank()
	case paragraph:
		words := part.words
		p.b.WriteString(part.first)
		if part.fit {
			words = fitting(words, p.width-escape.Cells(part.first))
		}
		p.wrapFrom(escape.Cells(part.first), part.indent, words)
		p.blank()
	case line:
		for _, s := range part.whole {
			p.paint(escape.Text(s.Text), s.Style)
		}
		p.clipped(part.cut, p.width-Cells(part.whole))
		p.blank()
	case field:
		p.field(part.name, part.parts)
	case firstLine:
		p.answer(part)
	case code:
		for text := range strings.Lines(part.Text) {
			p.paint(escape.Text(strings.TrimSuffix(text, "\n")), part.Style)
			p.blank()
		}
	case *Table:
		part.print(p)
	}
}

// field prints "name  value" with the values wrapped and aligned.
func (p *printer) field(name string, parts []Span) {
	const column = 12
	indent := strings.Repeat(" ", column)
	spans := []Span{Dim(escape.Pad(name, column-1, false) + " ")} // some names are longer than the column
	for i, part := range parts {
		if i > 0 {
			spans = append(spans, Dim(" · "))
		}
		spans = append(spans, part)
	}
	p.wrap(indent, splitWords(spans))
	p.blank()
}

// answerColumn is the column of the text in the first lines.
const answerColumn = 13

// answer writes one of the first lines, wrapped at the width. Code in it, which people paste, stays in one piece.
func (p *printer) answer(a firstLine) {
	name := []Span{Dim(escape.Pad(a.Question, answerColumn-1, false))}
	words := append([][]Span{name}, wordsAround(a.Text, a.code)...)
	p.wrap(strings.Repeat(" ", answerColumn), withUnits(words))
	p.blank()
}

// wordsAround returns the words of a text; each code in it is one word. Code may begin with other code.
func wordsAround(text string, code []string) [][]Span {
	at, first := len(text), ""
	for _, c := range code {
		if i := strings.Index(text, c); c != "" && i >= 0 && (i < at || i == at && len(c) > len(first)) {
			at, first = i, c
		}
	}
	if first == "" {
		return splitWords([]Span{Plain(text)})
	}
	var words [][]Span
	if before := strings.TrimSuffix(text[:at], " "); before != "" {
		words = splitWords([]Span{Plain(before)})
	}
	words = append(words, []Span{Plain(escape.Text(first))})
	if after := text[at+len(first):]; after != "" {
		words = append(words, wordsAround(strings.TrimPrefix(after, " "), code)...)
	}
	return words
}

// withUnits makes one word of a number and the unit behind it.
func withUnits(all [][]Span) (out [][]Span) {
	for _, word := range all {
		last := len(out) - 1
		if last > 0 && len(word) == 1 && len(out[last]) == 1 && isUnit(word[0].Text) &&
			strings.ContainsAny(out[last][0].Text, "0123456789") {
			out[last] = []Span{In(word[0].Style, out[last][0].Text+" "+word[0].Text)}
			continue
		}
		out = append(out, word)
	}
	return out
}

func isUnit(word string) bool {
	switch strings.TrimRight(word, ".,;:)") {
	case "B", "KiB", "MiB", "GiB", "TiB", "%":
		return true
	}
	return false
}

// Write writes the document in a format: text, for a terminal of a size; markdown; or html. It fails with w's error
// only.
func (d *Document) Write(w io.Writer, format string, size Size) error {
	switch format {
	case "markdown":
		return d.Markdown(w)
	case "html":
		return d.HTML(w)
	}
	return d.Text(w, size)
}
