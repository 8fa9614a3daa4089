// Package names finds the names that a cell of a notebook reads and assigns, from its source. It is no parser of
// Python: it knows strings, comments, brackets, indentation and the statements that bind names; code that it does not
// know reads nothing and assigns nothing. It is pure, and accepts any text.
package names

import (
	"slices"
	"strings"
)

// Statement is an outermost statement of a cell, or a statement in a block of one: the names in if, for, with and
// similar blocks are in the cell's own namespace.
type Statement struct {
	First, Last int // lines, from 1
	// Reads are names that it reads, Assigns names that it assigns, Changes names of values that it may change:
	// x[0] = 1, x.y = 1, and x.append(1) where a statement is nothing else.
	Reads, Assigns, Changes []string
	// Deletes are names that it deletes.
	Deletes []string
	// Body are the names that a function or a class reads when it is called, by a name that is among Assigns.
	Body []string
	// Text is the statement without white space and comments.
	Text string
}

// maxNames is the most names of each kind that a statement has, maxName the most bytes of a known name.
const (
	maxNames = 256
	maxName  = 200
)

// Of returns the statements of a source, in order.
func Of(source string) []Statement {
	if strings.HasPrefix(source, "%%") {
		line, rest, _ := strings.Cut(source, "\n")
		magic, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch magic {
		case "%%time", "%%capture", "%%tracer":
		case "%%timeit", "%%prun", "%%memit": // it runs elsewhere: no name stays
			all := Of(rest)
			for i := range all {
				all[i].First, all[i].Last = all[i].First+1, all[i].Last+1
				all[i].Assigns, all[i].Deletes, all[i].Body = nil, nil, nil
			}
			return all
		default:
			return []Statement{{First: 1, Last: 1 + strings.Count(source, "\n"),
				Text: source[:min(len(source), maxSource)]}}
		}
	}
	p := &parser{lines: scan(source)}
	for p.at < len(p.lines) {
		p.line(p.lines[p.at])
	}
	return p.out
}

// parser goes through the lines of a source.
type parser struct {
	lines []logical
	at    int
	out   []Statement
}

// compound are words that begin a block with names of the cell.
var compound = []string{"if", "elif", "else", "for", "while", "try", "except", "finally", "with", "match", "case"}

// line parses a line, with the body of the function that it defines.
func (p *parser) line(l logical) {
	p.at++
	for tokens := l.tokens; len(tokens) > 0; {
		one, rest := cut(tokens, ";")
		if p.piece(l, one, rest) {
			return
		}
		tokens = rest
	}
}

// piece parses a statement between semicolons, and reports whether the rest of the line is a part of it.
func (p *parser) piece(l logical, one, rest []token) (whole bool) {
	for len(one) > 0 {
		word := wordOf(one)
		if word == "def" || word == "class" || word == "async" && wordOf(one[1:]) == "def" {
			head, _ := atColon(one)
			p.definition(l, head, one[len(head):], rest)
			return true
		}
		head, body := one, []token(nil)
		if slices.Contains(compound, word) && !isName(one) {
			head, body = atColon(one)
		}
		p.statement(l, head)
		one = body
	}
	return false
}

// isName reports whether a word that may begin a match statement is a name here: match = 1, case.x, match(y).
func isName(tokens []token) bool {
	if word := wordOf(tokens); word != "match" && word != "case" {
		return false
	}
	head, _ := atColon(tokens)
	return len(head) == len(tokens) || len(tokens) < 2 || tokens[1].kind == sign &&
		strings.Contains("=.,:)", tokens[1].text)
}

// wordOf returns the name that tokens begin with, "" for none.
func wordOf(tokens []token) string {
	if len(tokens) > 0 && tokens[0].kind == name {
		return tokens[0].text
	}
	return ""
}

// cut splits tokens at the first sign outside of brackets.
func cut(tokens []token, at string) (before, after []token) {
	for i, t := range tokens {
		if t.kind == sign && t.text == at && t.depth == 0 {
			return tokens[:i], tokens[i+1:]
		}
	}
	return tokens, nil
}

// atColon splits tokens into the head of a block and the part after its colon, which is not the colon of a lambda.
func atColon(tokens []token) (head, body []token) {
	lambdas := 0
	for i, t := range tokens {
		if t.depth != 0 {
			continue
		}
		switch {
		case t.kind == name && t.text == "lambda":
			lambdas++
		case t.kind == sign && t.text == ":" && lambdas > 0:
			lambdas--
		case t.kind == sign && t.text == ":":
			return tokens[:i], tokens[i+1:]
		}
	}
	return tokens, nil
}

// statement parses a statement that is no definition: a simple one, or the head of a block.
func (p *parser) statement(l logical, tokens []token) {
	if len(tokens) == 0 {
		return
	}
	b := &binder{}
	switch word := wordOf(tokens); word {
	case "import":
		b.imports(tokens[1:])
	case "from":
		b.importsFrom(tokens[1:])
	case "del":
		b.deletes(tokens[1:])
	case "for", "async":
		b.forIn(tokens)
	case "with":
		b.with(tokens[1:])
	case "except":
		b.with(tokens[1:])
	case "global", "nonlocal":
	default:
		if keywords[word] {
			b.reads(tokens)
		} else {
			b.assignment(tokens)
		}
	}
	p.add(l, tokens, b, nil)
}

func (p *parser) add(l logical, tokens []token, b *binder, body []string) {
	first := int(tokens[0].line)
	s := Statement{First: first, Last: max(l.last, first), Reads: unique(b.read), Assigns: unique(b.assigned),
		Changes: unique(b.changed), Deletes: unique(b.deleted), Body: body, Text: textOf(tokens)}
	p.out = append(p.out, s)
}

// textOf returns the text of tokens, without white space and comments.
func textOf(tokens []token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(t.text)
		b.WriteByte(' ')
	}
	return b.String()
}

// definition parses a function or a class: its head, the part after the colon, and the lines that are indented further.
func (p *parser) definition(l logical, head, behind, rest []token) {
	b := &binder{}
	word := 1
	if wordOf(head) == "async" {
		word = 2
	}
	defined := ""
	if word < len(head) && head[word].kind == name {
		defined = head[word].text
		b.assigned = append(b.assigned, defined)
	}
	inner := &binder{}
	parameters := b.parameters(head[min(word+1, len(head)):], wordOf(head) == "class")
	inner.assigned = append(inner.assigned, parameters...)
	text := slices.Concat(head, behind, rest)
	bodies := [][]token{behind, rest}
	last := l.last
	for p.at < len(p.lines) && p.lines[p.at].indent > l.indent {
		bodies = append(bodies, p.lines[p.at].tokens)
		text = append(text, p.lines[p.at].tokens...)
		last = p.lines[p.at].last
		p.at++
	}
	for _, tokens := range bodies {
		inner.body(tokens)
	}
	free := slices.DeleteFunc(unique(inner.read), func(n string) bool {
		return slices.Contains(inner.assigned, n) && !slices.Contains(inner.global, n)
	})
	p.add(l, text, b, free)
	p.out[len(p.out)-1].Last = last
}

// unique returns names, each once, in their order.
func unique(all []string) (out []string) {
	for _, n := range all {
		if len(out) < maxNames && len(n) <= maxName && !slices.Contains(out, n) && !keywords[n] {
			out = append(out, strings.Clone(n))
		}
	}
	return out
}

// keywords are words that are no names.
var keywords = func() map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields("False None True and as assert async await break class continue def del elif " +
		"else except finally for from global if import in is lambda nonlocal not or pass raise return try while " +
		"with yield") {
		all[w] = true
	}
	return all
}()
