package live

import (
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
)

// foldIndent is the indentation of a row's continuation, in cells, and leastFold its least width.
const (
	foldIndent = 4
	leastFold  = 10
)

// folded returns a row as rows of at most width cells, below 1 of any number. It splits at spaces, and splits longer
// words as well.
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

// parted divides a text behind the last space within a number of cells. A text without one may wait for the next row,
// or is divided at that many cells.
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

// firstOf returns the length in bytes of a text's first character, with the marks on it.
func firstOf(text string) int {
	for i, r := range text {
		if i > 0 && escape.Cells(string(r)) > 0 {
			return i
		}
	}
	return len(text)
}

// widened returns columns with room for all their content.
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
