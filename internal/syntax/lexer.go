package syntax

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds on a source. Those on brackets and indentation are CPython's own.
const (
	maxSource   = 1 << 20
	maxBrackets = 200
	maxIndents  = 100
)

// lexer cuts a source into tokens. It runs over the source once.
type lexer struct {
	source string
	end    int     // where the source to cut ends
	lines  []int32 // where each line begins
	cell   *cell   // nil for pure Python

	at       int      // the offset of the next byte to look at
	line     int      // the line that place returned last
	fresh    bool     // a line begins at at
	first    int      // index of the first token of the logical line
	indents  []indent // of the open blocks; the first is that of the module
	brackets []byte   // open brackets
	modes    []mode   // the open f-strings and their fields, the innermost last
	tokens   []token
}

// indent is a depth of indentation. wide counts a tab as up to eight columns, narrow as one.
type indent struct{ wide, narrow int }

// mode is a part of an f-string in which the lexer is.
type mode struct {
	kind     modeKind
	quote    string
	raw      bool
	brackets int // of a field: the number of open brackets, its own included
}

type modeKind uint8

const (
	inText  modeKind = iota // between the quotes
	inField                 // between { and }
	inSpec                  // between : and }
)

// newLexer returns a lexer of source[at:end], which begins in a line.
func newLexer(source string, lines []int32, at, end, line int) *lexer {
	return &lexer{source: source, lines: lines, at: at, end: end, line: line, fresh: true, indents: []indent{{}}}
}

// lineStarts returns where each line of a source begins. The first line begins behind a byte order mark.
func lineStarts(source string) []int32 {
	lines := []int32{0}
	if strings.HasPrefix(source, "\ufeff") {
		lines[0] = 3
	}
	for i := range len(source) {
		if source[i] == '\n' || source[i] == '\r' && !strings.HasPrefix(source[i+1:], "\n") {
			lines = append(lines, int32(i+1))
		}
	}
	return lines
}

// lineOf returns the line of an offset. It begins its search at the line that it returned last, because offsets rise,
// except within one logical line.
func (l *lexer) lineOf(offset int) int32 {
	for l.line < len(l.lines) && int(l.lines[l.line]) <= offset {
		l.line++
	}
	for l.line > 1 && int(l.lines[l.line-1]) > offset {
		l.line--
	}
	return int32(l.line)
}

// emit appends a token.
func (l *lexer) emit(kind kind, start, end int) {
	first, last := l.lineOf(start), l.lineOf(end)
	l.tokens = append(l.tokens, token{kind: kind, start: int32(start), end: int32(end), line: first, endLine: last})
}

// fail panics with a *SyntaxError.
func (l *lexer) fail(offset int, msg string) {
	line := l.lineOf(offset)
	panic(&SyntaxError{Pos: Pos{Line: int(line), Col: offset - int(l.lines[line-1]), Offset: offset}, Msg: msg})
}

// peek returns the byte at a distance from the current one, 0 behind the end.
func (l *lexer) peek(distance int) byte {
	if l.at+distance >= l.end {
		return 0
	}
	return l.source[l.at+distance]
}

// blanks skips spaces, and line ends behind a backslash.
func (l *lexer) blanks() {
	for l.at < l.end {
		switch c := l.source[l.at]; {
		case c == ' ' || c == '\t' || c == '\f':
			l.at++
		case c == '\\':
			l.continuation()
		default:
			return
		}
	}
}

// continuation skips a backslash and the line end behind it.
func (l *lexer) continuation() {
	l.at++
	if c := l.peek(0); c != '\n' && c != '\r' {
		l.fail(l.at, "unexpected character after line continuation character")
	}
	l.lineEnd()
	if l.at >= l.end {
		l.fail(l.at, "unexpected end of the source behind a backslash")
	}
}

// lineEnd skips the end of a line, and what IPython removes at the beginning of the next.
func (l *lexer) lineEnd() {
	l.at = l.behindLineEnd(l.at)
	if l.cell != nil {
		l.at += l.cell.prefix(l.source[l.at:l.end])
	}
}

// behindLineEnd returns the offset behind a line end, or behind any other byte.
func (l *lexer) behindLineEnd(at int) int {
	if strings.HasPrefix(l.source[at:l.end], "\r\n") {
		return at + 2
	}
	return min(at+1, l.end)
}

// upTo returns the text in front of the first of some characters, or the whole text if it has none of them.
func upTo(text, chars string) string {
	if end := strings.IndexAny(text, chars); end >= 0 {
		return text[:end]
	}
	return text
}

func (l *lexer) restOfLine() {
	for l.at < l.end && l.source[l.at] != '\n' && l.source[l.at] != '\r' {
		l.at++
	}
}

// wordLength returns the length in bytes of the identifier at the beginning of a text, 0 for none.
func wordLength(text string) int {
	for i, r := range text {
		if !wordRune(r, i == 0) {
			return i
		}
	}
	return len(text)
}

// wordRune reports whether a character may be in an identifier, or, with first, may begin one.
func wordRune(r rune, first bool) bool {
	if r < utf8.RuneSelf {
		return isWord(byte(r)) || !first && isDigit(byte(r))
	}
	if unicode.IsLetter(r) || unicode.In(r, unicode.Nl, unicode.Other_ID_Start) {
		return true
	}
	return !first && unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWord reports whether an identifier may begin with a byte. The first byte of any character beyond ASCII counts.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}

// cell has what the lexer knows about a cell of IPython's.
type cell struct {
	indent  string         // the indentation that IPython removes from each line
	prompts *regexp.Regexp // the prompts that IPython removes from each line; nil for none
	inner   int            // how many magics are around this Python
}

// prefix returns how many bytes IPython removes at the beginning of a line: an indentation and a prompt.
func (c *cell) prefix(line string) int {
	size := 0
	if strings.HasPrefix(line, c.indent) {
		size = len(c.indent)
	}
	if c.prompts == nil {
		return size
	}
	return size + len(c.prompts.FindString(upTo(line[size:], "\r\n")))
}
