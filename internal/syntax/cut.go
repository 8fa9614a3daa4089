package syntax

import "strings"

// run cuts the source into tokens, up to kindEnd.
func (l *lexer) run() {
	for l.tokens == nil || l.tokens[len(l.tokens)-1].kind != kindEnd {
		n := len(l.modes)
		switch inLiteral := n > 0 && l.modes[n-1].kind != inField; {
		case inLiteral:
			l.literal()
		case l.fresh:
			l.indentation()
		default:
			l.token()
		}
	}
}

// token cuts the next token, or skips blanks, a comment or a line end within brackets.
func (l *lexer) token() {
	l.blanks()
	if l.at >= l.end {
		l.finish()
		return
	}
	beginsCellLine := l.cell != nil && len(l.brackets) == 0 && len(l.tokens) == l.first
	switch c := l.source[l.at]; {
	case beginsCellLine && strings.IndexByte("%!?,;/", c) >= 0:
		l.magicLine(kindMagic)
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

// finish ends the last line, all blocks and the source.
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

// indentation measures the indentation of the next line with code, and skips lines without code. If a backslash joins
// lines before any code, the indentation in front of the first backslash counts.
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

// indent begins or ends blocks where a line has another indentation than the line before.
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
