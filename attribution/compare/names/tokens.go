package names

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is the kind of a token.
type kind uint8

const (
	name    kind = iota
	sign         // an operator or delimiter
	literal      // a number or a string
	opaque       // a magic, or other text that is no Python: nothing is known of it
)

// token is a token of a source.
type token struct {
	kind  kind
	depth int16 // number of brackets around it; of a bracket, of those around the bracket
	line  int32 // from 1
	text  string
	field bool // it is in the expression of an f-string
}

// logical is a logical line of Python: from one line end that counts to the next.
type logical struct {
	first, last int // lines, from 1
	indent      int
	tokens      []token
}

// Bounds on the part of a source that is read.
const (
	maxSource = 64 << 10
	maxTokens = 16 << 10
	maxDepth  = 100 // of brackets
	maxFields = 4   // f-strings within f-strings
)

// scanner goes through a source.
type scanner struct {
	text   string
	at     int
	line   int
	depth  int
	fields int
	tokens []token
	count  int
}

// scan splits a source into logical lines of Python. The part beyond its bounds is left out.
func scan(source string) (lines []logical) {
	s := &scanner{text: source[:min(len(source), maxSource)], line: 1}
	for s.at < len(s.text) && s.count < maxTokens {
		s.tokens = nil
		l := logical{first: s.line, indent: s.indent()}
		l.first = s.line
		if !s.magic(&l) {
			s.python()
		}
		l.last = s.line
		s.newline()
		if l.tokens = s.tokens; len(l.tokens) > 0 {
			lines = append(lines, l)
		}
		s.depth = 0
	}
	return lines
}

// indent skips the white space before the first token of a line, and returns its width: a tab reaches to the next
// multiple of 8.
func (s *scanner) indent() (n int) {
	for ; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case ' ', '\f':
			n++
		case '\t':
			n = n/8*8 + 8
		default:
			return n
		}
	}
	return n
}

// newline scans the end of a line.
func (s *scanner) newline() {
	if s.at < len(s.text) && s.text[s.at] == '\r' {
		s.at++
	}
	if s.at < len(s.text) && s.text[s.at] == '\n' {
		s.at++
	}
	s.line++
}

// magic scans a line that IPython changes before Python compiles it: %magic, !command, ?name, name?.
func (s *scanner) magic(l *logical) bool {
	rest, _, _ := strings.Cut(s.text[s.at:], "\n")
	trimmed := strings.TrimRight(rest, " \t\r")
	switch {
	case strings.HasPrefix(trimmed, "%") || strings.HasPrefix(trimmed, "!") || strings.HasPrefix(trimmed, "?"):
	case strings.HasSuffix(trimmed, "?") && !strings.ContainsAny(trimmed, "#'\""):
	default:
		return false
	}
	if word, _, _ := strings.Cut(trimmed, " "); word == "%time" || word == "%%time" || word == "%%capture" {
		s.at += len(word)
		if word == "%time" { // a statement, and its names stay
			s.blanks()
			s.python()
			return true
		}
		trimmed = trimmed[len(word):]
	}
	s.at += len(trimmed)
	s.token(opaque, trimmed)
	s.toLineEnd()
	return true
}

func (s *scanner) toLineEnd() {
	for s.at < len(s.text) && s.text[s.at] != '\n' {
		s.at++
	}
}

func (s *scanner) blanks() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t' || s.text[s.at] == '\f') {
		s.at++
	}
}

func (s *scanner) token(k kind, text string) {
	if s.count++; s.count <= maxTokens {
		s.tokens = append(s.tokens, token{kind: k, depth: int16(s.depth), line: int32(s.line), text: text,
			field: s.fields > 0})
	}
}

// python scans tokens up to the end of the logical line.
func (s *scanner) python() {
	for s.at < len(s.text) && s.count < maxTokens {
		switch c := s.text[s.at]; {
		case c == '\n' || c == '\r' && s.next("\r\n"):
			if s.depth == 0 {
				return
			}
			s.newline()
		case c == '\\' && (s.next("\\\n") || s.next("\\\r\n")):
			s.at++
			s.newline()
		case c == '#':
			s.toLineEnd()
		case (c == '!' || c == '%') && s.depth == 0 && s.isCommand():
			rest, _, _ := strings.Cut(s.text[s.at:], "\n")
			s.token(opaque, rest)
			s.toLineEnd()
		default:
			s.one()
		}
	}
}

// isCommand reports whether an assignment such as files = !ls or x = %magic starts here.
func (s *scanner) isCommand() bool {
	n := len(s.tokens)
	return n > 0 && s.tokens[n-1].text == "=" && s.tokens[n-1].depth == 0
}

func (s *scanner) next(text string) bool { return strings.HasPrefix(s.text[s.at:], text) }

// one scans a token.
func (s *scanner) one() {
	r, size := utf8.DecodeRuneInString(s.text[s.at:])
	switch {
	case r == ' ' || r == '\t' || r == '\f' || r == '\r':
		s.at += size
	case r == '"' || r == '\'':
		s.quoted(s.at)
	case r == '_' || unicode.IsLetter(r):
		s.word()
	case unicode.IsDigit(r) || r == '.' && s.at+1 < len(s.text) && unicode.IsDigit(rune(s.text[s.at+1])):
		s.number()
	default:
		s.operator(size)
	}
}

// word scans a name, or a string with a prefix.
func (s *scanner) word() {
	begin := s.at
	for s.at < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[s.at:])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) {
			break
		}
		s.at += size
	}
	word := s.text[begin:s.at]
	if s.at < len(s.text) && (s.text[s.at] == '"' || s.text[s.at] == '\'') && len(word) <= 2 &&
		strings.Trim(strings.ToLower(word), "rbuft") == "" {
		s.quoted(begin)
		return
	}
	s.token(name, word)
}

func (s *scanner) number() {
	begin := s.at
	for s.at < len(s.text) {
		c := s.text[s.at]
		if c != '.' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			if c != '+' && c != '-' || s.at == begin || s.text[s.at-1]|0x20 != 'e' ||
				strings.HasPrefix(s.text[begin:], "0x") {
				break
			}
		}
		s.at++
	}
	s.token(literal, s.text[begin:s.at])
}

// operators are those of more than one character that matter: each contains an = that assigns nothing, or is one token.
var operators = []string{"**=", "//=", ">>=", "<<=", "...", "==", "!=", "<=", ">=", ":=", "->", "+=", "-=", "*=", "/=",
	"%=", "&=", "|=", "^=", "@=", "**", "//", "<<", ">>"}

func (s *scanner) operator(size int) {
	for _, op := range operators {
		if s.next(op) {
			s.token(sign, op)
			s.at += len(op)
			return
		}
	}
	text := s.text[s.at : s.at+size]
	s.at += size
	switch text {
	case "(", "[", "{":
		s.token(sign, text)
		s.depth = min(s.depth+1, maxDepth)
	case ")", "]", "}":
		s.depth = max(0, s.depth-1)
		s.token(sign, text)
	default:
		s.token(sign, text)
	}
}
