package notebook

import (
	"ipytracer/internal/syntax"
	"strings"
)

// Flow follows the values of a notebook's names from statement to statement.
type Flow struct {
	n    *Notebook
	uses map[syntax.Stmt]*syntax.Uses // of names, by each statement
	// functions are the functions that cells define, bodies their definitions.
	functions syntax.Functions
	bodies    map[string][]*syntax.FunctionDef
	// modules has the full names of imported names: np → numpy, randn → numpy.random.randn.
	modules map[string]string
	// binders are the statements that bind each name at the top of cells.
	binders map[string][]*Statement
	// declared are the global names that functions bind.
	declared   map[string]bool
	leading    map[string]bool                 // the answers of leadsToModule so far
	unreadable bool                            // a statement has no syntax tree
	reached    map[syntax.Stmt]map[string]bool // the answers of reach so far
	steps      int                             // steps taken so far, at most maxSteps
}

// maxSteps bounds the nodes and uses of names that a Flow visits: sources are hostile.
const maxSteps = 4_000_000

// NewFlow reads a notebook.
func NewFlow(n *Notebook) *Flow {
	s := &Flow{n: n, uses: map[syntax.Stmt]*syntax.Uses{}, functions: syntax.Functions{},
		bodies: map[string][]*syntax.FunctionDef{}, modules: map[string]string{},
		binders: map[string][]*Statement{}, declared: map[string]bool{}, leading: map[string]bool{},
		reached: map[syntax.Stmt]map[string]bool{}}
	for _, st := range n.Statements {
		if st.Node == nil {
			s.unreadable = true
			continue
		}
		uses := s.uses[st.Node]
		if uses == nil {
			uses = syntax.Names(st.Node)
			s.uses[st.Node] = uses
			s.functions.Add(uses.Functions)
			declare(s, uses.Functions)
			s.define(st.Node)
		}
		for i := range uses.Binds {
			name := uses.Binds[i].Name
			s.binders[name] = append(s.binders[name], st)
		}
	}
	return s
}

// declare notes the names that functions bind.
func declare(s *Flow, functions syntax.Functions) {
	for _, f := range functions {
		for i := range f.Binds {
			s.declared[f.Binds[i].Name] = true
		}
	}
}

// define notes the modules and functions of a statement.
func (s *Flow) define(node syntax.Stmt) {
	for n := range syntax.All[syntax.Node](node) {
		s.steps++
		switch x := n.(type) {
		case *syntax.Import, *syntax.ImportFrom:
			syntax.Modules(x, func(name, full string) { s.modules[name] = full })
		case *syntax.FunctionDef:
			s.bodies[x.Name] = append(s.bodies[x.Name], x)
		}
	}
}

// step counts a visited node or use of a name, and reports whether the Flow may go on.
func (s *Flow) step() bool {
	s.steps++
	return s.steps <= maxSteps
}

// anyIn reports whether a node, or a node below it, has the type T and passes. It reports true if it reaches maxSteps.
func anyIn[T syntax.Node](s *Flow, node syntax.Node, passes func(T) bool) bool {
	return syntax.Any(node, func(n syntax.Node) bool {
		typed, isT := n.(T)
		return !s.step() || isT && passes(typed)
	})
}

// readsOf returns the names that a statement reads when it runs.
func (s *Flow) readsOf(node syntax.Stmt) (names []string) {
	uses := s.uses[node]
	for i := range uses.Reads {
		names = append(names, uses.Reads[i].Name)
	}
	return names
}

// fullName returns the fullName name of a function as it is written: np.sqrt → numpy.sqrt; "" if it is not of a module.
func (s *Flow) fullName(callee string) string {
	first := firstPart(callee)
	rest := callee[len(first):]
	if full := s.modules[first]; full != "" {
		for _, st := range s.binders[first] {
			if !imports(st.Node) {
				return ""
			}
		}
		return full + rest
	}
	if rest == "" && isBuiltin[first] && len(s.binders[first]) == 0 {
		return "builtins." + first
	}
	return ""
}

// imports reports whether a statement imports, maybe within try or if.
func imports(node syntax.Stmt) bool {
	switch node.(type) {
	case *syntax.Import, *syntax.ImportFrom, *syntax.Try, *syntax.If:
		return true
	}
	return false
}

// isData reports whether a name of the notebook is bound to something other than a module or a function.
func (s *Flow) isData(name string) bool {
	return s.modules[name] == "" && s.functions[name] == nil && len(s.binders[name]) > 0
}

// dataOf returns the names of data that a function reads.
func (s *Flow) dataOf(f *syntax.Function) (names []string) {
	for i := range f.Reads {
		if s.isData(f.Reads[i].Name) {
			names = append(names, f.Reads[i].Name)
		}
	}
	return names
}

func firstPart(name string) string {
	first, _, _ := strings.Cut(name, ".")
	return first
}

func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

func lastWord(name string) string { return name[strings.LastIndexByte(name, '_')+1:] }

// dotted returns the dotted name that an expression writes: "np.sqrt". It writes "?" for a part that is no name, as in
// "?.sum" for f(x).sum.
func dotted(e syntax.Expr) string {
	name := ""
	for {
		switch x := e.(type) {
		case *syntax.Name:
			return x.ID + name
		case *syntax.Attribute:
			name, e = "."+x.Attr+name, x.Value
		default:
			return "?" + name
		}
	}
}
