package syntax

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Bounds on a tree. maxNesting is how deep constructs may stand in each other. Chains of one operator, of attributes
// and of elif are nested as well, although they are not written so: maxDepth is for all of them together.
const (
	maxNesting = 200
	maxDepth   = 1000
)

// SyntaxError says where and why a source is not Python.
type SyntaxError struct {
	Pos
	Msg string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Col+1, e.Msg)
}

// Parse reads pure Python: a file, or a cell without IPython's syntax. Its error is a *SyntaxError.
func Parse(source string) (*Module, error) { return parse(source, nil) }

// ParseCell reads a cell of IPython's: Python, and lines that begin with %, ! or ?, or end with ?. Its error is a
// *SyntaxError.
func ParseCell(source string) (*Module, error) { return parse(source, &cell{}) }

func parse(source string, in *cell) (module *Module, err error) {
	if len(source) > maxSource {
		return nil, &SyntaxError{Pos: Pos{Line: 1}, Msg: fmt.Sprintf("a source may have at most %d bytes", maxSource)}
	}
	defer caught(&err)
	p := newParser(source, lineStarts(source), 0)
	p.cut(int(p.lines[0]), len(source), 1, in)
	if !utf8.ValidString(source) || strings.IndexByte(source, 0) >= 0 {
		p.fail("a source must be UTF-8 without null bytes")
	}
	module = &Module{Span: Span{Start: Pos{Line: 1}, End: p.pos(len(source), len(p.lines))}, Body: p.file()}
	p.checkDepth(module)
	return module, nil
}

// caught turns the parser's panic into an error, and no other.
func caught(err *error) {
	switch failed := recover().(type) {
	case nil:
	case *SyntaxError:
		*err = failed
	default:
		panic(failed)
	}
}

// parser reads statements, by recursive descent. It looks ahead by trying at the heads of with and match alone, so its
// time is linear.
type parser struct{ expressions }

func newParser(source string, lines []int32, depth int) *parser {
	return &parser{expressions{reader{source: source, lines: lines, depth: depth}}}
}

// reader reads tokens.
type reader struct {
	source string
	lines  []int32
	tokens []token
	at     int
	last   int // the last token read that is no line end
	depth  int
	cell   *cell
}

// cut cuts a part of the source, which begins in a line, into tokens.
func (p *reader) cut(at, end, line int, in *cell) {
	l := newLexer(p.source, p.lines, at, end, line)
	p.cell = in
	if in != nil {
		l.cell = in
		l.begin()
	}
	l.run()
	p.tokens = l.tokens
}

func (p *reader) tok() *token { return &p.tokens[p.at] }

// ahead returns a token behind the current one; the last one stands for all behind it.
func (p *reader) ahead(n int) *token { return &p.tokens[min(p.at+n, len(p.tokens)-1)] }

func (p *reader) textOf(t *token) string { return p.source[t.start:t.end] }

func (p *reader) next() *token {
	t := p.tok()
	if t.kind > kindDedent {
		p.last = p.at
	}
	if p.at < len(p.tokens)-1 {
		p.at++
	}
	return t
}

// is reports whether the current token is one of the operators or keywords.
func (p *reader) is(words ...string) bool { return p.isAt(0, words...) }

func (p *reader) isAt(n int, words ...string) bool {
	t := p.ahead(n)
	if t.kind != kindOp {
		return false
	}
	text := p.textOf(t)
	for _, word := range words {
		if text == word {
			return true
		}
	}
	return false
}

// soft reports whether a token is a name that is a keyword in some places.
func (p *reader) soft(n int, word string) bool {
	t := p.ahead(n)
	return t.kind == kindName && p.textOf(t) == word
}

func (p *reader) accept(word string) bool {
	if !p.is(word) {
		return false
	}
	p.next()
	return true
}

func (p *reader) expect(word string) {
	if !p.accept(word) {
		p.fail("expected '" + word + "'")
	}
}

func (p *reader) expectKind(kind kind, name string) *token {
	if p.tok().kind != kind {
		p.fail("expected " + name)
	}
	return p.next()
}

// name reads an identifier. Python compares identifiers in their NFKC form.
func (p *reader) name() string {
	text := p.textOf(p.expectKind(kindName, "a name"))
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return norm.NFKC.String(text)
		}
	}
	return text
}

func (p *reader) pos(offset, line int) Pos {
	return Pos{Line: line, Col: offset - int(p.lines[line-1]), Offset: offset}
}

// start returns the place where the current token begins.
func (p *reader) start() Pos {
	t := p.tok()
	return p.pos(int(t.start), int(t.line))
}

// from returns the span from a place to the end of what was read last.
func (p *reader) from(start Pos) Span {
	t := &p.tokens[p.last]
	return Span{Start: start, End: p.pos(int(t.end), int(t.endLine))}
}

func (p *reader) fail(msg string) { p.failAt(p.start(), msg) }

func (p *reader) failAt(at Pos, msg string) { panic(&SyntaxError{Pos: at, Msg: msg}) }

func (p *reader) enter() {
	p.depth++
	if p.depth > maxNesting {
		p.fail("too deeply nested")
	}
}

func (p *reader) leave() { p.depth-- }

// try reads something, or goes back to where it was and reports false.
func (p *reader) try(read func()) (done bool) {
	at, last, depth := p.at, p.last, p.depth
	defer func() {
		switch failed := recover().(type) {
		case nil:
			done = true
		case *SyntaxError:
			p.at, p.last, p.depth = at, last, depth
		default:
			panic(failed)
		}
	}()
	read()
	return
}

func (p *reader) checkDepth(module *Module) {
	walk(module, func(node Node, depth int) bool {
		if depth > maxDepth {
			p.failAt(node.Place().Start, "too deeply nested")
		}
		return true
	})
}

// Bare returns the text of a statement without white space, comments and the breaks of its lines, so that the texts of
// two statements which say the same are equal. A text that is no Python stays as it is.
func Bare(text string) (bare string) {
	if len(text) > maxSource {
		return text
	}
	l := newLexer(text, lineStarts(text), 0, len(text), 1)
	var err error
	func() {
		defer caught(&err)
		l.run()
	}()
	if err != nil {
		return text
	}
	var b strings.Builder
	for _, t := range l.tokens {
		switch t.kind {
		case kindEnd, kindNewline, kindIndent, kindDedent:
		default:
			b.WriteString(text[t.start:t.end])
			b.WriteByte(' ')
		}
	}
	return b.String()
}
