package advice

import (
	"strings"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
)

// Kinds of advice of this package.
const (
	InPlace = "in-place"
	Narrow  = "dtype"
	View    = "view"
)

// numpyMeter is the meter of NumPy's arrays.
const numpyMeter = "cpu.numpy"

// least is the smallest array that a rule judges, in bytes: smaller arrays do not decide a peak.
const least = 2 << 20

// maxSteps bounds the nodes that all rules together visit: sources are hostile, and names lead to names.
const maxSteps = 4_000_000

// step counts a visited node, and reports whether the rules may go on.
func (s *scene) step() bool {
	s.steps++
	return s.steps <= maxSteps
}

// walk visits a node and the nodes below it, up to maxSteps nodes.
func (s *scene) walk(node syntax.Node, visit func(syntax.Node) bool) {
	syntax.Walk(node, func(n syntax.Node) bool { return s.step() && visit(n) })
}

// mentions reports whether a name is read or bound in a node.
func (s *scene) mentions(node syntax.Node, name string) bool {
	return syntax.Any(node, func(n syntax.Node) bool { return !s.step() || syntax.IsName(n, name) })
}

// scene is a notebook with the names that its cells bind.
type scene struct {
	n *notebook.Notebook
	// modules has the full names of imported names: np → numpy, randn → numpy.random.randn.
	modules map[string]string
	// binds are the bindings of each name at the top of cells, by order.
	binds map[string][]bind
	// global are names that functions declare global.
	global map[string]bool
	// augmented are names that statements change, as n += 1 does.
	augmented map[string]bool
	steps     int             // visited nodes
	used      map[string]bool // names that cells read or bind, functions included
}

// bind is a binding of a name outside of functions.
type bind struct {
	order int
	at    int // offset in the source of the cell
	s     *notebook.Statement
	value syntax.Expr // nil if it is not known
}

func newScene(book *notebook.Notebook) *scene {
	s := &scene{n: book, modules: map[string]string{}, binds: map[string][]bind{},
		global: map[string]bool{}, augmented: map[string]bool{}, used: map[string]bool{}}
	for _, st := range book.Statements {
		if st.Node != nil {
			s.read(st)
		}
	}
	return s
}

// read records the names in a run of a statement, and what it binds.
func (s *scene) read(st *notebook.Statement) {
	s.walk(st.Node, func(node syntax.Node) bool {
		switch x := node.(type) {
		case *syntax.Name:
			s.used[x.ID] = true
		case *syntax.AugAssign:
			if name, ok := x.Target.(*syntax.Name); ok {
				s.augmented[name.ID] = true
			}
		}
		return true
	})
	s.walk(st.Node, func(node syntax.Node) bool {
		switch x := node.(type) {
		case *syntax.Import, *syntax.ImportFrom:
			syntax.Modules(x, func(name, full string) { s.modules[name] = full })
		case *syntax.Lambda, *syntax.Comp:
			return false
		case *syntax.Assign:
			for _, target := range x.Targets {
				s.bind(st, target, x.Value)
			}
		case *syntax.AnnAssign:
			if x.Value != nil {
				s.bind(st, x.Target, x.Value)
			}
		case *syntax.NamedExpr:
			s.bind(st, x.Target, x.Value)
		case *syntax.AugAssign, *syntax.MatchCase:
		default:
			syntax.Bound(node, func(name string, _ syntax.BindKind) {
				s.bind(st, &syntax.Name{Span: node.Place(), ID: name}, nil)
			})
		}
		return !s.isBody(node)
	})
}

// isBody reports whether a node is a function or a class, whose names are local. It records the names that the node
// declares global.
func (s *scene) isBody(node syntax.Node) bool {
	switch node.(type) {
	case *syntax.FunctionDef, *syntax.ClassDef:
		for g := range syntax.All[*syntax.Global](node) {
			for _, name := range g.Names {
				s.global[name] = true
			}
		}
		return true
	}
	return false
}

// bind records the binding of a target to a value. A starred target gets an unknown value.
func (s *scene) bind(st *notebook.Statement, target, value syntax.Expr) {
	switch x := target.(type) {
	case *syntax.Name:
		s.binds[x.ID] = append(s.binds[x.ID], bind{st.Order, x.Start.Offset, st, value})
	case *syntax.Starred:
		s.bind(st, x.Value, nil)
	case *syntax.Tuple:
		s.bindAll(st, x.Elts, value)
	case *syntax.List:
		s.bindAll(st, x.Elts, value)
	}
}

// bindAll records the bindings of a tuple of targets, to the elements of a tuple of the same length or to unknown
// values.
func (s *scene) bindAll(st *notebook.Statement, targets []syntax.Expr, value syntax.Expr) {
	values, ok := value.(*syntax.Tuple)
	for i, target := range targets {
		if ok && len(values.Elts) == len(targets) {
			s.bind(st, target, values.Elts[i])
		} else {
			s.bind(st, target, nil)
		}
	}
}

// bindingAt returns the last binding of a name before a position. ok is false if there is none.
func (s *scene) bindingAt(name string, order, offset int) (found bind, ok bool) {
	for _, b := range s.binds[name] {
		if b.order < order || b.order == order && b.at < offset {
			found, ok = b, true
		}
	}
	return found, ok
}

// fullName returns the full name of a function or constant of a library: np.sqrt → numpy.sqrt. It returns "" for all
// other expressions, and for names that a cell also binds otherwise.
func (s *scene) fullName(expr syntax.Expr) string {
	switch x := expr.(type) {
	case *syntax.Name:
		if len(s.binds[x.ID]) > 0 {
			return ""
		}
		if module := s.modules[x.ID]; module != "" {
			return module
		}
		if builtins[x.ID] {
			return "builtins." + x.ID
		}
	case *syntax.Attribute:
		if object := s.fullName(x.Value); object != "" {
			return object + "." + x.Attr
		}
	}
	return ""
}

// numpyName returns the name of a function or constant of NumPy without its module: "sqrt", "random.rand"; "" for all
// other expressions.
func (s *scene) numpyName(expr syntax.Expr) string {
	if name, ok := strings.CutPrefix(s.fullName(expr), "numpy."); ok {
		return name
	}
	return ""
}

// callOfNumPy returns the call and the name of its function if an expression calls a function of NumPy.
func (s *scene) callOfNumPy(expr syntax.Expr) (name string, call *syntax.Call) {
	c, ok := expr.(*syntax.Call)
	if !ok {
		return "", nil
	}
	if name = s.numpyName(c.Func); name == "" {
		return "", nil
	}
	return name, c
}

// method returns the object and the name of a method call. It returns nil for functions of modules.
func (s *scene) method(expr syntax.Expr) (of syntax.Expr, name string, call *syntax.Call) {
	c, ok := expr.(*syntax.Call)
	if !ok || s.fullName(c.Func) != "" {
		return nil, "", nil
	}
	attribute, ok := c.Func.(*syntax.Attribute)
	if !ok {
		return nil, "", nil
	}
	return attribute.Value, attribute.Attr, c
}

func isNumPy(s *notebook.Site) bool { return s.Meter == numpyMeter }
