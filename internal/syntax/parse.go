package syntax

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Parse reads a cell of IPython's: Python, and lines that begin with %, ! or ?, or end with ?. Its error is a
// *SyntaxError.
func Parse(source string) (module *Module, err error) {
	if len(source) > maxSource {
		return nil, &SyntaxError{Pos: Pos{Line: 1}, Msg: fmt.Sprintf("a source may have at most %d bytes", maxSource)}
	}
	err = attempt(func() { module = parse(source) })
	return module, err
}

// parse does what Parse does, but panics with a *SyntaxError.
func parse(source string) *Module {
	p := newParser(source, lineStarts(source), 0)
	p.cut(int(p.lines[0]), len(source), 1, &cell{})
	if !utf8.ValidString(source) || strings.IndexByte(source, 0) >= 0 {
		p.fail("a source must be UTF-8 without null bytes")
	}
	module := &Module{Span: Span{Start: Pos{Line: 1}, End: p.pos(len(source), len(p.lines))}, Body: p.file()}
	walk(module, func(node Node, depth int) bool {
		if depth > maxDepth {
			p.failAt(node.Place().Start, "too deeply nested")
		}
		return true
	})
	return module
}

// Bare returns the tokens of a statement with a space behind each, without comments and line breaks. So the results of
// two statements that differ only in layout are equal. A text that is no Python stays as it is.
func Bare(text string) (bare string) {
	if len(text) > maxSource {
		return text
	}
	l := newLexer(text, lineStarts(text), 0, len(text), 1)
	if attempt(l.run) != nil {
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
