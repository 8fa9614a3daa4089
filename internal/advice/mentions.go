package advice

import (
	"ipytracer/internal/syntax"
)

// mention is how a part of a tree uses a name. It does not know scopes: a name of the same letters in a function below
// counts.
type mention struct {
	reads   int
	binds   bool
	escapes bool // something else may hold the value then
}

// mentions returns how a node uses a name.
func mentions(node syntax.Node, name string) (m mention) {
	targets := map[syntax.Node]bool{}
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			for _, t := range n.Targets {
				addTargets(t, targets)
			}
			m.escapes = m.escapes || hands(n.Value, name)
		case *syntax.AnnAssign:
			addTargets(n.Target, targets)
			m.escapes = m.escapes || n.Value != nil && hands(n.Value, name)
		case *syntax.For:
			addTargets(n.Target, targets)
			m.escapes = m.escapes || isName(n.Iter, name)
		case *syntax.NamedExpr:
			addTargets(n.Target, targets)
			m.escapes = m.escapes || hands(n.Value, name)
		case *syntax.Return:
			m.escapes = m.escapes || n.Value != nil && hands(n.Value, name)
		case *syntax.Yield:
			m.escapes = m.escapes || n.Value != nil && hands(n.Value, name)
		case *syntax.FunctionDef, *syntax.Lambda, *syntax.ClassDef, *syntax.Global, *syntax.Nonlocal:
			if reads(n, name) {
				m.escapes = true
			}
		case *syntax.Call:
			m.escapes = m.escapes || keeps(n, name)
		case *syntax.Delete:
			for _, t := range n.Targets {
				addTargets(t, targets)
			}
		case *syntax.Name:
			if n.ID != name {
				break
			}
			if targets[n] {
				m.binds = true
			} else {
				m.reads++
			}
		}
		return true
	})
	return m
}

// bindsIn adds the targets of one node.
func bindsIn(node syntax.Node, targets map[syntax.Node]bool) {
	switch n := node.(type) {
	case *syntax.Assign:
		for _, t := range n.Targets {
			addTargets(t, targets)
		}
	case *syntax.AnnAssign:
		addTargets(n.Target, targets)
	case *syntax.AugAssign:
		addTargets(n.Target, targets)
	case *syntax.For:
		addTargets(n.Target, targets)
	case *syntax.NamedExpr:
		addTargets(n.Target, targets)
	case *syntax.WithItem:
		if n.Vars != nil {
			addTargets(n.Vars, targets)
		}
	case *syntax.Delete:
		for _, t := range n.Targets {
			addTargets(t, targets)
		}
	}
}

func reads(node syntax.Node, name string) (found bool) {
	syntax.Walk(node, func(n syntax.Node) bool {
		if isName(n, name) {
			found = true
		}
		return !found
	})
	return found
}

func addTargets(target syntax.Expr, targets map[syntax.Node]bool) {
	switch t := target.(type) {
	case *syntax.Name:
		targets[t] = true
	case *syntax.Tuple:
		for _, e := range t.Elts {
			addTargets(e, targets)
		}
	case *syntax.List:
		for _, e := range t.Elts {
			addTargets(e, targets)
		}
	case *syntax.Starred:
		addTargets(t.Value, targets)
	}
}

func isName(node syntax.Node, name string) bool {
	n, ok := node.(*syntax.Name)
	return ok && n.ID == name
}

// hands reports whether the value of an expression may be, hold or share the value of a name: the name itself, a part
// or a view of it, a display or a comprehension with it. Arithmetic makes a value of its own.
func hands(value syntax.Expr, name string) bool {
	switch v := value.(type) {
	case *syntax.Name:
		return v.ID == name
	case *syntax.Attribute:
		return !small[v.Attr] && hands(v.Value, name)
	case *syntax.Subscript:
		return hands(v.Value, name)
	case *syntax.Starred:
		return hands(v.Value, name)
	case *syntax.Tuple:
		return anyHands(v.Elts, name)
	case *syntax.List:
		return anyHands(v.Elts, name)
	case *syntax.Set:
		return anyHands(v.Elts, name)
	case *syntax.Dict:
		return anyHands(v.Keys, name) || anyHands(v.Values, name)
	case *syntax.IfExp:
		return hands(v.Body, name) || hands(v.Else, name)
	case *syntax.BoolOp:
		return anyHands(v.Values, name)
	case *syntax.NamedExpr:
		return hands(v.Value, name)
	case *syntax.Await:
		return hands(v.Value, name)
	case *syntax.Comp:
		return v.Kind == "generator" && reads(v, name)
	case *syntax.Call:
		if f, ok := v.Func.(*syntax.Attribute); ok && hands(f.Value, name) {
			return !makes[f.Attr]
		}
		return false // the memory that the call kept says whether it holds its arguments
	}
	return false
}

func anyHands(all []syntax.Expr, name string) bool {
	for _, e := range all {
		if e != nil && hands(e, name) {
			return true
		}
	}
	return false
}

// keeps reports whether a call is a method that keeps its argument in its object: things.append(x).
func keeps(call *syntax.Call, name string) bool {
	f, ok := call.Func.(*syntax.Attribute)
	if !ok || !holding[f.Attr] {
		return false
	}
	for _, a := range call.Args {
		if hands(a, name) {
			return true
		}
	}
	return false
}

var (
	// small are attributes that hold nothing of their object's data.
	small = map[string]bool{"shape": true, "dtype": true, "ndim": true, "size": true, "nbytes": true, "itemsize": true,
		"columns": true, "index": true, "dtypes": true, "name": true, "names": true, "device": true,
		"requires_grad": true}
	// holding are methods of containers.
	holding = map[string]bool{"append": true, "add": true, "extend": true, "insert": true, "setdefault": true,
		"update": true, "appendleft": true, "put": true, "push": true, "send": true, "register_buffer": true}
	// makes are methods of arrays, frames and tensors that make values of their own.
	makes = map[string]bool{"copy": true, "sum": true, "mean": true, "std": true, "var": true, "min": true, "max": true,
		"astype": true, "argmax": true, "argmin": true, "argsort": true, "cumsum": true, "dot": true, "round": true,
		"clone": true, "item": true, "tolist": true, "any": true, "all": true, "describe": true, "count": true,
		"value_counts": true, "nunique": true, "unique": true, "median": true, "quantile": true, "corr": true,
		"groupby": true, "merge": true, "join": true, "query": true, "dropna": true, "fillna": true, "drop": true,
		"sort_values": true, "reset_index": true, "rename": true, "assign": true, "apply": true, "isna": true,
		"to_csv": true, "to_parquet": true, "info": true, "head": true, "memory_usage": true, "repeat": true,
		"take":    true,
		"flatten": true, "tobytes": true, "prod": true, "clip": true, "norm": true}
)
