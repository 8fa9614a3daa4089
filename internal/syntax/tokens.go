package syntax

import "strings"

type kind uint8

const (
	kindEnd kind = iota
	kindNewline
	kindIndent
	kindDedent
	kindName
	kindOp // also keywords
	kindNumber
	kindString
	kindTextStart // the prefix and the quotes of an f-string
	kindText
	kindTextEnd
	kindMagic // a line of IPython's
	kindShell // IPython's part of a line, behind =
)

// token is a part of a source. A source of a mebibyte may have a million.
type token struct {
	kind          kind
	start, end    int32
	line, endLine int32
}

var keywords = set("False None True and as assert async await break class continue def del elif else except finally " +
	"for from global if import in is lambda nonlocal not or pass raise return try while with yield")

func set(words string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		all[word] = true
	}
	return all
}

var operators = [4]map[string]bool{
	1: set("+ - * / % @ & | ^ ~ < > ( ) [ ] { } , : . ; ="),
	2: set("== != <= >= << >> ** // -> := += -= *= /= %= @= &= |= ^="),
	3: set("... **= //= >>= <<="),
}

func (l *lexer) operator() {
	start := l.at
	field := len(l.modes) > 0 && len(l.brackets) == l.modes[len(l.modes)-1].brackets
	if field && l.fieldEnd() {
		return
	}
	size := 3
	for size > 0 && !(l.at+size <= l.end && operators[size][l.source[l.at:l.at+size]]) {
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
		l.assigned()
	}
}

// bracket notes one that opens, and checks one that closes.
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
		if open := l.brackets[n-1]; open == '(' && c != ')' || open == '[' && c != ']' || open == '{' && c != '}' {
			l.fail(l.at, "closing parenthesis '"+string(c)+"' does not match opening parenthesis '"+string(open)+"'")
		}
		l.brackets = l.brackets[:n-1]
	}
}

// fieldEnd cuts what ends the expression in a field of an f-string.
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

func (l *lexer) number() {
	start := l.at
	base := ""
	if l.source[start] == '0' {
		switch l.peek(1) | 0x20 {
		case 'x':
			base = "0123456789abcdef"
		case 'o':
			base = "01234567"
		case 'b':
			base = "01"
		}
	}
	if base != "" {
		l.at += 2
		if l.peek(0) == '_' {
			l.at++
		}
		if !l.digits(base) {
			l.fail(l.at, "invalid number")
		}
	} else {
		l.decimal(start)
	}
	l.numberEnd()
	l.emit(kindNumber, start, l.at)
}

func (l *lexer) decimal(start int) {
	const digits = "0123456789"
	whole := l.digits(digits)
	integer := true
	if l.peek(0) == '.' {
		integer = false
		l.at++
		if isDigit(l.peek(0)) {
			l.digits(digits)
		}
	}
	if l.peek(0)|0x20 == 'e' && (isDigit(l.peek(1)) || (l.peek(1) == '+' || l.peek(1) == '-') && isDigit(l.peek(2))) {
		integer = false
		l.at++
		if !isDigit(l.peek(0)) {
			l.at++
		}
		l.digits(digits)
	}
	if l.peek(0)|0x20 == 'j' {
		integer = false
		l.at++
	}
	text := l.source[start:l.at]
	if integer && whole && text[0] == '0' && strings.Trim(text, "0_") != "" {
		l.fail(start, "leading zeros in decimal integer literals are not permitted")
	}
}

// digits skips digits with single underscores between them, and reports whether there were any.
func (l *lexer) digits(base string) bool {
	start := l.at
	for l.at < l.end {
		c := l.source[l.at]
		if c == '_' && l.at > start && l.source[l.at-1] != '_' && strings.IndexByte(base, l.peek(1)|0x20) >= 0 ||
			c == '_' && l.at > start && isDigit(l.peek(1)) && strings.IndexByte(base, l.peek(1)) >= 0 {
			l.at++
			continue
		}
		if c == '_' || strings.IndexByte(base, c) < 0 && strings.IndexByte(base, c|0x20) < 0 {
			break
		}
		l.at++
	}
	return l.at > start
}

// numberEnd refuses a letter behind a number, but for the keywords that CPython takes there.
func (l *lexer) numberEnd() {
	if !isWord(l.peek(0)) && !isDigit(l.peek(0)) {
		return
	}
	for _, word := range []string{"and", "else", "for", "if", "in", "is", "not", "or"} {
		if strings.HasPrefix(l.source[l.at:l.end], word) {
			return
		}
	}
	l.fail(l.at, "invalid number")
}
