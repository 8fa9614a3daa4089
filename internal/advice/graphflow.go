package advice

import (
	"slices"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
)

// flow follows values that hold a graph, by the names that have them, through the statements that run later. It knows
// no values: where it is in doubt, a value meets a backward pass.
type flow struct {
	n     *notebook.Notebook
	names map[string]bool
	meets bool
	depth int
}

// maxGraphCalls bounds the functions that return a value to one another.
const maxGraphCalls = 4

// meets reports whether a value that the statement makes, or one of these names, may meet a backward pass.
func meets(n *notebook.Notebook, spot notebook.Spot, names ...string) bool {
	f := &flow{n: n, names: map[string]bool{}}
	for _, name := range names {
		f.names[name] = true
	}
	if len(names) == 0 {
		f.made(spot.Stmt)
	}
	f.behind(spot)
	return f.meets
}

// made adds the names to which a statement gives a value.
func (f *flow) made(stmt syntax.Stmt) {
	for node := range syntax.All[syntax.Node](stmt) {
		switch s := node.(type) {
		case *syntax.Assign:
			for _, t := range s.Targets {
				f.store(t, true)
			}
		case *syntax.AnnAssign:
			f.store(s.Target, true)
		case *syntax.AugAssign:
			f.store(s.Target, true)
		case *syntax.NamedExpr:
			f.store(s.Target, true)
		case *syntax.Call:
			if a, ok := s.Func.(*syntax.Attribute); ok && keepingMethods[a.Attr] {
				f.store(a.Value, true)
			}
		}
	}
}

// store gives a target a value, with a graph or without. A part of an object counts as all of it.
func (f *flow) store(target syntax.Expr, graph bool) {
	switch t := target.(type) {
	case *syntax.Name:
		if graph {
			f.names[t.ID] = true
		} else {
			delete(f.names, t.ID)
		}
	case *syntax.Attribute:
		f.keep(t.Value, graph)
	case *syntax.Subscript:
		f.keep(t.Value, graph)
	case *syntax.Starred:
		f.store(t.Value, graph)
	case *syntax.Tuple:
		for _, one := range t.Elts {
			f.store(one, graph)
		}
	case *syntax.List:
		for _, one := range t.Elts {
			f.store(one, graph)
		}
	}
}

func (f *flow) keep(target syntax.Expr, graph bool) {
	if graph {
		f.store(target, true)
	}
}

// reads reports whether an expression has the graph of a name in it.
func (f *flow) reads(node syntax.Node) bool {
	found := false
	syntax.Walk(node, func(one syntax.Node) bool {
		switch e := one.(type) {
		case *syntax.Name:
			found = found || f.names[e.ID]
		case *syntax.Call:
			return !found && !leaves[syntax.LastName(e.Func)]
		case *syntax.Attribute:
			return !found && e.Attr != "shape"
		}
		return !found
	})
	return found
}

// backs reports whether a call begins a backward pass.
func backs(call *syntax.Call) bool {
	method, ok := call.Func.(*syntax.Attribute)
	if !ok {
		return false
	}
	switch method.Attr {
	case "backward", "manual_backward":
		return true
	case "grad", "jacobian", "hessian", "jvp", "vjp", "hvp":
		switch v := method.Value.(type) {
		case *syntax.Attribute:
			return v.Attr == "autograd" || v.Attr == "functional" || v.Attr == "func"
		case *syntax.Name:
			return v.ID == "autograd" || v.ID == "func"
		}
	}
	return false
}

// trains reports whether a node has a backward pass in it, or calls one of the notebook's functions that has.
func trains(n *notebook.Notebook, node syntax.Node) bool { return trainsWithin(n, node, maxGraphCalls) }

func trainsWithin(n *notebook.Notebook, node syntax.Node, depth int) bool {
	return syntax.Any(node, func(call *syntax.Call) bool {
		if backs(call) {
			return true
		}
		name := syntax.LastName(call.Func)
		return depth > 0 && name != "" && slices.ContainsFunc(functions(n, name), func(p notebook.Spot) bool {
			f := p.Stmt.(*syntax.FunctionDef)
			return f.Span != node.Place() && trainsWithin(n, f, depth-1)
		})
	})
}

// functions returns the definitions of a name.
func functions(n *notebook.Notebook, name string) (all []notebook.Spot) {
	n.Spots(func(spot notebook.Spot) bool {
		if f, ok := spot.Stmt.(*syntax.FunctionDef); ok && f.Name == name {
			all = append(all, spot)
		}
		return true
	})
	return all
}

// behind goes on with the statements that run after a spot.
func (f *flow) behind(spot notebook.Spot) {
	for i := len(spot.Blocks) - 1; i >= 0 && !f.meets && len(f.names) > 0; i-- {
		b := spot.Blocks[i]
		f.run(b.Stmts[b.At+1:])
		switch owner := b.Owner.(type) {
		case *syntax.For:
			f.store(owner.Target, false)
			f.run(b.Stmts[:b.At])
		case *syntax.While:
			f.run(b.Stmts[:b.At])
		case *syntax.ClassDef:
			f.meets = true
		case *syntax.FunctionDef:
			f.returns(owner, b.Stmts)
			return
		}
	}
	for _, c := range f.n.Cells[spot.Cell.Index+1:] {
		if c.Tree != nil && !f.meets && len(f.names) > 0 {
			f.run(c.Tree.Body)
		}
	}
}

// returns goes on where the function is called, if it returns a graph. Where that is cannot be seen for a method.
func (f *flow) returns(owner *syntax.FunctionDef, body []syntax.Stmt) {
	hands := false
	for _, stmt := range body {
		hands = hands || syntax.Any(stmt, func(node syntax.Node) bool {
			switch s := node.(type) {
			case *syntax.Return:
				return s.Value != nil && f.reads(s.Value)
			case *syntax.Yield, *syntax.Global:
				return true
			}
			return false
		})
	}
	if !hands || f.meets {
		return
	}
	if f.depth++; f.depth > maxGraphCalls {
		f.meets = true
		return
	}
	found := false
	f.n.Spots(func(spot notebook.Spot) bool {
		if syntax.Blocks(spot.Stmt) == nil && syntax.Any(spot.Stmt, func(call *syntax.Call) bool {
			return syntax.LastName(call.Func) == owner.Name
		}) {
			found = true
			one := &flow{n: f.n, names: map[string]bool{}, depth: f.depth}
			one.made(spot.Stmt)
			one.meets = trains(f.n, spot.Stmt)
			if _, hands := spot.Stmt.(*syntax.Return); hands {
				one.meets = true
			}
			one.behind(spot)
			f.meets = f.meets || one.meets
		}
		return !f.meets
	})
	f.meets = f.meets || !found
}

// run follows statements in their order.
func (f *flow) run(stmts []syntax.Stmt) {
	for _, stmt := range stmts {
		if f.meets || len(f.names) == 0 {
			return
		}
		f.one(stmt)
	}
}

func (f *flow) one(stmt syntax.Stmt) {
	switch s := stmt.(type) {
	case *syntax.Assign:
		f.look(s.Value)
		graph := f.reads(s.Value)
		for _, t := range s.Targets {
			f.store(t, graph)
		}
	case *syntax.AugAssign:
		f.look(s.Value)
		if f.reads(s.Value) {
			f.store(s.Target, true)
		}
	case *syntax.FunctionDef, *syntax.ClassDef:
		f.meets = f.meets || f.reads(s) && trains(f.n, s)
	case *syntax.For:
		f.look(s.Iter)
		f.store(s.Target, f.reads(s.Iter))
		f.run(s.Body)
		f.run(s.Else)
	default:
		blocks := syntax.Blocks(stmt)
		if blocks == nil {
			f.look(stmt)
		}
		for _, block := range blocks {
			f.run(block)
		}
	}
}

// look finds calls in an expression that begin a backward pass, or that keep a graph.
func (f *flow) look(node syntax.Node) {
	for call := range syntax.All[*syntax.Call](node) {
		if f.meets = f.meets || f.reads(call) && (backs(call) || trains(f.n, call)); f.meets {
			return
		}
		if a, ok := call.Func.(*syntax.Attribute); ok && keepingMethods[a.Attr] {
			for _, arg := range call.Args {
				if f.reads(arg) {
					f.store(a.Value, true)
				}
			}
		}
	}
}
