package syntax

// expressions reads expressions.
type expressions struct{ reader }

// starExpressions reads expressions with commas between them: a tuple if there is a comma.
func (p *expressions) starExpressions() Expr { return p.tupleOf(p.starExpression) }

// tupleOf reads expressions with commas between them: a tuple if there is a comma. element reads each of them.
func (p *expressions) tupleOf(element func() Expr) Expr {
	start := p.start()
	first := element()
	if !p.is(",") {
		return first
	}
	elts := []Expr{first}
	for p.accept(",") && p.beginsExpression() {
		elts = append(elts, element())
	}
	return &Tuple{Span: p.from(start), Elts: elts}
}

// beginsExpression reports whether the current token may begin an expression.
func (p *reader) beginsExpression() bool {
	switch p.tok().kind {
	case kindName, kindNumber, kindString, kindTextStart:
		return true
	case kindOp:
		return p.is("(", "[", "{", "-", "+", "~", "*", "...", "not", "lambda", "await", "None", "True", "False")
	}
	return false
}

// starExpression reads an expression, or *value.
func (p *expressions) starExpression() Expr {
	if p.is("*") {
		return p.starred(p.bitwise)
	}
	return p.expression()
}

// starNamed reads an expression, *value, or name := expression.
func (p *expressions) starNamed() Expr {
	if p.is("*") {
		return p.starred(p.bitwise)
	}
	return p.named()
}

// starred reads * and a value.
func (p *expressions) starred(value func() Expr) Expr {
	start := p.start()
	p.expect("*")
	v := value()
	return &Starred{Span: p.from(start), Value: v}
}

// named reads an expression, or name := expression.
func (p *expressions) named() Expr {
	if p.tok().kind != kindName || !p.isAt(1, ":=") {
		return p.expression()
	}
	start := p.start()
	target := p.nameExpr()
	p.next()
	value := p.expression()
	return &NamedExpr{Span: p.from(start), Target: target, Value: value}
}

func (p *reader) nameExpr() *Name {
	start := p.start()
	id := p.name()
	return &Name{Span: p.from(start), ID: id}
}

// expression reads a lambda, a conditional expression, or one that binds tighter.
func (p *expressions) expression() Expr {
	if p.is("lambda") {
		return p.lambda()
	}
	start := p.start()
	body := p.disjunction()
	if !p.accept("if") {
		return body
	}
	test := p.disjunction()
	p.expect("else")
	p.enter()
	other := p.expression()
	p.leave()
	return &IfExp{Span: p.from(start), Test: test, Body: body, Else: other}
}

func (p *expressions) lambda() Expr {
	start := p.start()
	p.expect("lambda")
	args := p.parameters(":", false)
	p.expect(":")
	p.enter()
	body := p.expression()
	p.leave()
	return &Lambda{Span: p.from(start), Args: args, Body: body}
}

func (p *expressions) disjunction() Expr {
	return p.boolean("or", func() Expr { return p.boolean("and", p.inversion) })
}

// boolean reads operands with and, or with or, between them.
func (p *expressions) boolean(op string, operand func() Expr) Expr {
	start := p.start()
	first := operand()
	if !p.is(op) {
		return first
	}
	values := []Expr{first}
	for p.accept(op) {
		values = append(values, operand())
	}
	return &BoolOp{Span: p.from(start), Op: op, Values: values}
}

func (p *expressions) inversion() Expr {
	if !p.is("not") {
		return p.comparison()
	}
	start := p.start()
	p.next()
	p.enter()
	operand := p.inversion()
	p.leave()
	return &UnaryOp{Span: p.from(start), Op: "not", Operand: operand}
}

func (p *expressions) comparison() Expr {
	start := p.start()
	left := p.bitwise()
	var ops []string
	var others []Expr
	for {
		op := p.comparator()
		if op == "" {
			break
		}
		ops = append(ops, op)
		others = append(others, p.bitwise())
	}
	if ops == nil {
		return left
	}
	return &Compare{Span: p.from(start), Left: left, Ops: ops, Comparators: others}
}

// comparator reads an operator that compares, such as < or "not in"; "" where there is none.
func (p *reader) comparator() string {
	switch {
	case p.is("==", "!=", "<", "<=", ">", ">=", "in"):
		return p.textOf(p.next())
	case p.is("not") && p.isAt(1, "in"):
		p.next()
		p.next()
		return "not in"
	case p.accept("is"):
		if p.accept("not") {
			return "is not"
		}
		return "is"
	}
	return ""
}

// precedences has the precedence of each binary operator. A higher one binds tighter. ** is not among them, see power.
var precedences = map[string]int{"|": lowestPrecedence, "^": 2, "&": 3, "<<": 4, ">>": 4, "+": sumPrecedence,
	"-": sumPrecedence, "*": 6, "/": 6, "//": 6, "%": 6, "@": 6}

const (
	lowestPrecedence = 1
	sumPrecedence    = 5
)

// bitwise reads binary operators and their operands.
func (p *expressions) bitwise() Expr { return p.binary(lowestPrecedence) }

// binary reads binary operators of at least a precedence, and their operands.
func (p *expressions) binary(least int) Expr {
	start := p.start()
	left := p.factor()
	for p.tok().kind == kindOp {
		op := p.textOf(p.tok())
		precedence := precedences[op]
		if precedence < least {
			break
		}
		p.next()
		right := p.binary(precedence + 1)
		left = &BinOp{Span: p.from(start), Left: left, Op: op, Right: right}
	}
	return left
}

func (p *expressions) factor() Expr {
	if !p.is("-", "+", "~") {
		return p.power()
	}
	start := p.start()
	op := p.textOf(p.next())
	p.enter()
	operand := p.factor()
	p.leave()
	return &UnaryOp{Span: p.from(start), Op: op, Operand: operand}
}

func (p *expressions) power() Expr {
	start := p.start()
	base := p.await()
	if !p.accept("**") {
		return base
	}
	p.enter()
	exponent := p.factor()
	p.leave()
	return &BinOp{Span: p.from(start), Left: base, Op: "**", Right: exponent}
}

func (p *expressions) await() Expr {
	start := p.start()
	if !p.accept("await") {
		return p.primary()
	}
	value := p.primary()
	return &Await{Span: p.from(start), Value: value}
}

// primary reads an atom with attributes, calls and subscripts behind it.
func (p *expressions) primary() Expr {
	start := p.start()
	value := p.atom()
	for {
		switch {
		case p.accept("."):
			attr := p.name()
			value = &Attribute{Span: p.from(start), Value: value, Attr: attr}
		case p.is("("):
			args, keywords := p.arguments()
			value = &Call{Span: p.from(start), Func: value, Args: args, Keywords: keywords}
		case p.accept("["):
			p.enter()
			slice := p.slices()
			p.leave()
			p.expect("]")
			value = &Subscript{Span: p.from(start), Value: value, Slice: slice}
		default:
			return value
		}
	}
}

// slices reads what stands between the brackets of a subscript: an index or a slice, or several as a tuple.
func (p *expressions) slices() Expr {
	start := p.start()
	if p.is("]") {
		p.fail("expected an index")
	}
	first := p.slice()
	if _, star := first.(*Starred); !p.is(",") && !star {
		return first
	}
	elts := []Expr{first}
	for p.accept(",") && !p.is("]") {
		elts = append(elts, p.slice())
	}
	return &Tuple{Span: p.from(start), Elts: elts}
}

// slice reads lower:upper:step, an index, or *value.
func (p *expressions) slice() Expr {
	start := p.start()
	if p.is("*") {
		return p.starred(p.bitwise)
	}
	var lower, upper, step Expr
	if !p.is(":") {
		lower = p.named()
		if !p.is(":") {
			return lower
		}
	}
	p.expect(":")
	if p.beginsExpression() {
		upper = p.expression()
	}
	if p.accept(":") && p.beginsExpression() {
		step = p.expression()
	}
	return &Slice{Span: p.from(start), Lower: lower, Upper: upper, Step: step}
}

// yield reads a yield expression.
func (p *expressions) yield() Expr {
	start := p.start()
	p.expect("yield")
	if p.accept("from") {
		value := p.expression()
		return &Yield{Span: p.from(start), From: true, Value: value}
	}
	var value Expr
	if p.beginsExpression() {
		value = p.starExpressions()
	}
	return &Yield{Span: p.from(start), Value: value}
}

// yieldOrExpressions reads a yield expression or other expressions: what may stand behind =.
func (p *expressions) yieldOrExpressions() Expr {
	if p.is("yield") {
		return p.yield()
	}
	return p.starExpressions()
}
