package doc

import (
	"strings"

	"ipytracer/internal/report/escape"
)

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

// wrapFrom is wrap for a first line of which some cells are used already.
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

// splitWords splits spans at spaces. Each word has one span or more.
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

// Lines below the first one of a table's row.
const (
	// mostAligned is the most lines of a text in its column. A longer text goes on below, where there is more room.
	mostAligned = 3
	leastIndent = 4  // of these lines
	leastRoom   = 10 // cells; below that there is no room
)

// lines splits an escaped text at spaces into lines. The first line has at most first cells, and each other one rest. A
// word that is longer than its line is split.
func lines(text string, first, rest int) (out []string) {
	first, rest = max(first, leastRoom), max(rest, leastRoom)
	room, line, used := first, "", 0
	end := func() {
		out = append(out, strings.TrimRight(line, " "))
		room, line, used = rest, "", 0
	}
	for i, word := range strings.Split(text, " ") {
		n := escape.Cells(word)
		switch {
		case i == 0:
		case used > 0 && used+1+n > room && (n <= rest || room-used < leastRoom):
			end()
		default:
			line, used = line+" ", used+1
		}
		for used+n > room {
			head, tail := escape.Split(word, room-used)
			if head == "" && used == 0 {
				break // a single character is that wide
			}
			line += head
			end()
			word, n = tail, escape.Cells(tail)
		}
		line, used = line+word, used+n
	}
	end()
	return out
}

// folding is the text of a flexible column as lines, and the indentation of the lines below the first.
type folding struct {
	lines  []string
	indent int
}

// margins are the indentation of a table, and the width of its lines with the indentation.
type margins struct{ indent, width int }

// fold lays out the text of a column that begins at a cell of the line and is size cells wide. The lines below the
// first begin where the column does. But many lines of the last column begin at the table's indentation, if there is
// more room.
func (m margins) fold(text string, column, size int, isLast bool) folding {
	aligned := folding{lines: lines(text, size, size), indent: column}
	isLong := len(aligned.lines) > mostAligned
	if !isLast || !isLong {
		return aligned
	}
	indent := max(m.indent, leastIndent)
	room := m.width - indent
	if room <= size {
		return aligned
	}
	return folding{lines: lines(text, size, room), indent: indent}
}

// fitting splits words that are longer than a line, and drops spaces without a word.
func fitting(all [][]Span, room int) (out [][]Span) {
	for _, word := range all {
		if Cells(word) == 0 {
			continue
		}
		var head []Span
		used := 0
		for _, s := range word {
			for room > 0 && used+escape.Cells(s.Text) > room {
				first, rest := escape.Split(s.Text, room-used)
				if first == "" && used == 0 {
					break
				}
				out = append(out, append(head, In(s.Style, first)))
				head, used, s.Text = nil, 0, rest
			}
			head, used = append(head, s), used+escape.Cells(s.Text)
		}
		out = append(out, head)
	}
	return out
}
