package syntax

import (
	"slices"

	"golang.org/x/text/unicode/norm"
)

// Bounds on a tree. maxNesting bounds the nesting of constructs in the source, such as brackets and blocks. maxDepth
// bounds the depth of the tree, in which chains of one operator, of attributes and of elif are nested, too.
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
	lines  []int32 // where each line begins
	tokens []token
	at     int // the current token
	last   int // the last token that was read, line ends and indentation left out
	depth  int // of the nesting, see enter
	cell   *cell
}

// cut cuts source[at:end], which begins in a line, into tokens.
func (p *reader) cut(at, end, line int, in *cell) {
	l := newLexer(p.source, p.lines, at, end, line)
	p.cell, l.cell = in, in
	l.beginCell()
	l.run()
	p.tokens = l.tokens
}

// tok returns the current token.
func (p *reader) tok() *token { return &p.tokens[p.at] }

// ahead returns the n-th token behind the current one; the last token where there are fewer.
func (p *reader) ahead(n int) *token { return &p.tokens[min(p.at+n, len(p.tokens)-1)] }

func (p *reader) textOf(t *token) string { return p.source[t.start:t.end] }

// next returns the current token, and goes on to the next.
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

// isAt does what is does, for the n-th token behind the current one.
func (p *reader) isAt(n int, words ...string) bool {
	t := p.ahead(n)
	if t.kind != kindOp {
		return false
	}
	return slices.Contains(words, p.textOf(t))
}

// isSoft reports whether the n-th token behind the current one is a soft keyword: a name that is a keyword in some
// places.
func (p *reader) isSoft(n int, word string) bool {
	t := p.ahead(n)
	return t.kind == kindName && p.textOf(t) == word
}

// accept reads an operator or keyword, if it is the current token. It reports whether it is.
func (p *reader) accept(word string) bool {
	if !p.is(word) {
		return false
	}
	p.next()
	return true
}

// expect reads an operator or keyword, and fails if it is not the current token.
func (p *reader) expect(word string) {
	if !p.accept(word) {
		p.fail("expected '" + word + "'")
	}
}

// expectKind reads a token of a kind, and fails if the current token is of another kind.
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

// pos returns the place of an offset, given its line.
func (p *reader) pos(offset, line int) Pos {
	return Pos{Line: line, Col: offset - int(p.lines[line-1]), Offset: offset}
}

// start returns the place where the current token begins.
func (p *reader) start() Pos {
	t := p.tok()
	return p.pos(int(t.start), int(t.line))
}

// from returns the span from a place to the end of the last token that was read.
func (p *reader) from(start Pos) Span {
	t := &p.tokens[p.last]
	return Span{Start: start, End: p.pos(int(t.end), int(t.endLine))}
}

func (p *reader) fail(msg string) { p.failAt(p.start(), msg) }

func (p *reader) failAt(at Pos, msg string) { panic(&SyntaxError{Pos: at, Msg: msg}) }

// enter begins a nested construct, and fails if the nesting is too deep. leave ends the construct.
func (p *reader) enter() {
	p.depth++
	if p.depth > maxNesting {
		p.fail("too deeply nested")
	}
}

func (p *reader) leave() { p.depth-- }

// try calls read. If read fails, try goes back to the token at which it began, and returns false.
func (p *reader) try(read func()) bool {
	at, last, depth := p.at, p.last, p.depth
	if attempt(read) == nil {
		return true
	}
	p.at, p.last, p.depth = at, last, depth
	return false
}
