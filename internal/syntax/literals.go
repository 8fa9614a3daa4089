package syntax

import (
	"regexp"
	"slices"
	"strings"
)

// stringPrefix returns the length of a string's prefix at the beginning of a text; 0 where no string begins.
func stringPrefix(text string) int {
	n := 0
	for n < len(text) && n < 3 && strings.IndexByte("rbuftRBUFT", text[n]) >= 0 {
		n++
	}
	if n == 0 || n == len(text) || text[n] != '\'' && text[n] != '"' {
		return 0
	}
	switch strings.ToLower(text[:n]) {
	case "r", "b", "u", "f", "t", "br", "rb", "fr", "rf", "tr", "rt":
		return n
	}
	return 0
}

// quoteOf returns the quotes, one or three, with which a text begins.
func quoteOf(text string) string {
	if strings.HasPrefix(text, `"""`) || strings.HasPrefix(text, `'''`) {
		return text[:3]
	}
	return text[:1]
}

// quoted cuts a string with a prefix of n bytes, or the beginning of an f-string.
func (l *lexer) quoted(n int) {
	start := l.at
	prefix := strings.ToLower(l.source[start : start+n])
	quote := quoteOf(l.source[start+n : l.end])
	l.at += n + len(quote)
	if strings.ContainsAny(prefix, "ft") {
		l.emit(kindTextStart, start, l.at)
		l.modes = append(l.modes, mode{kind: inText, quote: quote, raw: strings.Contains(prefix, "r")})
		return
	}
	for !strings.HasPrefix(l.source[l.at:l.end], quote) {
		switch c := l.peek(0); {
		case l.at >= l.end, len(quote) == 1 && (c == '\n' || c == '\r'):
			l.fail(start, "unterminated string literal")
		case c == '\\':
			l.at = l.behindLineEnd(min(l.at+1, l.end))
		default:
			l.at++
		}
	}
	l.at += len(quote)
	l.emit(kindString, start, l.at)
}

// literal cuts the text of an f-string, up to the string's end or to a bracket of a field.
func (l *lexer) literal() {
	mode := l.modes[len(l.modes)-1]
	start := l.at
	for {
		rest := l.source[l.at:l.end]
		switch {
		case strings.HasPrefix(rest, mode.quote):
			l.text(start)
			if mode.kind == inSpec {
				l.fail(l.at, "f-string: expecting '}'")
			}
			l.at += len(mode.quote)
			l.emit(kindTextEnd, l.at-len(mode.quote), l.at)
			l.modes = l.modes[:len(l.modes)-1]
			return
		case rest == "", len(mode.quote) == 1 && (rest[0] == '\n' || rest[0] == '\r'):
			l.fail(l.at, "unterminated f-string literal")
		case rest[0] == '\\':
			l.escaped(mode.raw)
		case mode.kind == inText && (strings.HasPrefix(rest, "{{") || strings.HasPrefix(rest, "}}")):
			l.at += 2
		case rest[0] == '{', rest[0] == '}':
			l.text(start)
			l.field(mode.kind)
			return
		default:
			l.at++
		}
	}
}

// escaped skips a backslash and the character behind it, but not a bracket, which begins or ends a field.
func (l *lexer) escaped(raw bool) {
	l.at++
	switch c := l.peek(0); {
	case c == '{' || c == '}' || c == 0:
	case !raw && c == 'N' && l.peek(1) == '{':
		for l.at < l.end && l.source[l.at] != '}' && l.source[l.at] != '\n' {
			l.at++
		}
		if l.peek(0) == '}' {
			l.at++
		}
	default:
		l.at = l.behindLineEnd(l.at)
	}
}

// text emits the text of an f-string from start on, if there is any.
func (l *lexer) text(start int) {
	if l.at > start {
		l.emit(kindText, start, l.at)
	}
}

// field begins or ends a field, at a bracket in the text of an f-string.
func (l *lexer) field(in modeKind) {
	if l.source[l.at] == '{' {
		l.bracket('{')
		top := l.modes[len(l.modes)-1]
		l.modes = append(l.modes, mode{kind: inField, quote: top.quote, raw: top.raw, brackets: len(l.brackets)})
	} else {
		if in == inText {
			l.fail(l.at, "f-string: single '}' is not allowed")
		}
		l.bracket('}')
		l.modes = l.modes[:len(l.modes)-2]
	}
	l.at++
	l.emit(kindOp, l.at-1, l.at)
}

// operator cuts the longest operator, or the token that ends the expression of a field.
func (l *lexer) operator() {
	start := l.at
	mayEndField := len(l.modes) > 0 && len(l.brackets) == l.modes[len(l.modes)-1].brackets
	if mayEndField && l.fieldEnd() {
		return
	}
	size := min(len(operators)-1, l.end-l.at)
	for size > 0 && !operators[size][l.source[l.at:l.at+size]] {
		size--
	}
	if size == 0 {
		l.fail(start, "invalid character")
	}
	if size == 1 {
		l.bracket(l.source[start])
	}
	l.at += size
	l.emit(kindOp, start, l.at)
	if l.cell != nil && len(l.brackets) == 0 && l.source[start:l.at] == "=" {
		l.shellValue()
	}
}

// bracket notes an opening bracket, and checks that a closing bracket matches.
func (l *lexer) bracket(c byte) {
	switch c {
	case '(', '[', '{':
		if len(l.brackets) >= maxBrackets {
			l.fail(l.at, "too many nested parentheses")
		}
		l.brackets = append(l.brackets, c)
	case ')', ']', '}':
		n := len(l.brackets)
		if n == 0 {
			l.fail(l.at, "unmatched '"+string(c)+"'")
		}
		if open := l.brackets[n-1]; closing[open] != c {
			l.fail(l.at, "closing parenthesis '"+string(c)+"' does not match opening parenthesis '"+string(open)+"'")
		}
		l.brackets = l.brackets[:n-1]
	}
}

// closing has the closing bracket of each opening one.
var closing = map[byte]byte{'(': ')', '[': ']', '{': '}'}

// fieldEnd cuts the token that ends the expression in a field of an f-string: }, : or !. It returns false for another
// token.
func (l *lexer) fieldEnd() bool {
	start := l.at
	switch l.source[start] {
	case '}':
		l.brackets = l.brackets[:len(l.brackets)-1]
		l.modes = l.modes[:len(l.modes)-1]
	case ':':
		field := l.modes[len(l.modes)-1]
		l.modes = append(l.modes, mode{kind: inSpec, quote: field.quote, raw: field.raw})
	case '!':
		if l.peek(1) == '=' {
			return false
		}
	default:
		return false
	}
	l.at++
	l.emit(kindOp, start, l.at)
	return true
}

// numbers matches a number as CPython's tokenizer does.
var numbers = regexp.MustCompile(`^(?i:0x(_?[0-9a-f])+|0o(_?[0-7])+|0b(_?[01])+|` +
	`(\d(_?\d)*(\.(\d(_?\d)*)?)?|\.\d(_?\d)*)(e[-+]?\d(_?\d)*)?j?)`)

// number cuts a number.
func (l *lexer) number() {
	start := l.at
	text := numbers.FindString(l.source[start:l.end])
	l.at += len(text)
	isDecimal, isZero := strings.Trim(text, "0123456789_") == "", strings.Trim(text, "0_") == ""
	if len(text) > 1 && text[0] == '0' && isDecimal && !isZero {
		l.fail(start, "leading zeros in decimal integer literals are not permitted")
	}
	l.numberEnd()
	l.emit(kindNumber, start, l.at)
}

// numberEnd fails for a letter or a digit behind a number, unless a keyword begins there that CPython allows.
func (l *lexer) numberEnd() {
	if !isWord(l.peek(0)) && !isDigit(l.peek(0)) {
		return
	}
	rest := l.source[l.at:l.end]
	allowed := []string{"and", "else", "for", "if", "in", "is", "not", "or"}
	if !slices.ContainsFunc(allowed, func(word string) bool { return strings.HasPrefix(rest, word) }) {
		l.fail(l.at, "invalid number")
	}
}
