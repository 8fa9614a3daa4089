package doc

import (
	"strings"

	"ipytracer/internal/report/escape"
)

// printer collects the lines of a terminal in its buffer. The texts in it are escaped.
type printer struct {
	b     strings.Builder
	width int // cells of a line; 0 is no limit
	color bool
}

// paint writes a text, which must be escaped, in a style.
func (p *printer) paint(escaped string, s Style) {
	if p.color && s != Normal && escaped != "" {
		escaped = "\x1b[" + codes[s] + "m" + escaped + "\x1b[0m"
	}
	p.b.WriteString(escaped)
}

func (p *printer) blank() { p.b.WriteByte('\n') }

// wrap writes words in lines of the width. Each line but the first begins with indent. A word that is longer than a
// line is not split: it has a line for itself.
func (p *printer) wrap(indent string, words [][]Span) { p.wrapFrom(0, indent, words) }

// wrapFrom is wrap for a first line of which some cells are used already.
func (p *printer) wrapFrom(used int, indent string, words [][]Span) {
	var line []Span
	onlySpaces := true // so far
	for i, word := range words {
		width := Cells(word)
		isTooLong := p.width > 0 && used+1+width > p.width
		switch {
		case i == 0:
			// no space in front of the first word
		case isTooLong && width > 0 && !onlySpaces:
			p.run(line)
			p.b.WriteString("\n" + indent)
			line, used = nil, escape.Cells(indent)
		default:
			line, used = append(line, In(word[0].Style, " ")), used+1
		}
		line, used = append(line, word...), used+width
		onlySpaces = onlySpaces && width == 0
	}
	p.run(line)
}

// splitWords escapes spans and splits them at spaces. A word has several spans if its style changes within it.
func splitWords(spans []Span) [][]Span {
	words := [][]Span{nil}
	for _, s := range spans {
		for i, part := range strings.Split(escape.Text(s.Text), " ") {
			if i > 0 {
				words = append(words, nil)
			}
			last := len(words) - 1
			words[last] = append(words[last], In(s.Style, part))
		}
	}
	return words
}

// run paints escaped spans. It joins neighbours of the same style.
func (p *printer) run(spans []Span) {
	for i := 0; i < len(spans); {
		text, s := "", spans[i].Style
		for ; i < len(spans) && spans[i].Style == s; i++ {
			text += spans[i].Text
		}
		p.paint(text, s)
	}
}

// clipped prints spans, cut to limit cells with an ellipsis. It cuts nothing if the printer's width is not limited.
func (p *printer) clipped(spans []Span, limit int) {
	for i, s := range spans {
		text := escape.Text(s.Text)
		if p.width > 0 {
			width, isLast := escape.Cells(text), i == len(spans)-1
			fits := width < limit || width == limit && isLast
			if !fits {
				p.paint(escape.Cut(text+"…", limit), s.Style)
				return
			}
			limit -= width
		}
		p.paint(text, s.Style)
	}
}

// The layout of a text in a flexible column that takes several lines.
const (
	mostAligned = 3  // lines that begin where the column does; a text with more goes on at the table's indentation
	leastIndent = 4  // cells in front of lines at the table's indentation
	leastRoom   = 10 // cells of a line
)

// lines splits an escaped text at spaces into lines. The first line has at most first cells, and each other line rest
// cells. A word that is longer than its line is split.
func lines(text string, first, rest int) (out []string) {
	first, rest = max(first, leastRoom), max(rest, leastRoom)
	room, line, used := first, "", 0
	endLine := func() {
		out = append(out, strings.TrimRight(line, " "))
		room, line, used = rest, "", 0
	}
	for i, word := range strings.Split(text, " ") {
		width := escape.Cells(word)
		isTooLong := used > 0 && used+1+width > room
		isBetterBelow := width <= rest || room-used < leastRoom // a longer word is split in any case
		switch {
		case i == 0:
			// no space in front of the first word
		case isTooLong && isBetterBelow:
			endLine()
		default:
			line, used = line+" ", used+1
		}
		for used+width > room {
			head, tail := escape.Split(word, room-used)
			if head == "" && used == 0 {
				break // a single character is wider than the line
			}
			line += head
			endLine()
			word, width = tail, escape.Cells(tail)
		}
		line, used = line+word, used+width
	}
	endLine()
	return out
}

// folding is the text of a flexible column as lines.
type folding struct {
	lines  []string
	indent int // of all lines but the first
}

// margins are the indentation of a table, and the width of its lines with the indentation.
type margins struct{ indent, width int }

// fold splits the text of a flexible column into lines. The column begins at cell column of the line, and is size cells
// wide. All lines begin where the column does. But if the text of the last column has many lines, and there is more
// room at the table's indentation, then all but its first line begin there.
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

// fitting splits words that are longer than room cells, and leaves out empty words. A room of 0 or less is no limit.
func fitting(words [][]Span, room int) (out [][]Span) {
	for _, word := range words {
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
