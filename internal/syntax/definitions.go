package syntax

func (p *parser) decorated() Stmt {
	var decorators []Expr
	for p.accept("@") {
		decorators = append(decorators, p.named())
		p.expectKind(kindNewline, "the end of the line")
	}
	start := p.start()
	switch {
	case p.is("class"):
		return p.class(start, decorators)
	case p.accept("async"):
		return p.function(start, true, decorators)
	}
	return p.function(start, false, decorators)
}

func (p *parser) function(start Pos, async bool, decorators []Expr) Stmt {
	p.expect("def")
	s := &FunctionDef{Async: async, Decorators: decorators, Name: p.name(), TypeParams: p.typeParams()}
	p.expect("(")
	p.enter()
	s.Args = p.parameters(")", true)
	p.leave()
	p.expect(")")
	if p.accept("->") {
		s.Returns = p.expression()
	}
	s.Body = p.block()
	s.Span = p.from(start)
	return s
}

func (p *parser) class(start Pos, decorators []Expr) Stmt {
	p.expect("class")
	s := &ClassDef{Decorators: decorators, Name: p.name(), TypeParams: p.typeParams()}
	if p.is("(") {
		s.Bases, s.Keywords = p.arguments()
	}
	s.Body = p.block()
	s.Span = p.from(start)
	return s
}

// parameters reads those of a function, or of a lambda, which have no annotations.
func (p *expressions) parameters(end string, annotated bool) *Arguments {
	start := p.start()
	a := &Arguments{Span: Span{Start: start, End: start}}
	star, defaults := false, false
	for !p.is(end) {
		switch {
		case p.accept("/"):
			if star || a.PosOnly != nil || a.Args == nil {
				p.fail("/ cannot stand here")
			}
			a.PosOnly, a.Args = a.Args, nil
		case p.accept("**"):
			a.KwArg = p.parameter(annotated, false)
		case p.accept("*"):
			if star {
				p.fail("* argument may appear only once")
			}
			star = true
			if !p.is(",") {
				a.VarArg = p.parameter(annotated, true)
			}
		default:
			one := p.parameter(annotated, false)
			if p.accept("=") {
				one.Default = p.expression()
			}
			if star {
				a.KwOnly = append(a.KwOnly, one)
				break
			}
			if defaults && one.Default == nil {
				p.failAt(one.Start, "parameter without a default follows parameter with a default")
			}
			defaults = one.Default != nil
			a.Args = append(a.Args, one)
		}
		a.Span = p.from(start)
		if a.KwArg != nil {
			p.accept(",")
			break
		}
		if !p.is(end) {
			p.expect(",")
		}
	}
	if star && a.VarArg == nil && a.KwOnly == nil {
		p.fail("named arguments must follow bare *")
	}
	return a
}

// parameter reads a name and its annotation.
func (p *expressions) parameter(annotated, star bool) *Arg {
	start := p.start()
	one := &Arg{Name: p.name()}
	if annotated && p.accept(":") {
		if star && p.is("*") {
			one.Annotation = p.starred(p.bitwise)
		} else {
			one.Annotation = p.expression()
		}
	}
	one.Span = p.from(start)
	return one
}

// typeParams reads [T, *Ts, **P] behind the name of a function, a class or a type.
func (p *parser) typeParams() []Expr {
	if !p.accept("[") {
		return nil
	}
	p.enter()
	defer p.leave()
	var params []Expr
	for !p.accept("]") {
		start := p.start()
		one := &TypeParam{}
		if p.is("*", "**") {
			one.Stars = int(p.tok().end - p.tok().start)
			p.next()
		}
		one.Name = p.name()
		if one.Stars == 0 && p.accept(":") {
			one.Bound = p.expression()
		}
		if p.accept("=") {
			if one.Stars == 1 {
				one.Default = p.starExpression()
			} else {
				one.Default = p.expression()
			}
		}
		one.Span = p.from(start)
		params = append(params, one)
		if !p.is("]") {
			p.expect(",")
		}
	}
	if params == nil {
		p.fail("expected a type parameter")
	}
	return params
}

// All returns every parameter, in the order of the source.
func (a *Arguments) All() []*Arg {
	all := append(append([]*Arg{}, a.PosOnly...), a.Args...)
	if a.VarArg != nil {
		all = append(all, a.VarArg)
	}
	all = append(all, a.KwOnly...)
	if a.KwArg != nil {
		all = append(all, a.KwArg)
	}
	return all
}
