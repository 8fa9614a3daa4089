package doc

import (
	"bufio"
	"io"
	"strings"

	"ipytracer/internal/report/escape"
)

// Size is what a terminal can show.
type Size struct {
	Width int  // cells of a line; 0 is no limit
	Color bool // it has colours
}

// Text writes the blocks for a terminal, and removes all blocks from the document. It fails with w's error only.
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

// block prints the part of a block.
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

// answer writes one of the first lines, wrapped at the width, unless it has no text. It does not wrap the code in it,
// which people paste. Something of the text is always beside the question.
func (p *printer) answer(a firstLine) {
	if a.Text == "" {
		return
	}
	name := escape.Pad(a.Question, answerColumn-1, false)
	p.paint(name, faint)
	p.b.WriteByte(' ')
	p.wrapFrom(escape.Cells(name)+1, strings.Repeat(" ", answerColumn), withUnits(wordsAround(a.Text, a.code)))
	p.blank()
}

// wordsAround returns the words of a text. Each of the codes in it is one word.
func wordsAround(text string, codes []string) [][]Span {
	begin, first := firstOf(text, codes)
	if first == "" {
		return splitWords([]Span{Plain(text)})
	}
	var words [][]Span
	if before := strings.TrimSuffix(text[:begin], " "); before != "" {
		words = splitWords([]Span{Plain(before)})
	}
	words = append(words, []Span{Plain(escape.Text(first))})
	if after := text[begin+len(first):]; after != "" {
		words = append(words, wordsAround(strings.TrimPrefix(after, " "), codes)...)
	}
	return words
}

// firstOf returns the code that begins first in a text, and where; "" for none. Of several that begin there it returns
// the longest.
func firstOf(text string, codes []string) (begin int, first string) {
	begin = len(text)
	for _, code := range codes {
		i := strings.Index(text, code)
		if code == "" || i < 0 {
			continue
		}
		if i < begin || i == begin && len(code) > len(first) {
			begin, first = i, code
		}
	}
	return begin, first
}

// withUnits joins each number and the unit behind it to one word, so that no line ends between them.
func withUnits(words [][]Span) (out [][]Span) {
	for _, word := range words {
		last := len(out) - 1
		isAfterNumber := last >= 0 && len(out[last]) == 1 && strings.ContainsAny(out[last][0].Text, "0123456789")
		if isAfterNumber && len(word) == 1 && isUnit(word[0].Text) {
			out[last] = []Span{In(word[0].Style, out[last][0].Text+" "+word[0].Text)}
			continue
		}
		out = append(out, word)
	}
	return out
}

// isUnit reports whether a word is a unit of bytes or a per cent sign, with or without punctuation behind it.
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
