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

// printer collects lines. Everything in its buffer went through paint, which escapes it.
type printer struct {
	b     strings.Builder
	width int // cells of a line; 0 is no limit
	color bool
}

func (p *printer) paint(escaped string, s Style) {
	if p.color && s != Normal && escaped != "" {
		escaped = "\x1b[" + codes[s] + "m" + escaped + "\x1b[0m"
	}
	p.b.WriteString(escaped)
}

func (p *printer) blank() { p.b.WriteByte('\n') }

// wrap writes words, with line feeds between them at the width; later lines begin with indent. A word that does not fit
// on a line of its own keeps one for itself.
func (p *printer) wrap(indent string, words [][]Span) { p.wrapFrom(0, indent, words) }

// wrapFrom is wrap for a first line with a number of cells taken.
func (p *printer) wrapFrom(used int, indent string, words [][]Span) {
	var line []Span
	blank := true // only spaces so far
	for i, word := range words {
		n := Cells(word)
		switch {
		case i == 0:
		case n > 0 && !blank && p.width > 0 && used+1+n > p.width:
			p.run(line)
			p.b.WriteString("\n" + indent)
			line, used = nil, escape.Cells(indent)
		default:
			line, used = append(line, In(word[0].Style, " ")), used+1
		}
		line, used = append(line, word...), used+n
		blank = blank && n == 0
	}
	p.run(line)
}

// splitWords splits spans at spaces. A word may be of several spans, and is of one at least.
func splitWords(spans []Span) [][]Span {
	list := [][]Span{nil}
	for _, s := range spans {
		for i, part := range strings.Split(escape.Text(s.Text), " ") {
			if i > 0 {
				list = append(list, nil)
			}
			last := len(list) - 1
			list[last] = append(list[last], In(s.Style, part))
		}
	}
	return list
}

// run paints escaped spans, neighbours of one style together.
func (p *printer) run(spans []Span) {
	for i := 0; i < len(spans); {
		text, s := "", spans[i].Style
		for ; i < len(spans) && spans[i].Style == s; i++ {
			text += spans[i].Text
		}
		p.paint(text, s)
	}
}

// clipped prints spans, cut to limit cells if the width is limited at all.
func (p *printer) clipped(spans []Span, limit int) {
	for i, s := range spans {
		text := escape.Text(s.Text)
		if p.width > 0 {
			whole := escape.Cells(text) < limit || escape.Cells(text) == limit && i == len(spans)-1
			if !whole {
				p.paint(escape.Cut(text+"…", limit), s.Style)
				return
			}
			limit -= escape.Cells(text)
		}
		p.paint(text, s.Style)
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
