package syntax

import (
	"slices"

	"golang.org/x/text/unicode/norm"
)

// Bounds on a tree. maxNesting is how deep constructs may stand in each other. Chains of one operator, of attributes
// and of elif are nested in the tree as well, although they are not written so. maxDepth bounds all nesting together.
const (
	maxNesting = 200
	maxDepth   = 1000
)

// attempt calls a function. It returns the *SyntaxError with which the function panics; nil where the function returns.
func attempt(what func()) (err error) {
	defer func() {
		switch failed := recover().(type) {
		case nil:
		case *SyntaxError:
			err = failed
		default:
			panic(failed)
		}
	}()
	what()
	return nil
}

// parser reads statements by recursive descent. It tries a reading and goes back only at the heads of with and match,
// so its time is linear.
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
	p.cell, l.cell = in, in
	l.begin()
	l.run()
	p.tokens = l.tokens
}

func (p *reader) tok() *token { return &p.tokens[p.at] }

// ahead returns the n-th token behind the current one; the last token where there are fewer.
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
	return slices.Contains(words, p.textOf(t))
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
	return norm.NFKC.String(p.textOf(p.expectKind(kindName, "a name")))
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
func (p *reader) try(read func()) bool {
	at, last, depth := p.at, p.last, p.depth
	if attempt(read) == nil {
		return true
	}
	p.at, p.last, p.depth = at, last, depth
	return false
}
