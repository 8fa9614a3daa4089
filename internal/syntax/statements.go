package syntax

import "slices"

// file reads all statements of a source.
func (p *parser) file() []Stmt {
	var body []Stmt
	for p.tok().kind != kindEnd {
		if p.tok().kind == kindNewline {
			p.next()
			continue
		}
		if p.tok().kind == kindIndent {
			p.fail("unexpected indent")
		}
		body = p.statement(body)
	}
	return body
}

// statement reads a compound statement, or a line of simple statements, and appends them to body.
func (p *parser) statement(body []Stmt) []Stmt {
	if compound := p.compound(); compound != nil {
		return append(body, compound)
	}
	for {
		body = append(body, p.simple())
		if !p.accept(";") {
			break
		}
		if p.tok().kind == kindNewline {
			break
		}
	}
	p.expectKind(kindNewline, "the end of the line")
	return body
}

// block reads a colon, and the statements behind it: an indented block, or the rest of the line.
func (p *parser) block() []Stmt {
	p.enter()
	defer p.leave()
	p.expect(":")
	if p.tok().kind != kindNewline {
		return p.simpleLine()
	}
	p.next()
	p.expectKind(kindIndent, "an indented block")
	var body []Stmt
	for p.tok().kind != kindDedent && p.tok().kind != kindEnd {
		if p.tok().kind == kindIndent {
			p.fail("unexpected indent")
		}
		body = p.statement(body)
	}
	if p.tok().kind == kindDedent {
		p.next()
	}
	return body
}

// simpleLine reads the statements behind a colon in the same line.
func (p *parser) simpleLine() []Stmt {
	if p.is("if", "for", "while", "try", "with", "def", "class", "async", "@") {
		p.fail("a compound statement cannot stand here")
	}
	return p.statement(nil)
}

// compound reads a compound statement. It returns nil, and reads nothing, if none begins.
func (p *parser) compound() Stmt {
	t := p.tok()
	start := p.start()
	if t.kind == kindName && p.textOf(t) == "match" {
		return p.match()
	}
	if t.kind != kindOp {
		return nil
	}
	switch p.textOf(t) {
	case "if":
		return p.ifElse()
	case "for":
		return p.forIn(start, false)
	case "while":
		p.next()
		s := &While{Test: p.named(), Body: p.block(), Else: p.elseBlock()}
		s.Span = p.from(start)
		return s
	case "with":
		return p.with(start, false)
	case "try":
		return p.tryExcept()
	case "def":
		return p.function(start, false, nil)
	case "class":
		return p.class(start, nil)
	case "@":
		return p.decorated()
	case "async":
		p.next()
		switch {
		case p.is("def"):
			return p.function(start, true, nil)
		case p.is("for"):
			return p.forIn(start, true)
		case p.is("with"):
			return p.with(start, true)
		}
		p.fail("expected 'def', 'for' or 'with'")
	}
	return nil
}

// elseBlock reads else and its block, if there is one.
func (p *parser) elseBlock() []Stmt {
	if !p.accept("else") {
		return nil
	}
	return p.block()
}

// ifElse reads if, elif and else. Each elif is the only statement in the Else of the statement before.
func (p *parser) ifElse() Stmt {
	chain := []*If{p.ifBlock()}
	for p.is("elif") {
		chain = append(chain, p.ifBlock())
	}
	chain[len(chain)-1].Else = p.elseBlock()
	for i, s := range slices.Backward(chain) {
		s.Span = p.from(s.Start)
		if i > 0 {
			chain[i-1].Else = []Stmt{s}
		}
	}
	return chain[0]
}

// ifBlock reads if or elif with its condition and block.
func (p *parser) ifBlock() *If {
	s := &If{Span: Span{Start: p.start()}}
	p.next()
	s.Test, s.Body = p.named(), p.block()
	return s
}

func (p *parser) forIn(start Pos, async bool) Stmt {
	p.expect("for")
	s := &For{Async: async, Target: p.targets("in")}
	p.next()
	s.Iter = p.starExpressions()
	s.Body, s.Else = p.block(), p.elseBlock()
	s.Span = p.from(start)
	return s
}

func (p *parser) with(start Pos, async bool) Stmt {
	p.expect("with")
	s := &With{Async: async}
	bracketed := p.is("(") && p.try(func() {
		p.next()
		p.enter()
		s.Items = p.withItems()
		p.expect(")")
		p.leave()
		if !p.is(":") {
			p.fail("expected ':'")
		}
	})
	if !bracketed {
		s.Items = p.withItems()
	}
	s.Body = p.block()
	s.Span = p.from(start)
	return s
}

func (p *parser) withItems() []*WithItem {
	var items []*WithItem
	for {
		start := p.start()
		item := &WithItem{Context: p.expression()}
		if p.accept("as") {
			if p.is("*") {
				item.Vars = p.starred(p.bitwise)
			} else {
				item.Vars = p.bitwise()
			}
			p.checkTarget(item.Vars, true)
		}
		item.Span = p.from(start)
		items = append(items, item)
		if !p.accept(",") || p.is(")") {
			return items
		}
	}
}

func (p *parser) tryExcept() Stmt {
	start := p.start()
	p.expect("try")
	s := &Try{Body: p.block()}
	for p.is("except") {
		begin := p.start()
		p.next()
		h := &ExceptHandler{}
		star := p.accept("*")
		if len(s.Handlers) > 0 && star != s.Star {
			p.fail("cannot have both 'except' and 'except*' on the same 'try'")
		}
		s.Star = star
		if !p.is(":") {
			h.Type = p.tupleOf(p.expression)
			if p.accept("as") {
				h.Name = p.name()
			}
		}
		h.Body = p.block()
		h.Span = p.from(begin)
		s.Handlers = append(s.Handlers, h)
	}
	if s.Handlers != nil {
		s.Else = p.elseBlock()
	}
	if p.accept("finally") {
		s.Finally = p.block()
	} else if s.Handlers == nil {
		p.fail("expected 'except' or 'finally' block")
	}
	s.Span = p.from(start)
	return s
}

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

// match reads a match statement. It returns nil, and reads nothing, if match is only a name.
func (p *parser) match() Stmt {
	start := p.start()
	s := &Match{}
	isMatch := p.try(func() {
		p.next()
		s.Subject = p.tupleOf(p.starNamed)
		p.expect(":")
		p.expectKind(kindNewline, "the end of the line")
		p.expectKind(kindIndent, "an indented block")
		if !p.isSoft(0, "case") {
			p.fail("expected 'case'")
		}
	})
	if !isMatch {
		return nil
	}
	p.enter()
	defer p.leave()
	for p.tok().kind != kindDedent && p.tok().kind != kindEnd {
		s.Cases = append(s.Cases, p.matchCase())
	}
	if p.tok().kind == kindDedent {
		p.next()
	}
	s.Span = p.from(start)
	return s
}

func (p *parser) matchCase() *MatchCase {
	start := p.start()
	if !p.isSoft(0, "case") {
		p.fail("expected 'case'")
	}
	p.next()
	pattern := patterns{expressions: &p.expressions}
	pattern.openPattern()
	c := &MatchCase{Binds: pattern.binds, Uses: pattern.uses}
	if p.accept("if") {
		c.Guard = p.named()
	}
	c.Body = p.block()
	c.Span = p.from(start)
	return c
}
