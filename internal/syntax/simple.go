package syntax

import "strings"

// simple reads a statement without a block.
func (p *parser) simple() Stmt {
	start := p.start()
	t := p.tok()
	switch {
	case t.kind == kindMagic:
		return p.magic()
	case t.kind == kindOp:
		if s := p.keyword(start, p.textOf(t)); s != nil {
			return s
		}
	case p.isSoft(0, "type") && p.ahead(1).kind == kindName && p.isAt(2, "=", "["):
		p.next()
		s := &TypeAlias{Name: p.nameExpr(), TypeParams: p.typeParams()}
		p.expect("=")
		s.Value = p.expression()
		s.Span = p.from(start)
		return s
	case p.isSoft(0, "lazy") && p.isAt(1, "import", "from"):
		p.next()
		if p.is("import") {
			return p.imports(start)
		}
		return p.importFrom(start)
	}
	return p.assignment()
}

// keyword reads a simple statement that begins with a keyword. It returns nil, and reads nothing, if word begins none.
func (p *parser) keyword(start Pos, word string) Stmt {
	switch word {
	case "pass":
		p.next()
		return &Pass{p.from(start)}
	case "break":
		p.next()
		return &Break{p.from(start)}
	case "continue":
		p.next()
		return &Continue{p.from(start)}
	case "return":
		p.next()
		s := &Return{}
		if p.beginsExpression() {
			s.Value = p.starExpressions()
		}
		s.Span = p.from(start)
		return s
	case "raise":
		return p.raise(start)
	case "assert":
		p.next()
		s := &Assert{Test: p.expression()}
		if p.accept(",") {
			s.Msg = p.expression()
		}
		s.Span = p.from(start)
		return s
	case "del":
		return p.del(start)
	case "global":
		names := p.names()
		return &Global{Span: p.from(start), Names: names}
	case "nonlocal":
		names := p.names()
		return &Nonlocal{Span: p.from(start), Names: names}
	case "import":
		return p.imports(start)
	case "from":
		return p.importFrom(start)
	}
	return nil
}

func (p *parser) raise(start Pos) Stmt {
	p.next()
	s := &Raise{}
	if p.beginsExpression() {
		s.Exc = p.expression()
		if p.accept("from") {
			s.Cause = p.expression()
		}
	}
	s.Span = p.from(start)
	return s
}

func (p *parser) del(start Pos) Stmt {
	p.next()
	s := &Delete{}
	for {
		target := p.bitwise()
		p.checkTarget(target, false)
		s.Targets = append(s.Targets, target)
		if !p.accept(",") || !p.beginsExpression() {
			break
		}
	}
	s.Span = p.from(start)
	return s
}

// names reads a keyword, and names with commas between them.
func (p *reader) names() []string {
	p.next()
	names := []string{p.name()}
	for p.accept(",") {
		names = append(names, p.name())
	}
	return names
}

func (p *parser) imports(start Pos) Stmt {
	p.expect("import")
	s := &Import{}
	for {
		s.Names = append(s.Names, p.alias(p.dotted))
		if !p.accept(",") {
			break
		}
	}
	s.Span = p.from(start)
	return s
}

// alias reads the name of what is imported, and the name that as gives to it.
func (p *parser) alias(name func() string) *Alias {
	start := p.start()
	a := &Alias{Name: name()}
	if p.accept("as") {
		a.AsName = p.name()
	}
	a.Span = p.from(start)
	return a
}

// dotted reads the name of a module.
func (p *reader) dotted() string {
	parts := []string{p.name()}
	for p.accept(".") {
		parts = append(parts, p.name())
	}
	return strings.Join(parts, ".")
}

func (p *parser) importFrom(start Pos) Stmt {
	p.expect("from")
	s := &ImportFrom{}
	for p.is(".", "...") {
		s.Level += int(p.tok().end - p.tok().start)
		p.next()
	}
	if s.Level == 0 || p.tok().kind == kindName {
		s.Module = p.dotted()
	}
	p.expect("import")
	begin := p.start()
	if p.accept("*") {
		s.Names = []*Alias{{Span: p.from(begin), Name: "*"}}
		s.Span = p.from(start)
		return s
	}
	bracket := p.accept("(")
	for {
		s.Names = append(s.Names, p.alias(p.name))
		if !p.accept(",") || bracket && p.is(")") {
			break
		}
	}
	if bracket {
		p.expect(")")
	}
	s.Span = p.from(start)
	return s
}

var assignOps = set("+= -= *= /= //= %= @= &= |= ^= >>= <<= **=")

// assignment reads an assignment of any kind, or an expression statement.
func (p *parser) assignment() Stmt {
	start := p.start()
	first := p.yieldOrExpressions()
	if p.is(":") {
		return p.annotated(start, first)
	}
	if t := p.tok(); t.kind == kindOp && assignOps[p.textOf(t)] {
		op := strings.TrimSuffix(p.textOf(p.next()), "=")
		switch first.(type) {
		case *Name, *Attribute, *Subscript:
		default:
			p.failAt(start, "illegal expression for augmented assignment")
		}
		value := p.yieldOrExpressions()
		return &AugAssign{Span: p.from(start), Target: first, Op: op, Value: value}
	}
	if !p.is("=") {
		if _, star := first.(*Starred); star {
			p.failAt(start, "cannot use starred expression here")
		}
		return &ExprStmt{Span: p.from(start), Value: first}
	}
	s := &Assign{Value: first}
	for p.accept("=") {
		p.checkTarget(s.Value, true)
		s.Targets = append(s.Targets, s.Value)
		if p.tok().kind == kindShell {
			s.Value = p.shell()
			break
		}
		s.Value = p.yieldOrExpressions()
	}
	s.Span = p.from(start)
	return s
}

func (p *parser) annotated(start Pos, target Expr) Stmt {
	switch target.(type) {
	case *Name, *Attribute, *Subscript:
	default:
		p.failAt(start, "only a single target can be annotated")
	}
	p.next()
	s := &AnnAssign{Target: target, Annotation: p.expression()}
	if p.accept("=") {
		if p.tok().kind == kindShell {
			s.Value = p.shell()
		} else {
			s.Value = p.yieldOrExpressions()
		}
	}
	s.Span = p.from(start)
	return s
}

func (p *reader) shell() Expr {
	start := p.start()
	text := p.textOf(p.next())
	return &Shell{Span: p.from(start), Text: text}
}

func (p *parser) magic() Stmt {
	start := p.start()
	t := p.next()
	m := &Magic{Span: p.from(start), Text: p.textOf(t)}
	if at, ok := codeBehind(m.Text); ok {
		m.Body = p.innerCode(int(t.start)+at, int(t.end), int(t.line))
	}
	return m
}

// maxMagics is how deep magics may be nested in one line.
const maxMagics = 4

// innerCode reads the Python in the line of a magic, which is source[start:end]. It returns nil if that is no Python.
func (p *parser) innerCode(start, end, line int) (body []Stmt) {
	in := cell{inner: p.cell.inner + 1}
	if in.inner > maxMagics {
		return nil
	}
	if attempt(func() {
		part := newParser(p.source, p.lines, p.depth)
		part.cut(start, end, line, &in)
		body = part.file()
	}) != nil {
		return nil
	}
	return body
}

// options has the options of the magics that run Python, in getopt's format: a colon follows an option that takes a
// value.
var options = map[string]string{"time": "", "timeit": "n:r:tcp:qov", "prun": "D:l:rs:T:q", "memit": "r:t:i:coh",
	"mprun": "rf:T:c", "lprun": "rsf:m:D:T:u:z"}

// codeBehind returns where the Python in the text of a line magic begins, behind the magic's name and options. ok is
// false if there is none.
func codeBehind(text string) (at int, ok bool) {
	name := strings.TrimLeft(text, "%")
	at = len(text) - len(name)
	if at != 1 && at != 2 {
		return 0, false
	}
	command := upTo(name, " \t\r\n")
	if command == name || !pythonLines[command] {
		return 0, false
	}
	at += len(command)
	word := func() string {
		at += len(text[at:]) - len(strings.TrimLeft(text[at:], " \t"))
		return upTo(text[at:], " \t\r\n")
	}
	known := options[command]
	for {
		option := word()
		if len(option) < 2 || option[0] != '-' {
			return at, option != ""
		}
		letter := option[1]
		i := strings.IndexByte(known, letter)
		isLong, isKnown := letter == '-', i >= 0 && letter != ':'
		switch {
		case isLong:
		case !isKnown: // code, such as -x
			return at, true
		case len(option) == 2 && strings.HasPrefix(known[i+1:], ":"): // the next word is the option's value
			at += len(option)
			option = word()
		}
		at += len(option)
	}
}

// pythonLines are the magics that run the rest of their line as Python.
var pythonLines = set("time timeit prun memit mprun lprun")
