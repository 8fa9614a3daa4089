package syntax

import "strings"

// atom reads a name, a literal, a display, or an expression in brackets.
func (p *expressions) atom() Expr {
	start := p.start()
	switch t := p.tok(); t.kind {
	case kindName:
		return p.nameExpr()
	case kindNumber:
		p.next()
		return &Constant{Span: p.from(start), Kind: numberKind(p.textOf(t)), Text: p.textOf(t)}
	case kindString, kindTextStart:
		return p.stringLiterals()
	case kindOp:
		switch text := p.textOf(t); text {
		case "None", "True", "False", "...":
			p.next()
			return &Constant{Span: p.from(start), Kind: text}
		case "(", "[", "{":
			p.enter()
			defer p.leave()
			p.next()
			switch text {
			case "(":
				return p.group(start)
			case "[":
				return p.list(start)
			}
			return p.braces(start)
		}
	}
	p.fail("invalid syntax")
	return nil
}

// numberKind returns the Kind of a Constant that is a number.
func numberKind(text string) string {
	text = strings.ToLower(text)
	switch {
	case strings.HasPrefix(text, "0x"):
		return "int"
	case strings.HasSuffix(text, "j"):
		return "complex"
	case strings.ContainsAny(text, ".e"):
		return "float"
	}
	return "int"
}

// group reads a tuple, a generator or an expression in brackets, behind (.
func (p *expressions) group(start Pos) Expr {
	if p.accept(")") {
		return &Tuple{Span: p.from(start)}
	}
	if p.is("yield") {
		value := p.yield()
		p.expect(")")
		return value
	}
	first := p.starNamed()
	if p.is("for", "async") {
		return p.comprehension(start, "generator", first, nil, ")")
	}
	if p.accept(")") {
		if _, star := first.(*Starred); star {
			p.failAt(first.Place().Start, "cannot use starred expression here")
		}
		return first
	}
	elts := elements(p, first, p.starNamed, ")")
	return &Tuple{Span: p.from(start), Elts: elts}
}

// elements reads the elements behind the first, and the closing bracket. It returns all elements.
func elements(p *expressions, first Expr, element func() Expr, end string) []Expr {
	elts := []Expr{first}
	for !p.accept(end) {
		p.expect(",")
		if p.accept(end) {
			break
		}
		elts = append(elts, element())
	}
	return elts
}

// list reads a list or a list comprehension, behind [.

func (p *expressions) list(start Pos) Expr {
	if p.accept("]") {
		return &List{Span: p.from(start)}
	}
	first := p.starNamed()
	if p.is("for", "async") {
		return p.comprehension(start, "list", first, nil, "]")
	}
	elts := elements(p, first, p.starNamed, "]")
	return &List{Span: p.from(start), Elts: elts}
}

// braces reads a set, a dict, or a comprehension of one, behind {.
func (p *expressions) braces(start Pos) Expr {
	if p.accept("}") {
		return &Dict{Span: p.from(start)}
	}
	if p.accept("**") {
		value := p.bitwise()
		if p.is("for", "async") {
			return p.comprehension(start, "dict", value, nil, "}")
		}
		return p.dict(start, nil, value)
	}
	first := p.starNamed()
	if p.accept(":") {
		value := p.expression()
		if p.is("for", "async") {
			return p.comprehension(start, "dict", first, value, "}")
		}
		return p.dict(start, first, value)
	}
	if p.is("for", "async") {
		return p.comprehension(start, "set", first, nil, "}")
	}
	elts := elements(p, first, p.starNamed, "}")
	return &Set{Span: p.from(start), Elts: elts}
}

// dict reads the pairs of a dict behind the first pair. The key of **value is nil.
func (p *expressions) dict(start Pos, key, value Expr) Expr {
	d := &Dict{Keys: []Expr{key}, Values: []Expr{value}}
	for !p.accept("}") {
		p.expect(",")
		if p.accept("}") {
			break
		}
		key = nil
		if p.accept("**") {
			value = p.bitwise()
		} else {
			key = p.expression()
			p.expect(":")
			value = p.expression()
		}
		d.Keys, d.Values = append(d.Keys, key), append(d.Values, value)
	}
	d.Span = p.from(start)
	return d
}

// comprehension reads a comprehension from its first for up to the closing bracket.
func (p *expressions) comprehension(start Pos, kind string, elt, value Expr, end string) Expr {
	c := &Comp{Kind: kind, Elt: elt, Value: value}
	for p.is("for", "async") {
		begin := p.start()
		g := &Comprehension{Async: p.accept("async")}
		p.expect("for")
		g.Target = p.targets("in")
		p.expect("in")
		g.Iter = p.disjunction()
		for p.accept("if") {
			g.Ifs = append(g.Ifs, p.disjunction())
		}
		g.Span = p.from(begin)
		c.Generators = append(c.Generators, g)
	}
	p.expect(end)
	c.Span = p.from(start)
	return c
}

// arguments reads the arguments of a call or of a class, with their brackets.
func (p *expressions) arguments() (args []Expr, keywords []*Keyword) {
	p.enter()
	defer p.leave()
	start := p.start()
	p.expect("(")
	for !p.accept(")") {
		begin := p.start()
		switch {
		case p.is("*"):
			args = append(args, p.starred(p.expression))
		case p.accept("**"):
			value := p.expression()
			keywords = append(keywords, &Keyword{Span: p.from(begin), Value: value})
		case p.tok().kind == kindName && p.isAt(1, "="):
			name := p.name()
			p.next()
			value := p.expression()
			keywords = append(keywords, &Keyword{Span: p.from(begin), Arg: name, Value: value})
		default:
			if len(keywords) > 0 {
				p.fail("positional argument follows keyword argument")
			}
			value := p.named()
			if len(args) == 0 && p.is("for", "async") {
				return []Expr{p.comprehension(start, "generator", value, nil, ")")}, nil
			}
			args = append(args, value)
		}
		if !p.is(")") {
			p.expect(",")
		}
	}
	return args, keywords
}

// targets reads a target of an assignment, or several with commas, up to the keyword end.
func (p *expressions) targets(end string) Expr {
	target := p.tupleOf(func() Expr {
		if p.is("*") {
			return p.starred(p.bitwise)
		}
		return p.bitwise()
	})
	if !p.is(end) {
		p.fail("expected '" + end + "'")
	}
	p.checkTarget(target, true)
	return target
}

// checkTarget fails for an expression to which nothing can be assigned. star allows *target.
func (p *reader) checkTarget(target Expr, star bool) {
	var elts []Expr
	switch t := target.(type) {
	case *Name, *Attribute, *Subscript:
		return
	case *Starred:
		if star {
			p.checkTarget(t.Value, false)
			return
		}
	case *Tuple:
		elts = t.Elts
	case *List:
		elts = t.Elts
	default:
		p.failAt(target.Place().Start, "cannot assign to this expression")
	}
	for _, elt := range elts {
		p.checkTarget(elt, star)
	}
}
