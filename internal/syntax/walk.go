package syntax

import "iter"

// Walk visits a node and all nodes below it, depth first, in the order of the source. If visit returns false for a
// node, Walk leaves out the nodes below that node.
func Walk(node Node, visit func(Node) bool) {
	walk(node, func(node Node, _ int) bool { return visit(node) })
}

// All returns the nodes of type T among a node and all nodes below it, in the order of [Walk].
func All[T Node](node Node) iter.Seq[T] {
	return func(yield func(T) bool) {
		goesOn := true
		Walk(node, func(n Node) bool {
			if t, ok := n.(T); ok && goesOn {
				goesOn = yield(t)
			}
			return goesOn
		})
	}
}

// Any reports whether passes accepts a node of type T, among a node and all nodes below it.
func Any[T Node](node Node, passes func(T) bool) bool {
	for n := range All[T](node) {
		if passes(n) {
			return true
		}
	}
	return false
}

// walk does what Walk does, and passes the depth of each node. It is not recursive, because a tree may be deep.
func walk(node Node, visit func(node Node, depth int) bool) {
	type step struct {
		node  Node
		depth int
	}
	todo := []step{{node, 0}}
	var below children
	for len(todo) > 0 {
		top := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !visit(top.node, top.depth) {
			continue
		}
		below = below[:0]
		below.of(top.node)
		for i := len(below) - 1; i >= 0; i-- {
			todo = append(todo, step{below[i], top.depth + 1})
		}
	}
}

// children are the nodes right below a node, in the order of the source.
type children []Node

// expr adds expressions, except nil ones.
func (c *children) expr(exprs ...Expr) *children {
	for _, e := range exprs {
		if e != nil {
			*c = append(*c, e)
		}
	}
	return c
}

// stmts adds lists of statements.
func (c *children) stmts(lists ...[]Stmt) {
	for _, list := range lists {
		addAll(c, list)
	}
}

// of adds the children of a node.
func (c *children) of(node Node) {
	switch n := node.(type) {
	case *Module:
		c.stmts(n.Body)
	case Stmt:
		c.ofStmt(n)
	case Expr:
		c.ofExpr(n)
	default:
		c.ofPart(n)
	}
}

func (c *children) ofStmt(node Stmt) {
	switch n := node.(type) {
	case *FunctionDef:
		c.expr(n.Decorators...).expr(n.TypeParams...)
		*c = append(*c, n.Args)
		c.expr(n.Returns).stmts(n.Body)
	case *ClassDef:
		c.expr(n.Decorators...).expr(n.TypeParams...)
		c.arguments(n.Bases, n.Keywords)
		c.stmts(n.Body)
	case *Return:
		c.expr(n.Value)
	case *Delete:
		c.expr(n.Targets...)
	case *Assign:
		c.expr(n.Targets...).expr(n.Value)
	case *AugAssign:
		c.expr(n.Target, n.Value)
	case *AnnAssign:
		c.expr(n.Target, n.Annotation, n.Value)
	case *TypeAlias:
		c.expr(n.Name).expr(n.TypeParams...).expr(n.Value)
	case *Raise:
		c.expr(n.Exc, n.Cause)
	case *Assert:
		c.expr(n.Test, n.Msg)
	case *Import:
		addAll(c, n.Names)
	case *ImportFrom:
		addAll(c, n.Names)
	case *ExprStmt:
		c.expr(n.Value)
	case *Magic:
		c.stmts(n.Body)
	default:
		c.ofCompound(n)
	}
}

func (c *children) ofCompound(node Stmt) {
	switch n := node.(type) {
	case *For:
		c.expr(n.Target, n.Iter).stmts(n.Body, n.Else)
	case *While:
		c.expr(n.Test).stmts(n.Body, n.Else)
	case *If:
		c.expr(n.Test).stmts(n.Body, n.Else)
	case *With:
		addAll(c, n.Items)
		c.stmts(n.Body)
	case *Match:
		c.expr(n.Subject)
		addAll(c, n.Cases)
	case *Try:
		c.stmts(n.Body)
		addAll(c, n.Handlers)
		c.stmts(n.Else, n.Finally)
	}
}

// addAll adds nodes of one type.
func addAll[T Node](c *children, nodes []T) {
	for _, n := range nodes {
		*c = append(*c, n)
	}
}

// arguments adds the arguments of a call in the order of the source: a starred argument may stand behind a keyword.
func (c *children) arguments(args []Expr, keywords []*Keyword) {
	for len(args) > 0 || len(keywords) > 0 {
		if len(keywords) == 0 || len(args) > 0 && args[0].Place().Start.Offset < keywords[0].Start.Offset {
			c.expr(args[0])
			args = args[1:]
			continue
		}
		*c = append(*c, keywords[0])
		keywords = keywords[1:]
	}
}

func (c *children) ofExpr(node Expr) {
	switch n := node.(type) {
	case *JoinedStr:
		c.expr(n.Values...)
	case *FormattedValue:
		c.expr(n.Value, n.Format)
	case *Attribute:
		c.expr(n.Value)
	case *Subscript:
		c.expr(n.Value, n.Slice)
	case *Slice:
		c.expr(n.Lower, n.Upper, n.Step)
	case *Starred:
		c.expr(n.Value)
	case *Call:
		c.expr(n.Func)
		c.arguments(n.Args, n.Keywords)
	case *BinOp:
		c.expr(n.Left, n.Right)
	case *UnaryOp:
		c.expr(n.Operand)
	case *BoolOp:
		c.expr(n.Values...)
	case *Compare:
		c.expr(n.Left).expr(n.Comparators...)
	case *IfExp:
		c.expr(n.Body, n.Test, n.Else)
	case *Lambda:
		*c = append(*c, n.Args)
		c.expr(n.Body)
	case *NamedExpr:
		c.expr(n.Target, n.Value)
	default:
		c.ofDisplay(n)
	}
}

func (c *children) ofDisplay(node Expr) {
	switch n := node.(type) {
	case *Tuple:
		c.expr(n.Elts...)
	case *List:
		c.expr(n.Elts...)
	case *Set:
		c.expr(n.Elts...)
	case *Dict:
		for i := range n.Values {
			c.expr(n.Keys[i], n.Values[i])
		}
	case *Comp:
		c.expr(n.Elt, n.Value)
		addAll(c, n.Generators)
	case *Await:
		c.expr(n.Value)
	case *Yield:
		c.expr(n.Value)
	case *TypeParam:
		c.expr(n.Bound, n.Default)
	}
}

func (c *children) ofPart(node Node) {
	switch n := node.(type) {
	case *Keyword:
		c.expr(n.Value)
	case *WithItem:
		c.expr(n.Context, n.Vars)
	case *ExceptHandler:
		c.expr(n.Type).stmts(n.Body)
	case *MatchCase:
		c.expr(n.Uses...).expr(n.Guard).stmts(n.Body)
	case *Comprehension:
		c.expr(n.Target, n.Iter).expr(n.Ifs...)
	case *Arg:
		c.expr(n.Annotation, n.Default)
	case *Arguments:
		addAll(c, n.All())
	}
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
