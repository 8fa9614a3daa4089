package live

import (
	"slices"
	"strings"

	"ipytracer/report/escape"
)

// foldIndent is where a row goes on, in cells, and leastFold what it has room for at least.
const (
	foldIndent = 4
	leastFold  = 10
)

// folded is a row as rows of at most width cells, below 1 of any number: split at spaces, and words that are longer as well.
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

// parted divides a text behind the last space within so many cells. One without may wait for the next row, or is divided at that many cells.
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

// firstOf is how many bytes the first character of a text has, with the marks on it.
func firstOf(text string) int {
	for i, r := range text {
		if i > 0 && escape.Cells(string(r)) > 0 {
			return i
		}
	}
	return len(text)
}

// widened are columns with room for all that is in them.
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
