package text

import (
	"io"
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
)

// style is the look of a piece of text with colours.
type style uint8

const (
	plain style = iota
	bold
	dim
	red
	green
	yellow
)

var codes = [...]string{plain: "", bold: "1", dim: "2", red: "31", green: "32", yellow: "33"}

// span is a piece of text in one style. The text may be hostile: printing escapes it.
type span struct {
	text  string
	style style
}

// printer collects lines. Everything in its buffer went through paint, which escapes it.
type printer struct {
	b     strings.Builder
	width int // cells of a line; 0 is no limit
	color bool
	// to receives the lines if there are many; nil: they wait for flush
	to  io.Writer
	err error // the error of to
	// answers takes the first lines instead of the page; nil: they are printed.
	answers func(question, text string)
}

// manyBytes is the size from which on waiting lines are written.
const manyBytes = 64 << 10

func (p *printer) paint(escaped string, s style) {
	if p.color && s != plain && escaped != "" {
		escaped = "\x1b[" + codes[s] + "m" + escaped + "\x1b[0m"
	}
	p.b.WriteString(escaped)
}

// flush writes the collected lines, and forgets them.
func (p *printer) flush(w io.Writer) error {
	if p.err == nil {
		_, p.err = io.WriteString(w, p.b.String())
	}
	p.b.Reset()
	return p.err
}

func (p *printer) blank() {
	p.b.WriteByte('\n')
	if p.to != nil && p.b.Len() > manyBytes {
		_ = p.flush(p.to) // the next flush returns the error
	}
}

// title begins a section.
func (p *printer) title(text string) {
	p.blank()
	p.prose("", span{text, bold})
}

// prose prints text, wrapped between words at the width; later lines begin with indent. A word that does not fit
// on a line of its own keeps one for itself.
func (p *printer) prose(indent string, spans ...span) {
	p.wrap(indent, splitWords(spans))
	p.blank()
}

// wrap is prose without the line feed at its end, for split words.
func (p *printer) wrap(indent string, words [][]span) { p.wrapFrom(0, indent, words) }

// wrapFrom is wrap for a first line with a number of cells taken.
func (p *printer) wrapFrom(used int, indent string, words [][]span) {
	var line []span
	blank := true // only spaces so far
	for i, word := range words {
		n := spanCells(word)
		switch {
		case i == 0:
		case n > 0 && !blank && p.width > 0 && used+1+n > p.width:
			p.run(line)
			p.b.WriteString("\n" + indent)
			line, used = nil, escape.Cells(indent)
		default:
			line, used = append(line, span{" ", word[0].style}), used+1
		}
		line, used = append(line, word...), used+n
		blank = blank && n == 0
	}
	p.run(line)
}

// splitWords splits spans at spaces. A word may be of several spans, and is of one at least.
func splitWords(spans []span) [][]span {
	list := [][]span{nil}
	for _, s := range spans {
		for i, part := range strings.Split(escape.Text(s.text), " ") {
			if i > 0 {
				list = append(list, nil)
			}
			last := len(list) - 1
			list[last] = append(list[last], span{part, s.style})
		}
	}
	return list
}

// run paints escaped spans, neighbours of one style together.
func (p *printer) run(spans []span) {
	for i := 0; i < len(spans); {
		text, s := "", spans[i].style
		for ; i < len(spans) && spans[i].style == s; i++ {
			text += spans[i].text
		}
		p.paint(text, s)
	}
}

// clipped prints spans, cut to limit cells if the width is limited at all.
func (p *printer) clipped(spans []span, limit int) {
	for i, s := range spans {
		text := escape.Text(s.text)
		if p.width > 0 {
			whole := escape.Cells(text) < limit || escape.Cells(text) == limit && i == len(spans)-1
			if !whole {
				p.paint(escape.Cut(text+"…", limit), s.style)
				return
			}
			limit -= escape.Cells(text)
		}
		p.paint(text, s.style)
	}
}

// field prints "name  value" with the values wrapped and aligned. Empty values print nothing.
func (p *printer) field(name string, parts ...span) {
	const column = 12
	indent := strings.Repeat(" ", column)
	spans := []span{{escape.Pad(name, column-1, false) + " ", dim}} // some names are longer than the column
	for i, part := range slices.DeleteFunc(parts, func(s span) bool { return s.text == "" }) {
		if i > 0 {
			spans = append(spans, span{" · ", dim})
		}
		spans = append(spans, part)
	}
	if len(spans) > 1 {
		p.prose(indent, spans...)
	}
}
