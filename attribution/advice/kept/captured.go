package kept

import (
	"cmp"
	"slices"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
)

// mostFunctions is how many functions are followed from the one that joblib calls.
const mostFunctions = 64

// captured returns the variables with memory that the function of a call of joblib's delayed reads as globals, itself
// or in functions of the notebook that it mentions, the largest first. joblib sends them to its processes with the
// function.
func captured(n *evidence.Notebook, s *evidence.Statement) (all []*model.Variable) {
	var todo []syntax.Node
	syntax.Walk(s.Node, func(node syntax.Node) bool {
		call, ok := node.(*syntax.Call)
		if ok && isName(call.Func, "delayed", "joblib.delayed") && len(call.Args) == 1 {
			todo = append(todo, call.Args[0])
		}
		return true
	})
	known, defined := map[string]bool{}, functions(n, s.Cell)
	for i := 0; i < len(todo) && i < mostFunctions; i++ {
		for _, name := range free(todo[i]) {
			if known[name] {
				continue
			}
			known[name] = true
			if f := defined[name]; f != nil {
				todo = append(todo, f)
			} else if v := n.Variable(name); v != nil && v.Kind == "variable" && v.Bytes >= least {
				all = append(all, v)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *model.Variable) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return all
}

// functions returns the last definitions of functions at the top of cells, up to one cell, by name.
func functions(n *evidence.Notebook, last *evidence.Cell) map[string]*syntax.FunctionDef {
	all := map[string]*syntax.FunctionDef{}
	for _, c := range n.Cells[:last.Index+1] {
		for _, s := range c.Statements {
			if f, ok := s.Node.(*syntax.FunctionDef); ok {
				all[f.Name] = f
			}
		}
	}
	return all
}

// free returns the names in a function that it neither has as parameters nor assigns; for another expression, all of
// its names.
func free(node syntax.Node) (names []string) {
	own := map[string]bool{}
	parameters := func(a *syntax.Arguments) {
		for _, list := range [][]*syntax.Arg{a.PosOnly, a.Args, a.KwOnly, {a.VarArg, a.KwArg}} {
			for _, one := range list {
				if one != nil {
					own[one.Name] = true
				}
			}
		}
	}
	switch f := node.(type) {
	case *syntax.Lambda:
		parameters(f.Args)
	case *syntax.FunctionDef:
		parameters(f.Args)
		for _, s := range f.Body {
			if assign, ok := s.(*syntax.Assign); ok {
				for _, name := range bound(assign) {
					own[name] = true
				}
			}
		}
	}
	syntax.Walk(node, func(node syntax.Node) bool {
		if name, ok := node.(*syntax.Name); ok && !own[name.ID] {
			own[name.ID] = true
			names = append(names, name.ID)
		}
		return true
	})
	return names
}
