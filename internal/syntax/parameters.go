package syntax

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
