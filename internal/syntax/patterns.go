package syntax

// patterns reads the pattern of a case: the names that it binds, and the expressions in it.
type patterns struct {
	*expressions
	binds []string
	uses  []Expr
}

// several reads one pattern, or several with commas between them.
func (p *patterns) several() {
	for {
		p.starred()
		if !p.accept(",") || p.is("if", ":", ")", "]") {
			return
		}
	}
}

func (p *patterns) starred() {
	if p.accept("*") {
		p.bind()
		return
	}
	p.pattern()
}

// bind notes a name that a pattern binds; _ binds none.
func (p *patterns) bind() {
	if name := p.name(); name != "_" {
		p.binds = append(p.binds, name)
	}
}

// pattern reads alternatives, and the name for what they match.
func (p *patterns) pattern() {
	p.enter()
	defer p.leave()
	p.closed()
	for p.accept("|") {
		known := len(p.binds)
		p.closed()
		p.binds = without(p.binds, known)
	}
	if p.accept("as") {
		p.bind()
	}
}

// without removes the names behind the first n that are among the first n: each alternative binds the same names.
func without(names []string, n int) []string {
	seen := map[string]bool{}
	for _, name := range names[:n] {
		seen[name] = true
	}
	kept := names[:n]
	for _, name := range names[n:] {
		if !seen[name] {
			kept = append(kept, name)
		}
	}
	return kept
}

// closed reads a pattern that ends by itself.
func (p *patterns) closed() {
	switch t := p.tok(); {
	case t.kind == kindNumber, p.is("-"):
		p.uses = append(p.uses, p.binary(5))
	case t.kind == kindString, t.kind == kindTextStart:
		p.uses = append(p.uses, p.strings())
	case p.is("None", "True", "False"):
		p.next()
	case p.is("("), p.is("["):
		end := map[string]string{"(": ")", "[": "]"}[p.textOf(p.next())]
		if !p.is(end) {
			p.several()
		}
		p.expect(end)
	case p.accept("{"):
		p.mapping()
	case t.kind == kindName:
		p.valueOrClass()
	default:
		p.fail("invalid pattern")
	}
}

// valueOrClass reads a name that is bound, a dotted name, or a class with patterns for its attributes.
func (p *patterns) valueOrClass() {
	if !p.isAt(1, ".", "(") {
		p.bind()
		return
	}
	p.uses = append(p.uses, p.dottedExpr())
	if !p.accept("(") {
		return
	}
	for !p.accept(")") {
		if p.tok().kind == kindName && p.isAt(1, "=") {
			p.next()
			p.next()
		}
		p.pattern()
		if !p.is(")") {
			p.expect(",")
		}
	}
}

func (p *patterns) dottedExpr() Expr {
	start := p.start()
	var value Expr = p.nameExpr()
	for p.accept(".") {
		attr := p.name()
		value = &Attribute{Span: p.from(start), Value: value, Attr: attr}
	}
	return value
}

func (p *patterns) mapping() {
	for !p.accept("}") {
		switch {
		case p.accept("**"):
			p.bind()
		default:
			key := p.binary(5)
			if _, name := key.(*Name); name {
				p.failAt(key.Place().Start, "a key must be a literal or a dotted name")
			}
			p.uses = append(p.uses, key)
			p.expect(":")
			p.pattern()
		}
		if !p.is("}") {
			p.expect(",")
		}
	}
}
