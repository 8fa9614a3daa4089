// Package escape makes strings from a traced process safe to show on a terminal, and cuts them to the available room.
// Code that inspects characters and their cells belongs here; the choice of texts does not.
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

// But is [Text], but lets the characters in keep through.
func But(s, keep string) string {
	clean := true
	for i := 0; i < len(s) && clean; i++ {
		clean = s[i] >= ' ' && s[i] < 0x7f || s[i] < ' ' && strings.IndexByte(keep, s[i]) >= 0
	}
	if clean {
		return s
	}
	var b strings.Builder
	marks := 0
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if joins(r) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case strings.ContainsRune(keep, r), Visible(r) && marks <= maxMarks:
			b.WriteRune(r)
		default:
			b.WriteString(escapeRune(r))
		}
		s = s[size:]
	}
	return b.String()
}

func escapeRune(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	default:
		return fmt.Sprintf(`\U%08x`, r)
	}
}

// Visible reports whether a character can be seen and stays in its own cell. Unicode counts a few blank letters as
// printable; they hide text as well as any zero-width character does.
func Visible(r rune) bool {
	switch r {
	case 0x115f, 0x1160, 0x2800, 0x3164, 0xffa0, 0x034f, 0x17b4, 0x17b5:
		return false
	case 0x3000: // the space of CJK text: two cells wide, and not to be mistaken
		return true
	}
	return unicode.IsPrint(r)
}

// joins reports whether a character is drawn into the cell of the one before: marks, vowels and finals of Hangul.
func joins(r rune) bool { return r >= 0x1160 && r <= 0x11ff || unicode.In(r, unicode.Mn, unicode.Me) }

// Cells returns the number of terminal cells a string takes once it is escaped.
func Cells(s string) int {
	n := 0
	for _, r := range s {
		n += runeCells(r)
	}
	return n
}

func runeCells(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case joins(r):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// Split divides an escaped text behind as many cells as given, or fewer: no character is parted.
func Split(text string, cells int) (head, tail string) {
	n := 0
	for i, r := range text {
		if n += runeCells(r); n > cells {
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// Cut shortens an escaped string to at most limit cells, ending in an ellipsis if anything went. A limit below 1
// is no limit.
func Cut(s string, limit int) string {
	if limit < 1 || len(s) <= limit || Cells(s) <= limit {
		return s
	}
	head, _ := Split(s, limit-1)
	return strings.TrimRight(head, " …") + "…"
}

// Bounded escapes a string and shortens it, without reading more of it than can be shown.
func Bounded(s string, limit int) string {
	const perCell = 4 * (maxMarks + 1) // bytes one cell can take at most
	if limit > 0 && limit < len(s)/perCell {
		s = Prefix(s, limit*perCell) + "…"
	}
	return Cut(Text(s), limit)
}

// Prefix returns at most n bytes of a longer string, not ending within a character.
func Prefix(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Pad fills an escaped string with spaces up to n cells.
func Pad(s string, n int, right bool) string {
	fill := strings.Repeat(" ", max(0, n-Cells(s)))
	if right {
		return fill + s
	}
	return s + fill
}

// Formula makes a text safe for spreadsheets and terminals, newlines and tabs left as they are: a text that a
// spreadsheet would take for a formula begins with an apostrophe. The characters that begin one include the full-width
// forms, which some spreadsheets fold.
func Formula(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", []rune(s[:min(4, len(s))])[0]) {
		s = "'" + s
	}
	return But(s, "\n\t")
}
