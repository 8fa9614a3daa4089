// Package escape makes strings from a traced process safe to show on a terminal. It also cuts them to the available
// room. Code that inspects characters and their cells belongs here; the choice of texts does not.
package escape

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// maxMarks is the most combining marks behind one character. Living scripts need fewer; long stacks of them paint over
// the neighbouring lines.
const maxMarks = 4

// Text makes a string that came out of a traced process safe to show on a terminal: the result is valid UTF-8,
// one line, and holds only characters that can be seen. Control characters (ESC, C1, newlines, tabs), bidirectional
// overrides, zero-width and other invisible characters, and bytes that are not UTF-8 become Go-like escapes such as
// \x1b and \u202e. A backslash stays as it is, so the result is for people, not for parsing back.
func Text(s string) string {
	return But(s, "")
}

// But is [Text], but leaves the characters in keep as they are.
func But(text, keep string) string {
	if isPlain(text, keep) {
		return text
	}
	var out strings.Builder
	marks := 0
	for len(text) > 0 {
		char, size := utf8.DecodeRuneInString(text)
		if joins(char) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case char == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[0])
		case strings.ContainsRune(keep, char), Visible(char) && marks <= maxMarks:
			out.WriteRune(char)
		default:
			out.WriteString(escapeRune(char))
		}
		text = text[size:]
	}
	return out.String()
}

// isPlain reports whether a text has only printable ASCII characters, and control characters that are in keep.
func isPlain(text, keep string) bool {
	for i := range len(text) {
		c := text[i]
		isPrintable := c >= ' ' && c < 0x7f
		isKept := c < ' ' && strings.IndexByte(keep, c) >= 0
		if !isPrintable && !isKept {
			return false
		}
	}
	return true
}

// escapeRune returns the Go-like escape of a character.
func escapeRune(char rune) string {
	switch {
	case char == '\n':
		return `\n`
	case char == '\r':
		return `\r`
	case char == '\t':
		return `\t`
	case char < 0x80:
		return fmt.Sprintf(`\x%02x`, char)
	case char < 0x10000:
		return fmt.Sprintf(`\u%04x`, char)
	default:
		return fmt.Sprintf(`\U%08x`, char)
	}
}

// Visible reports whether a character can be seen and stays in its own cell. It is false for a few letters that Unicode
// counts as printable but that are blank: they can hide text just as zero-width characters can.
func Visible(char rune) bool {
	switch char {
	case 0x115f, 0x1160, 0x2800, 0x3164, 0xffa0, 0x034f, 0x17b4, 0x17b5:
		return false
	case 0x3000: // the space of CJK text: two cells wide, so it hides nothing
		return true
	}
	return unicode.IsPrint(char)
}

// joins reports whether a character is drawn into the cell of the character before: a combining mark, or a vowel or
// final of Hangul.
func joins(r rune) bool { return r >= 0x1160 && r <= 0x11ff || unicode.In(r, unicode.Mn, unicode.Me) }

// Cells returns the number of terminal cells that an escaped text takes.
func Cells(text string) int {
	cells := 0
	for _, r := range text {
		cells += runeCells(r)
	}
	return cells
}

// runeCells returns the number of terminal cells of a character: 0, 1 or 2.
func runeCells(char rune) int {
	switch {
	case char < 0x300:
		return 1
	case joins(char):
		return 0
	}
	switch width.LookupRune(char).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// Split divides an escaped text. head has at most the given number of cells; a character that is two cells wide is not
// divided.
func Split(text string, cells int) (head, tail string) {
	used := 0
	for i, r := range text {
		if used += runeCells(r); used > cells {
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// Cut shortens an escaped text to at most limit cells. A text that was shortened ends in an ellipsis. A limit below 1
// is no limit.
func Cut(text string, limit int) string {
	if limit < 1 || len(text) <= limit || Cells(text) <= limit {
		return text
	}
	head, _ := Split(text, limit-1)
	return strings.TrimRight(head, " …") + "…"
}

// Bounded escapes a text and cuts it to limit cells. It reads only as much of a long text as it can return.
func Bounded(text string, limit int) string {
	const perCell = 4 * (maxMarks + 1) // bytes one cell can take at most
	if limit > 0 && limit < len(text)/perCell {
		text = Prefix(text, limit*perCell) + "…"
	}
	return Cut(Text(text), limit)
}

// Prefix returns the beginning of a text: the given number of bytes, or a few less so that no character is divided. The
// text must be longer than that.
func Prefix(text string, bytes int) string {
	for bytes > 0 && !utf8.RuneStart(text[bytes]) {
		bytes--
	}
	return text[:bytes]
}

// Pad fills an escaped text with spaces up to a number of cells: on its left side if right is true, so that the text
// stands on the right.
func Pad(text string, cells int, right bool) string {
	fill := strings.Repeat(" ", max(0, cells-Cells(text)))
	if right {
		return fill + text
	}
	return text + fill
}

// Formula escapes a text for terminals, but for its newlines and tabs, and puts an apostrophe in front of a text that a
// spreadsheet would take for a formula. Some spreadsheets treat full-width characters like the ordinary ones, so
// formulas can begin with these, too.
func Formula(text string) string {
	const begins = "=+-@\t\r\n＝＋－＠"
	if first, _ := utf8.DecodeRuneInString(text); text != "" && strings.ContainsRune(begins, first) {
		text = "'" + text
	}
	return But(text, "\n\t")
}
