package syntax

import (
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

	at       int
	line     int
	fresh    bool // a line begins at at
	first    int  // index of the first token of the logical line
	indents  []indent
	brackets []byte
	modes    []mode
	tokens   []token
}

// indent is a depth of indentation: with tabs of eight columns, and of one.
type indent struct{ wide, narrow int }

// mode is a part of an f-string that the lexer is in.
type mode struct {
	kind     modeKind
	quote    string
	raw      bool
	brackets int // how many brackets are open in a field, its own among them
}

type modeKind uint8

const (
	inText  modeKind = iota // between the quotes
	inField                 // between { and }
	inSpec                  // between : and }
)

func newLexer(source string, lines []int32, at, end, line int) *lexer {
	return &lexer{source: source, lines: lines, at: at, end: end, line: line, fresh: true, indents: []indent{{}}}
}

// lineStarts returns where each line of a source begins. The first begins behind a byte order mark.
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

// place returns the position of an offset. Offsets that are asked for one after the other rise, but for those of one
// logical line.
func (l *lexer) place(offset int) int32 {
	for l.line < len(l.lines) && int(l.lines[l.line]) <= offset {
		l.line++
	}
	for l.line > 1 && int(l.lines[l.line-1]) > offset {
		l.line--
	}
	return int32(l.line)
}

func (l *lexer) emit(kind kind, start, end int) {
	first, last := l.place(start), l.place(end)
	l.tokens = append(l.tokens, token{kind: kind, start: int32(start), end: int32(end), line: first, endLine: last})
}

func (l *lexer) fail(offset int, msg string) {
	line := l.place(offset)
	panic(&SyntaxError{Pos: Pos{Line: int(line), Col: offset - int(l.lines[line-1]), Offset: offset}, Msg: msg})
}

// peek returns the byte at a distance, and 0 behind the end.
func (l *lexer) peek(distance int) byte {
	if l.at+distance >= l.end {
		return 0
	}
	return l.source[l.at+distance]
}

func (l *lexer) run() {
	for l.tokens == nil || l.tokens[len(l.tokens)-1].kind != kindEnd {
		if n := len(l.modes); n > 0 && l.modes[n-1].kind != inField {
			l.literal()
		} else if l.fresh {
			l.indentation()
		} else {
			l.token()
		}
	}
}

// token cuts the next token, or skips what is none.
func (l *lexer) token() {
	l.blanks()
	if l.at >= l.end {
		l.finish()
		return
	}
	begins := l.cell != nil && len(l.brackets) == 0 && len(l.tokens) == l.first
	switch c := l.source[l.at]; {
	case begins && strings.IndexByte("%!?,;/", c) >= 0:
		l.escape(kindMagic)
	case c == '#':
		l.restOfLine()
	case c == '\n' || c == '\r':
		l.newline()
	case c >= '0' && c <= '9', c == '.' && isDigit(l.peek(1)):
		l.number()
	case c == '\'' || c == '"':
		l.quoted(0)
	case isWord(c):
		l.word()
	case c == '?' && l.cell != nil && len(l.brackets) == 0:
		l.help()
	default:
		l.operator()
	}
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

// lineEnd skips the end of a line, and what stands before the code of the next one.
func (l *lexer) lineEnd() {
	l.at = l.behindLineEnd(l.at)
	if l.cell != nil {
		l.at += l.cell.prefix(l.source[l.at:l.end])
	}
}

func (l *lexer) behindLineEnd(at int) int {
	if strings.HasPrefix(l.source[at:l.end], "\r\n") {
		return at + 2
	}
	return min(at+1, l.end)
}

func (l *lexer) restOfLine() {
	for l.at < l.end && l.source[l.at] != '\n' && l.source[l.at] != '\r' {
		l.at++
	}
}

// newline ends a logical line, unless a bracket is open.
func (l *lexer) newline() {
	start := l.at
	l.lineEnd()
	if len(l.brackets) > 0 {
		return
	}
	if len(l.tokens) > l.first {
		l.emit(kindNewline, start, start)
	}
	l.fresh, l.first = true, len(l.tokens)
}

func (l *lexer) finish() {
	if len(l.brackets) > 0 {
		l.fail(l.at, "'"+string(l.brackets[len(l.brackets)-1])+"' was never closed")
	}
	if len(l.tokens) > l.first {
		l.emit(kindNewline, l.at, l.at)
	}
	for range l.indents[1:] {
		l.emit(kindDedent, l.at, l.at)
	}
	l.emit(kindEnd, l.at, l.at)
}

// indentation measures the line that begins, and skips lines without code.
func (l *lexer) indentation() {
	var now, kept indent
	for l.at < l.end {
		switch c := l.source[l.at]; c {
		case ' ':
			now.wide++
			now.narrow++
			l.at++
		case '\t':
			now.wide = (now.wide/8 + 1) * 8
			now.narrow++
			l.at++
		case '\f':
			now = indent{}
			l.at++
		case '\\':
			if kept.wide == 0 {
				kept = now
			}
			l.continuation()
		case '#':
			l.restOfLine()
		case '\n', '\r':
			l.lineEnd()
			now, kept = indent{}, indent{}
		default:
			if kept.wide > 0 {
				now = kept
			}
			l.indent(now)
			l.fresh, l.first = false, len(l.tokens)
			return
		}
	}
	l.fresh = false
}

func (l *lexer) indent(now indent) {
	top := l.indents[len(l.indents)-1]
	switch {
	case now == top:
	case now.wide > top.wide && now.narrow > top.narrow:
		if len(l.indents) >= maxIndents {
			l.fail(l.at, "too many levels of indentation")
		}
		l.indents = append(l.indents, now)
		l.emit(kindIndent, l.at, l.at)
	default:
		for now.wide < top.wide {
			l.indents = l.indents[:len(l.indents)-1]
			l.emit(kindDedent, l.at, l.at)
			top = l.indents[len(l.indents)-1]
		}
		if now.wide != top.wide {
			l.fail(l.at, "unindent does not match any outer indentation level")
		}
		if now.narrow != top.narrow {
			l.fail(l.at, "inconsistent use of tabs and spaces in indentation")
		}
	}
}

// word cuts a name, a keyword, or a string with a prefix.
func (l *lexer) word() {
	start := l.at
	if n := stringPrefix(l.source[l.at:l.end]); n > 0 {
		l.quoted(n)
		return
	}
	l.at = start + wordLength(l.source[l.at:l.end])
	if l.at == start {
		l.fail(start, "invalid character")
	}
	text, kind := l.source[start:l.at], kindName
	if keywords[text] {
		kind = kindOp
	}
	l.emit(kind, start, l.at)
}

// wordLength returns how many bytes of an identifier stand at the beginning of a text.
func wordLength(text string) int {
	for i, r := range text {
		if !(r < utf8.RuneSelf && isWord(byte(r)) || i > 0 && r >= '0' && r <= '9' ||
			r >= utf8.RuneSelf && wordRune(r, i == 0)) {
			return i
		}
	}
	return len(text)
}

func wordRune(r rune, first bool) bool {
	if unicode.IsLetter(r) || unicode.In(r, unicode.Nl, unicode.Other_ID_Start) {
		return true
	}
	return !first && unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWord reports whether an identifier may begin with a byte.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}
