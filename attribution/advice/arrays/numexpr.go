package arrays

import (
	"slices"
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model/words"
)

// compiled are the functions of NumPy that numexpr has, by the name that it has for them. Source: numexpr's user guide
// (2.8).
var compiled = map[string]string{"sqrt": "sqrt", "exp": "exp", "expm1": "expm1", "log": "log", "log10": "log10",
	"log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "arcsin", "arccos": "arccos",
	"arctan": "arctan", "arctan2": "arctan2", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "arcsinh",
	"arccosh": "arccosh", "arctanh": "arctanh", "abs": "abs", "absolute": "abs"}

// reserved are further names that numexpr reads as its own.
var reserved = set("where", "conj", "real", "imag", "complex", "contains", "fmod", "floor", "ceil", "sum", "prod",
	"min", "max", "ones_like", "div", "inv", "pow", "rint", "sign", "True", "False", "not")

// formula is an elementwise expression for numexpr.
type formula struct {
	*finder
	p          *place
	operations int
	functions  map[syntax.Expr]string // by their places in the code, numexpr's names for them
}

// evaluated is about expressions of several operators, in a notebook that has numexpr: it computes them block by block.
func (s *finder) evaluated(p *place) (c evidence.Candidate, ok bool) {
	ne := s.moduleOf("numexpr")
	e, text := s.formulaIn(p)
	if ne == "" || e == nil {
		return c, false
	}
	v := s.of(e, p.at())
	saves := p.saves(v.bytes, v.bytes)
	if saves < max(least, v.bytes/2) {
		return c, false
	}
	var names []string
	if name, value, ok := assigned(p.node); ok && value == e {
		names = []string{name}
	}
	c = p.candidate(NumExpr, names, saves)
	c.Edits = replaced(p.cell, e, ne+`.evaluate("`+text+`")`)
	c.Title = words.Evaluated(v.bytes, saves)
	c.Changes = []string{words.EvaluatedDigits()}
	return c, c.Edits != nil
}

// moduleOf returns a name by which the notebook calls a module; "" if it has none.
func (s *finder) moduleOf(module string) string {
	best := ""
	for name, of := range s.modules {
		if of == module && len(s.binds[name]) == 0 && (best == "" || name < best) {
			best = name
		}
	}
	return best
}

// formulaIn returns the only large expression of a statement that numexpr can compute, and how it is written there.
func (s *finder) formulaIn(p *place) (found syntax.Expr, text string) {
	switch p.node.(type) {
	case *syntax.Assign, *syntax.AugAssign, *syntax.ExprStmt, *syntax.Return:
	default:
		return nil, ""
	}
	several, tried := false, 0
	s.walk(p.node, func(node syntax.Node) bool {
		switch node.(type) {
		case *syntax.Lambda, *syntax.Comp, *syntax.JoinedStr:
			return false
		}
		e, ok := node.(syntax.Expr)
		if tried++; !ok || tried > maxTries {
			return !ok
		}
		f := &formula{finder: s, p: p, functions: map[syntax.Expr]string{}}
		_, ok = f.fits(e, maxInference)
		if v := s.of(e, p.at()); !ok || f.operations < 2 || v.sort != array || v.dtype != "float64" || v.bytes < least {
			return true
		}
		several = several || found != nil
		found, text = e, f.text(e)
		return false
	})
	if several || text == "" {
		return nil, ""
	}
	return found, text
}

// maxTries bounds the expressions of a statement that are tried.
const maxTries = 64

// fits reports whether numexpr can compute an expression, and whether it is an array; ok is false where numexpr might
// compute something else: of arrays it gets float64 only.
func (f *formula) fits(e syntax.Expr, depth int) (large, ok bool) {
	if depth == 0 || !f.step() {
		return false, false
	}
	switch x := e.(type) {
	case *syntax.Constant:
		return false, x.Kind == "int" || x.Kind == "float"
	case *syntax.Name:
		v := f.of(x, f.p.at())
		large = v.sort == array
		ok = large && v.dtype == "float64" || v.sort == scalar && (v.dtype == "float" || v.dtype == "int")
		return large, ok && compiled[x.ID] == "" && !reserved[x.ID] && !strings.Contains(x.ID, "__")
	case *syntax.UnaryOp:
		large, ok = f.fits(x.Operand, depth-1)
		f.operations++
		return large, ok && x.Op == "-"
	case *syntax.BinOp:
		left, ok := f.fits(x.Left, depth-1)
		right, ok2 := f.fits(x.Right, depth-1)
		f.operations++
		known := x.Op == "+" || x.Op == "-" || x.Op == "*" || x.Op == "/" || x.Op == "**"
		return left || right, ok && ok2 && known && (left || right)
	case *syntax.Call:
		return f.fitsCall(x, depth)
	}
	return false, false
}

func (f *formula) fitsCall(x *syntax.Call, depth int) (large, ok bool) {
	name, arguments := compiled[f.numpy(x.Func)], 1
	if f.full(x.Func) == "builtins.abs" {
		name = "abs"
	}
	if name == "arctan2" {
		arguments = 2
	}
	if name == "" || len(x.Args) != arguments || len(x.Keywords) > 0 {
		return false, false
	}
	for _, arg := range x.Args {
		one, ok := f.fits(arg, depth-1)
		if !ok {
			return false, false
		}
		large = large || one
	}
	f.operations++
	f.functions[x.Func] = name
	return large, large
}

// text returns the source of an expression with numexpr's names for functions; "" if it is not on one line.
func (f *formula) text(e syntax.Expr) string {
	text, start := f.p.cell.Text(e), e.Place().Start.Offset
	if strings.ContainsAny(text, "\n#\"'\\") {
		return ""
	}
	var all []syntax.Expr
	for function := range f.functions {
		all = append(all, function)
	}
	slices.SortFunc(all, func(a, b syntax.Expr) int { return b.Place().Start.Offset - a.Place().Start.Offset })
	for _, function := range all {
		from, to := function.Place().Start.Offset-start, function.Place().End.Offset-start
		if from < 0 || to > len(text) || from > to {
			return ""
		}
		text = text[:from] + f.functions[function] + text[to:]
	}
	return text
}
