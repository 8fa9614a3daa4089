package compare

import (
	"hash/maphash"
	"slices"
	"strings"

	"ipytracer/internal/syntax"
	"ipytracer/model"
)

// Bounds on the statements of a source, the names of each kind in a statement, and the bytes of a name.
const (
	maxStatements = 1 << 16
	maxNames      = 256
	maxName       = 200
)

// statementsOf returns the statements of a source, in order. intern makes a copy of each name. If the source is no
// Python, for example because it is cut, statementsOf returns the statements above the line with the error.
func statementsOf(source string, intern func(string) string) []statement {
	s := statements{source: source, intern: intern}
	tree, err := syntax.Parse(source)
	for range maxCuts {
		failed, ok := err.(*syntax.SyntaxError)
		if !ok {
			break
		}
		s.source = above(s.source, failed.Line)
		tree, err = syntax.Parse(s.source)
	}
	if err != nil {
		return nil
	}
	s.addAll(tree.Body)
	return s.out
}

// maxCuts bounds how often statementsOf shortens a source: the lines above an error may still end with the head of a
// block.
const maxCuts = 8

// above returns the lines of a source above a line.
func above(source string, line int) string {
	end := 0
	for range line - 1 {
		next := strings.IndexByte(source[end:], '\n')
		if next < 0 {
			break
		}
		end += next + 1
	}
	return source[:end]
}

// statements collects the statements of a source.
type statements struct {
	source string
	intern func(string) string
	out    []statement
	timed  bool // the statements run in a function, as in %%timeit: no name stays
}

func (s *statements) addAll(body []syntax.Stmt) {
	for _, stmt := range body {
		if len(s.out) < maxStatements {
			s.add(stmt)
		}
	}
}

// add adds a statement, and the statements in its blocks.
func (s *statements) add(stmt syntax.Stmt) {
	switch b := stmt.(type) {
	case *syntax.If:
		s.head(b, b.Body, expression(b.Test))
		s.addAll(b.Else)
	case *syntax.While:
		s.head(b, b.Body, expression(b.Test))
		s.addAll(b.Else)
	case *syntax.For:
		s.head(b, b.Body, &syntax.Assign{Span: b.Span, Targets: []syntax.Expr{b.Target}, Value: b.Iter})
		s.addAll(b.Else)
	case *syntax.With:
		s.head(b, b.Body, &syntax.With{Span: b.Span, Items: b.Items})
	case *syntax.Try:
		s.try(b)
	case *syntax.Match:
		s.match(b)
	case *syntax.Magic:
		s.magic(b)
	default:
		s.simple(stmt)
	}
}

func expression(e syntax.Expr) syntax.Stmt { return &syntax.ExprStmt{Span: e.Place(), Value: e} }

// head adds the head of a block and then the block's statements. The head has the names of the statements in names.
func (s *statements) head(block syntax.Node, body []syntax.Stmt, names ...syntax.Stmt) {
	p := block.Place()
	if len(body) > 0 {
		p.End = body[0].Place().Start
	}
	text := s.source[p.Start.Offset:p.End.Offset]
	p.End.Line = p.Start.Line + strings.Count(strings.TrimRight(text, " \t\r\n\f"), "\n")
	s.addStatement(p, text, names...)
	s.addAll(body)
}

func (s *statements) try(b *syntax.Try) {
	s.addAll(b.Body)
	for _, h := range b.Handlers {
		names := []syntax.Stmt{}
		if h.Type != nil {
			names = append(names, expression(h.Type))
		}
		if h.Name != "" {
			target := &syntax.Name{Span: h.Span, ID: h.Name}
			names = append(names, &syntax.Assign{Span: h.Span, Targets: []syntax.Expr{target},
				Value: &syntax.Constant{Span: h.Span, Kind: "None", Text: "None"}})
		}
		s.head(h, h.Body, names...)
	}
	s.addAll(b.Else)
	s.addAll(b.Finally)
}

func (s *statements) match(b *syntax.Match) {
	for i, c := range b.Cases {
		names := []syntax.Stmt{&syntax.Match{Span: b.Span, Subject: b.Subject,
			Cases: []*syntax.MatchCase{{Span: c.Span, Binds: c.Binds, Uses: c.Uses, Guard: c.Guard}}}}
		if i > 0 {
			names = []syntax.Stmt{&syntax.Match{Span: c.Span,
				Subject: &syntax.Constant{Span: c.Span, Kind: "None", Text: "None"},
				Cases:   []*syntax.MatchCase{{Span: c.Span, Binds: c.Binds, Uses: c.Uses, Guard: c.Guard}}}}
		}
		s.head(c, c.Body, names...)
	}
}

// magic adds a line of a magic and its code. Code that %timeit runs leaves no names.
func (s *statements) magic(magic *syntax.Magic) {
	name := magic.Name()
	timed := name == "timeit" || name == "prun" || name == "memit"
	switch {
	case !strings.HasPrefix(magic.Text, "%%"):
		if magic.Body == nil {
			s.addStatement(magic.Span, magic.Text)
			return
		}
		before := s.timed
		s.timed = s.timed || timed
		s.addAll(magic.Body)
		s.timed = before
	case timed: // what follows is the rest of the cell
		s.timed = true
		s.addAll(magic.Body)
	case magic.Body == nil && strings.Contains(magic.Text, "\n"): // another language
		s.addStatement(magic.Span, magic.Text)
	default:
		s.addAll(magic.Body)
	}
}

// simple adds a statement that is no block.
func (s *statements) simple(stmt syntax.Stmt) {
	s.addStatement(stmt.Place(), syntax.Text(s.source, stmt), stmt)
	e, ok := stmt.(*syntax.ExprStmt)
	if !ok {
		return
	}
	if call, ok := e.Value.(*syntax.Call); ok {
		if _, method := call.Func.(*syntax.Attribute); method {
			if name := syntax.Base(call.Func); name != "" {
				last := &s.out[len(s.out)-1]
				last.changes = unique(append(last.changes, name), s.intern)
			}
		}
	}
}

// addStatement adds a statement with the span p and the names of the statements in names.
func (s *statements) addStatement(p syntax.Span, text string, names ...syntax.Stmt) {
	one := statement{first: p.Start.Line, last: max(p.Start.Line, p.End.Line),
		text: maphash.String(seed, syntax.Bare(text))}
	uses := syntax.Names(names...)
	assigned := map[string]bool{}
	for _, b := range uses.Binds {
		if b.Kind == syntax.Unbound {
			one.deletes = append(one.deletes, b.Name)
		} else {
			assigned[b.Name] = true
			one.assigns = append(one.assigns, b.Name)
		}
	}
	for _, r := range uses.Reads {
		one.reads = append(one.reads, r.Name)
		if r.Changed && !assigned[r.Name] {
			one.changes = append(one.changes, r.Name)
		}
	}
	for _, name := range one.assigns {
		if f := uses.Functions[name]; f != nil {
			for _, r := range f.Reads {
				one.calls = append(one.calls, r.Name)
			}
		}
	}
	for _, list := range []*[]string{&one.reads, &one.assigns, &one.changes, &one.deletes, &one.calls} {
		*list = unique(*list, s.intern)
	}
	if s.timed {
		one.assigns, one.deletes, one.calls = nil, nil, nil
	}
	s.out = append(s.out, one)
}

// unique returns the first maxNames different names, in their order.
func unique(all []string, intern func(string) string) (out []string) {
	known := map[string]bool{}
	for _, n := range all {
		if len(out) < maxNames && len(n) <= maxName && !known[n] {
			known[n] = true
			out = append(out, intern(n))
		}
	}
	return slices.Clip(out)
}

// codeOf returns the analysis of a cell's source; nil for an empty source, or if the run has no room for more.
func (run *Run) codeOf(source string) *code {
	if source == "" {
		return nil
	}
	key := maphash.String(seed, source)
	if known, ok := run.codes[key]; ok {
		return known
	}
	if run.keptNames >= maxKept {
		return nil
	}
	c := &code{}
	for l := range strings.Lines(source) {
		if len(c.lines) == maxCodeLines {
			break
		}
		c.lines = append(c.lines, maphash.String(seed, strings.TrimRight(l, " \t\r\n\f")))
	}
	c.statements = statementsOf(source, run.intern)
	for i := range c.statements {
		s := &c.statements[i]
		run.keptNames += len(s.reads) + len(s.assigns) + len(s.changes) + len(s.deletes) + len(s.calls)
	}
	run.keptNames += len(c.lines) + len(c.statements)
	run.codes[key] = c
	return c
}

// editsOf returns the ranges of lines in which a source differs from its earlier version.
func editsOf(a, b *code) []model.Edit {
	if a == nil || b == nil {
		return nil
	}
	var out []model.Edit
	x, y := 0, 0
	addEdit := func(endA, endB int) {
		if endA > x || endB > y {
			out = append(out, model.Edit{A: x + 1, LinesA: endA - x, B: y + 1, LinesB: endB - y})
		}
	}
	for _, m := range align(a.lines, b.lines) {
		addEdit(m.a, m.b)
		x, y = m.a+1, m.b+1
	}
	addEdit(len(a.lines), len(b.lines))
	return slices.Clip(out[:min(len(out), maxEdits)])
}

// maxEdits bounds the edits that are reported for a cell.
const maxEdits = 256

// changedIn returns the indices of the statements that lie in edited lines and that the other version lacks. ofB says
// that the statements are those of B.
func changedIn(edits []model.Edit, source, other *code, ofB bool) map[int]bool {
	if source == nil {
		return nil
	}
	inOther, out := map[uint64]bool{}, map[int]bool{}
	if other != nil {
		for _, s := range other.statements {
			inOther[s.text] = true
		}
	}
	for i, s := range source.statements {
		if inOther[s.text] {
			continue
		}
		if slices.ContainsFunc(edits, func(e model.Edit) bool {
			first, lines := e.A, e.LinesA
			if ofB {
				first, lines = e.B, e.LinesB
			}
			return s.first < first+lines && first <= s.last
		}) {
			out[i] = true
		}
	}
	return out
}

// Bounds on the analyses of sources. Changes of sources beyond them are not explained.
const (
	maxCodeLines = 4096    // of one source
	maxKept      = 4 << 20 // names and lines of a run
)
