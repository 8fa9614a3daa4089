package advice

import (
	"slices"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
)

// flow follows values with a graph through the statements that run later, by the names that are bound to them. It reads
// only source: where it cannot tell, it says that a value meets a backward pass.
type flow struct {
	n             *notebook.Notebook
	names         map[string]bool // names whose value may have a graph
	meetsBackward bool            // a value with a graph may be part of a backward pass
	depth         int             // returns from function to function so far, at most maxGraphCalls
}

// maxGraphCalls bounds how many functions a value is followed through.
const maxGraphCalls = 4

// meetsBackward reports whether the value of a name may be part of a backward pass behind a statement.
func meetsBackward(n *notebook.Notebook, spot notebook.Spot, name string) bool {
	f := &flow{n: n, names: map[string]bool{name: true}}
	f.followAfter(spot)
	return f.meetsBackward
}

// addMadeBy adds the names that a statement binds, and the containers in which it stores.
func (f *flow) addMadeBy(stmt syntax.Stmt) {
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
			if a, ok := s.Func.(*syntax.Attribute); ok && graphStoring[a.Attr] {
				f.store(a.Value, true)
			}
		}
	}
}

// store records an assignment of a value, with a graph or without. An object with a graph in one of its parts counts as
// a value with a graph.
func (f *flow) store(target syntax.Expr, hasGraph bool) {
	switch t := target.(type) {
	case *syntax.Name:
		if hasGraph {
			f.names[t.ID] = true
		} else {
			delete(f.names, t.ID)
		}
	case *syntax.Attribute:
		f.storePart(t.Value, hasGraph)
	case *syntax.Subscript:
		f.storePart(t.Value, hasGraph)
	case *syntax.Starred:
		f.store(t.Value, hasGraph)
	case *syntax.Tuple:
		for _, element := range t.Elts {
			f.store(element, hasGraph)
		}
	case *syntax.List:
		for _, element := range t.Elts {
			f.store(element, hasGraph)
		}
	}
}

// storePart records an assignment to a part of an object. Without a graph it changes nothing: other parts may have one.
func (f *flow) storePart(object syntax.Expr, hasGraph bool) {
	if hasGraph {
		f.store(object, true)
	}
}

// reads reports whether the value of an expression may have the graph of one of the names.
func (f *flow) reads(expr syntax.Node) bool {
	found := false
	syntax.Walk(expr, func(node syntax.Node) bool {
		switch e := node.(type) {
		case *syntax.Name:
			found = found || f.names[e.ID]
		case *syntax.Call:
			return !found && !graphless[syntax.LastName(e.Func)]
		case *syntax.Attribute:
			return !found && e.Attr != "shape"
		}
		return !found
	})
	return found
}

// startsBackward reports whether a call begins a backward pass.
func startsBackward(call *syntax.Call) bool {
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

// trains reports whether a node begins a backward pass, by itself or by a function of the notebook that it calls.
func trains(n *notebook.Notebook, node syntax.Node) bool { return trainsWithin(n, node, maxGraphCalls) }

func trainsWithin(n *notebook.Notebook, node syntax.Node, depth int) bool {
	return syntax.Any(node, func(call *syntax.Call) bool {
		if startsBackward(call) {
			return true
		}
		name := syntax.LastName(call.Func)
		return depth > 0 && name != "" && slices.ContainsFunc(functions(n, name), func(p notebook.Spot) bool {
			f := p.Stmt.(*syntax.FunctionDef)
			return f.Span != node.Place() && trainsWithin(n, f, depth-1)
		})
	})
}

// functions returns all definitions of functions of a name.
func functions(n *notebook.Notebook, name string) (all []notebook.Spot) {
	n.Spots(func(spot notebook.Spot) bool {
		if f, ok := spot.Stmt.(*syntax.FunctionDef); ok && f.Name == name {
			all = append(all, spot)
		}
		return true
	})
	return all
}

// done reports whether following more statements cannot change the answer.
func (f *flow) done() bool { return f.meetsBackward || len(f.names) == 0 }

// followAfter follows the values through the statements that run after a spot.
func (f *flow) followAfter(spot notebook.Spot) {
	for i := len(spot.Blocks) - 1; i >= 0 && !f.done(); i-- {
		b := spot.Blocks[i]
		f.run(b.Stmts[b.At+1:])
		switch owner := b.Owner.(type) {
		case *syntax.For:
			f.store(owner.Target, false)
			f.run(b.Stmts[:b.At])
		case *syntax.While:
			f.run(b.Stmts[:b.At])
		case *syntax.ClassDef:
			f.meetsBackward = true // the calls of a method cannot be found
		case *syntax.FunctionDef:
			if f.mayReturn(b.Stmts) && !f.meetsBackward {
				f.followCalls(owner)
			}
			return
		}
	}
	for _, c := range f.n.Cells[spot.Cell.Index+1:] {
		if c.Tree != nil && !f.done() {
			f.run(c.Tree.Body)
		}
	}
}

// mayReturn reports whether a function's body may give a value with a graph to its caller or to a global name.
func (f *flow) mayReturn(body []syntax.Stmt) bool {
	return slices.ContainsFunc(body, func(stmt syntax.Stmt) bool {
		return syntax.Any(stmt, func(node syntax.Node) bool {
			switch s := node.(type) {
			case *syntax.Return:
				return s.Value != nil && f.reads(s.Value)
			case *syntax.Yield, *syntax.Global:
				return true
			}
			return false
		})
	})
}

// followCalls follows the value that a function returns, from each of the notebook's calls of the function. A value
// without such a call counts as part of a backward pass.
func (f *flow) followCalls(function *syntax.FunctionDef) {
	if f.depth++; f.depth > maxGraphCalls {
		f.meetsBackward = true
		return
	}
	isCall := func(call *syntax.Call) bool { return syntax.LastName(call.Func) == function.Name }
	hasCall := false
	f.n.Spots(func(spot notebook.Spot) bool {
		if syntax.Blocks(spot.Stmt) != nil || !syntax.Any(spot.Stmt, isCall) {
			return !f.meetsBackward
		}
		hasCall = true
		_, returns := spot.Stmt.(*syntax.Return)
		caller := &flow{n: f.n, names: map[string]bool{}, depth: f.depth}
		caller.addMadeBy(spot.Stmt)
		caller.meetsBackward = returns || trains(f.n, spot.Stmt)
		caller.followAfter(spot)
		f.meetsBackward = f.meetsBackward || caller.meetsBackward
		return !f.meetsBackward
	})
	f.meetsBackward = f.meetsBackward || !hasCall
}

// run follows the values through statements that run in their order.
func (f *flow) run(stmts []syntax.Stmt) {
	for _, stmt := range stmts {
		if f.done() {
			return
		}
		f.runStatement(stmt)
	}
}

func (f *flow) runStatement(stmt syntax.Stmt) {
	switch s := stmt.(type) {
	case *syntax.Assign:
		f.checkCalls(s.Value)
		hasGraph := f.reads(s.Value)
		for _, t := range s.Targets {
			f.store(t, hasGraph)
		}
	case *syntax.AugAssign:
		f.checkCalls(s.Value)
		if f.reads(s.Value) {
			f.store(s.Target, true)
		}
	case *syntax.FunctionDef, *syntax.ClassDef:
		f.meetsBackward = f.meetsBackward || f.reads(s) && trains(f.n, s)
	case *syntax.For:
		f.checkCalls(s.Iter)
		f.store(s.Target, f.reads(s.Iter))
		f.run(s.Body)
		f.run(s.Else)
	default:
		blocks := syntax.Blocks(stmt)
		if blocks == nil {
			f.checkCalls(stmt)
		}
		for _, block := range blocks {
			f.run(block)
		}
	}
}

// checkCalls looks at the calls in an expression: a call may begin a backward pass, or store a graph in a container.
func (f *flow) checkCalls(node syntax.Node) {
	for call := range syntax.All[*syntax.Call](node) {
		if !f.meetsBackward {
			f.meetsBackward = f.reads(call) && (startsBackward(call) || trains(f.n, call))
		}
		if f.meetsBackward {
			return
		}
		if a, ok := call.Func.(*syntax.Attribute); ok && graphStoring[a.Attr] {
			for _, arg := range call.Args {
				if f.reads(arg) {
					f.store(a.Value, true)
				}
			}
		}
	}
}
