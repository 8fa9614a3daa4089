package syntax

// shapes has attributes that describe a value, and are no part of the value's data.
var shapes = set("shape dtype dtypes ndim size columns index nbytes itemsize")

// pure has functions and methods that keep no argument, and no part of one, neither in themselves nor in their result.
// scalar has methods whose result is no part of the value that they are called on.
var (
	pure = set("print len type id repr isinstance issubclass hash bool int float complex abs sum any all round " +
		"callable hasattr format mean std var median prod argmin argmax count_nonzero deepcopy to_csv to_parquet " +
		"to_pickle to_json to_excel to_hdf to_feather save savez savetxt getsizeof getrefcount")
	scalar = set("sum min max any all mean std var median prod argmin argmax item describe info nunique memory_usage " +
		"to_csv to_parquet to_pickle to_json to_excel to_hdf to_feather sort fill append extend insert clear remove " +
		"tofile tobytes __len__ __sizeof__")
	// mirrors has functions that lead to any name.
	mirrors = set("globals locals vars eval exec get_ipython __import__")
)

// IsPure reports whether [Names] takes a function or a method, by the last part of its name, for one that keeps no
// argument.
func IsPure(name string) bool { return pure[name] }

func (n *namer) exprs(all []Expr, use Use) {
	for _, e := range all {
		n.expr(e, use)
	}
}

// expr notes the names in an expression, which may be nil; use says what becomes of its value.
func (n *namer) expr(node Expr, use Use) {
	switch e := node.(type) {
	case nil:
	case *Name:
		n.read(e.ID, use)
		if mirrors[e.ID] {
			n.noteDynamic(true)
		}
	case *Attribute:
		n.attribute(e, use)
	case *Subscript:
		n.expr(e.Value, partOf(use))
		n.expr(e.Slice, Use{})
	case *Call:
		n.call(e, use)
	case *BoolOp:
		n.expr(e.Values[0], use)
		n.branch(func() { n.exprs(e.Values[1:], use) })
	case *IfExp:
		n.expr(e.Test, Use{})
		n.branch(func() { n.expr(e.Body, use) }, func() { n.expr(e.Else, use) })
	case *NamedExpr:
		n.expr(e.Value, Use{How: Kept})
		Bound(e, n.bind)
	case *Lambda:
		n.lambda(e)
	case *Comp:
		n.comp(e, use)
	case *Starred:
		n.expr(e.Value, partOf(use))
	case *Await:
		n.expr(e.Value, use)
	case *Yield:
		n.expr(e.Value, Use{How: Kept})
	case *Shell:
		n.readWords(e.Text)
	case *TypeParam:
		n.typeParams([]Expr{e})
	default:
		n.operands(node, use)
	}
}

// operands notes the names in displays, whose elements are kept with them, and in operators, which keep no operand.
func (n *namer) operands(node Expr, use Use) {
	within := Use{}
	if use.How != Used {
		within = Use{How: Kept, Callee: use.Callee}
	}
	switch e := node.(type) {
	case *Tuple:
		n.exprs(e.Elts, within)
	case *List:
		n.exprs(e.Elts, within)
	case *Set:
		n.exprs(e.Elts, within)
	case *Dict:
		for i := range e.Values {
			n.expr(e.Keys[i], within)
			n.expr(e.Values[i], within)
		}
	case *JoinedStr:
		n.exprs(e.Values, Use{})
	case *FormattedValue:
		n.expr(e.Value, Use{})
		n.expr(e.Format, Use{})
	case *Slice:
		n.exprs([]Expr{e.Lower, e.Upper, e.Step}, Use{})
	case *BinOp:
		n.binary(e, use)
	case *UnaryOp:
		n.expr(e.Operand, Use{})
	case *Compare:
		n.expr(e.Left, Use{})
		n.expr(e.Comparators[0], Use{})
		n.branch(func() { n.exprs(e.Comparators[1:], Use{}) })
	}
}

// binary notes the names in the operands of an operator. Only the result for lists has elements of the operands.
func (n *namer) binary(e *BinOp, use Use) {
	within := Use{}
	if use.How != Used && (isList(e.Left) || isList(e.Right)) {
		within = Use{How: Part}
	}
	n.expr(e.Left, within)
	n.expr(e.Right, within)
}

// isList reports whether an expression is a display or a comprehension.
func isList(e Expr) bool {
	switch e.(type) {
	case *List, *Tuple, *Set, *Dict, *Comp:
		return true
	}
	return false
}

// partOf returns the use of a value of which a part has a use.
func partOf(use Use) Use {
	if use.How != Used {
		return Use{How: Part, Callee: use.Callee}
	}
	return Use{Changed: use.Changed}
}

func (n *namer) attribute(e *Attribute, use Use) {
	if _, isName := e.Value.(*Name); isName && shapes[e.Attr] && !use.Changed {
		n.expr(e.Value, Use{})
		return
	}
	n.expr(e.Value, partOf(use))
}

func (n *namer) call(e *Call, use Use) {
	callee, last := calleeOf(e.Func)
	within := Use{How: Argument, Callee: callee}
	if pure[last] && !n.uses.binds(last) {
		within = Use{}
	}
	switch f := e.Func.(type) {
	case *Attribute:
		receiver := Use{}
		if use.How != Used && !scalar[last] {
			receiver = Use{How: Method, Callee: "." + f.Attr}
		}
		n.expr(f.Value, receiver)
	case *Name:
		n.read(f.ID, Use{})
	default:
		n.expr(f, Use{})
	}
	for _, arg := range e.Args {
		n.expr(arg, within)
	}
	for _, keyword := range e.Keywords {
		n.expr(keyword.Value, within)
	}
	n.implicitReads(e, last)
}

// binds reports whether the statements define a function or class with a name.
func (u *Uses) binds(name string) bool {
	return u.Functions[name] != nil
}

// calleeOf returns the name of a called function as it is written, such as np.linalg.inv, and the name's last part.
func calleeOf(f Expr) (whole, last string) {
	const maxParts = 8
	for range maxParts {
		switch e := f.(type) {
		case *Name:
			if whole == "" {
				return e.ID, e.ID
			}
			return e.ID + whole, last
		case *Attribute:
			if last == "" {
				last = e.Attr
			}
			whole = "." + e.Attr + whole
			f = e.Value
			continue
		}
		break
	}
	return whole, last
}

func (n *namer) comp(e *Comp, use Use) {
	within := Use{}
	if use.How != Used || e.Kind == "generator" {
		within = Use{How: Kept}
	}
	inner := &scope{kind: compScope, parent: n.scope}
	for _, g := range e.Generators {
		targetNames(g.Target, Looped, func(name string, _ BindKind) { inner.bind(name) })
	}
	n.expr(e.Generators[0].Iter, Use{How: Part})
	rest := func() {
		for i, g := range e.Generators {
			if i > 0 {
				n.expr(g.Iter, Use{How: Part})
			}
			n.target(g.Target)
			n.exprs(g.Ifs, Use{})
		}
		n.expr(e.Elt, within)
		n.expr(e.Value, within)
	}
	n.inScope(inner, func() {
		if e.Kind == "generator" {
			n.deferred(rest)
		} else {
			n.branch(rest)
		}
	})
}

func (n *namer) lambda(e *Lambda) {
	n.exprs(defaults(e.Args), Use{How: Kept})
	n.inScope(functionOf(n.scope, e.Args, e.Body), func() {
		n.deferred(func() { n.expr(e.Body, Use{How: Kept}) })
	})
}

// typeParams binds type parameters in the scope, and notes the names in their bounds and defaults, which are read
// later.
func (n *namer) typeParams(params []Expr) {
	for _, param := range params {
		if p, ok := param.(*TypeParam); ok {
			n.scope.bind(p.Name)
		}
	}
	for _, param := range params {
		if p, ok := param.(*TypeParam); ok {
			n.deferred(func() {
				n.expr(p.Bound, Use{})
				n.expr(p.Default, Use{})
			})
		}
	}
}

// target notes the names that an assignment to a target reads: x and i of x[i].
func (n *namer) target(target Expr) {
	switch t := target.(type) {
	case *Starred:
		n.target(t.Value)
	case *Tuple:
		for _, elt := range t.Elts {
			n.target(elt)
		}
	case *List:
		for _, elt := range t.Elts {
			n.target(elt)
		}
	case *Attribute:
		n.expr(t.Value, Use{Changed: true})
	case *Subscript:
		n.expr(t.Value, Use{Changed: true})
		n.expr(t.Slice, Use{})
	}
}
