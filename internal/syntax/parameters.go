package syntax

// parameters reads the parameters of a function, or of a lambda, whose parameters are not annotated. It stops in front
// of end.
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
			arg := p.parameter(annotated, false)
			if p.accept("=") {
				arg.Default = p.expression()
			}
			if star {
				a.KwOnly = append(a.KwOnly, arg)
				break
			}
			if defaults && arg.Default == nil {
				p.failAt(arg.Start, "parameter without a default follows parameter with a default")
			}
			defaults = arg.Default != nil
			a.Args = append(a.Args, arg)
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

// parameter reads a name and, if parameters are annotated, its annotation. The annotation of *args (star) may be
// starred.
func (p *expressions) parameter(annotated, star bool) *Arg {
	start := p.start()
	arg := &Arg{Name: p.name()}
	if annotated && p.accept(":") {
		if star && p.is("*") {
			arg.Annotation = p.starred(p.bitwise)
		} else {
			arg.Annotation = p.expression()
		}
	}
	arg.Span = p.from(start)
	return arg
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
		param := &TypeParam{}
		if p.is("*", "**") {
			param.Stars = int(p.tok().end - p.tok().start)
			p.next()
		}
		param.Name = p.name()
		if param.Stars == 0 && p.accept(":") {
			param.Bound = p.expression()
		}
		if p.accept("=") {
			if param.Stars == 1 {
				param.Default = p.starExpression()
			} else {
				param.Default = p.expression()
			}
		}
		param.Span = p.from(start)
		params = append(params, param)
		if !p.is("]") {
			p.expect(",")
		}
	}
	if params == nil {
		p.fail("expected a type parameter")
	}
	return params
}
