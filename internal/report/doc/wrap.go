package doc

import (
	"strings"

	"ipytracer/internal/report/escape"
)

// Lines below the first one of a table's row.
const (
	// mostAligned is the most lines of a text in its column; a longer one goes on below, where there is more room.
	mostAligned = 3
	leastIndent = 4  // of these lines
	leastRoom   = 10 // cells; below that there is no room
)

// lines splits an escaped text at spaces into lines of at most first cells, and rest for all but the first. A word that
// is longer is split.
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

// folding is the text of a flexible column as lines, and the indentation of those below the first.
type folding struct {
	lines  []string
	indent int
}

// margins are the first and last cells of a table's lines.
type margins struct{ indent, width int }

// fold lays out a text that begins at a column of a line and has a width. If the last column would take many lines, it
// goes on below from the indentation of the table.
func (m margins) fold(text string, at, size int, last bool) folding {
	aligned := folding{lines(text, size, size), at}
	if !last || len(aligned.lines) <= mostAligned {
		return aligned
	}
	indent := max(m.indent, leastIndent)
	if m.width-indent <= size {
		return aligned
	}
	return folding{lines(text, size, m.width-indent), indent}
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
