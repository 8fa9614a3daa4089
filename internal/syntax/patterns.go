package syntax

// patterns reads the pattern of a case: the names that it binds, and the expressions in it.
type patterns struct {
	*expressions
	binds []string
	uses  []Expr
}

// openPattern reads one pattern, or several with commas between them.
func (p *patterns) openPattern() {
	for {
		p.starred()
		if !p.accept(",") || p.is("if", ":", ")", "]") {
			return
		}
	}
}

// starred reads a pattern, or *name.
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

// pattern reads patterns with | between them, and the name that as gives to the value.
func (p *patterns) pattern() {
	p.enter()
	defer p.leave()
	p.closedPattern()
	for p.accept("|") {
		known := len(p.binds)
		p.closedPattern()
		p.binds = withoutRepeated(p.binds, known)
	}
	if p.accept("as") {
		p.bind()
	}
}

// withoutRepeated removes from names[n:] the names that names[:n] has, because each alternative binds the same names.
func withoutRepeated(names []string, n int) []string {
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

// closedPattern reads a single pattern: a literal, a group, a sequence, a mapping, a name, a value or a class.
func (p *patterns) closedPattern() {
	switch t := p.tok(); {
	case t.kind == kindNumber, p.is("-"):
		p.uses = append(p.uses, p.binary(sumPrecedence))
	case t.kind == kindString, t.kind == kindTextStart:
		p.uses = append(p.uses, p.stringLiterals())
	case p.is("None", "True", "False"):
		p.next()
	case p.is("("), p.is("["):
		end := map[string]string{"(": ")", "[": "]"}[p.textOf(p.next())]
		if !p.is(end) {
			p.openPattern()
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

// valueOrClass reads a name that the pattern binds, a dotted name, or a class with patterns for its attributes.
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

// mapping reads the keys and patterns of a mapping, behind {.
func (p *patterns) mapping() {
	for !p.accept("}") {
		switch {
		case p.accept("**"):
			p.bind()
		default:
			key := p.binary(sumPrecedence)
			if _, isName := key.(*Name); isName {
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
