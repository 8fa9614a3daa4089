package live

import (
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
)

// How a row goes on in further rows, in cells.
const (
	foldIndent = 4
	leastFold  = 10 // the least room behind the indentation, even if it exceeds the width
)

// folded splits a row into rows of at most width cells; a width below 1 is no limit. It splits at spaces, and within
// words that are longer than a row.
func folded(spans []Span, width int, isASCII bool) []Row {
	var rows []Row
	var row Row
	used := 0
	for _, s := range spans {
		text := escape.Text(s.Text)
		if isASCII {
			text = ascii(text)
		}
		for width > 0 && used+escape.Cells(strings.TrimRight(text, " ")) > width {
			head, tail := parted(text, max(width-used, 0), used > foldIndent)
			if head != "" {
				row = append(row, Span{head, s.Style})
			}
			rows, row, used = append(rows, row), Row{{strings.Repeat(" ", foldIndent), Plain}}, foldIndent
			if text = tail; width-foldIndent < leastFold {
				width = foldIndent + leastFold
			}
		}
		if text != "" {
			row, used = append(row, Span{text, s.Style}), used+escape.Cells(text)
		}
	}
	return append(rows, row)
}

// parted divides a text at the last space within a number of cells, and drops that space. If there is none, it returns
// the whole text as tail if canWait is true, for the next row; else it divides the text within a word.
func parted(text string, cells int, canWait bool) (head, tail string) {
	head, _ = escape.Split(text, cells)
	if at := strings.LastIndexByte(head, ' '); at > 0 && strings.TrimSpace(head[:at]) != "" {
		return head[:at], text[at+1:]
	}
	if canWait {
		return "", strings.TrimLeft(text, " ")
	}
	if head == "" {
		head = text[:firstOf(text)]
	}
	return head, text[len(head):]
}

// firstOf returns the length, in bytes, of a text's first character with its combining marks.
func firstOf(text string) int {
	for i, r := range text {
		if i > 0 && escape.Cells(string(r)) > 0 {
			return i
		}
	}
	return len(text)
}

// widened returns columns as wide as their widest cells.
func widened(columns []column, lines []line) []column {
	out := slices.Clone(columns)
	for i := range out {
		for _, l := range lines {
			if out[i].cells > 0 {
				out[i].cells = max(out[i].cells, escape.Cells(escape.Text(l.cells[i])))
			}
		}
	}
	return out
}
