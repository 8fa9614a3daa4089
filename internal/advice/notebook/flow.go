package notebook

import (
	"ipytracer/internal/syntax"
	"strings"
)

// Flow is a notebook with what its statements do with names.
type Flow struct {
	n    *Notebook
	uses map[syntax.Stmt]*syntax.Uses
	// functions are those that cells define, bodies their source.
	functions syntax.Functions
	bodies    map[string][]*syntax.FunctionDef
	// modules has the full names of names that import statements bind: np → numpy, randn → numpy.random.randn.
	modules map[string]string
	// made are the statements that bind each name at the top of cells.
	made map[string][]*Statement
	// declared are names that functions bind.
	declared map[string]bool
	foreign  map[string]bool                 // names that may lead to a module that is not known; see [Scene.leads]
	blind    bool                            // a statement is not readable
	reached  map[syntax.Stmt]map[string]bool // see [Scene.reach]
	steps    int                             // that were gone, of maxSteps
}

// maxLooks bounds the uses of names that are looked at: sources are hostile.
const maxLooks = 4_000_000

// NewFlow reads a notebook.
func NewFlow(n *Notebook) *Flow {
	s := &Flow{n: n, uses: map[syntax.Stmt]*syntax.Uses{}, functions: syntax.Functions{},
		bodies: map[string][]*syntax.FunctionDef{}, modules: map[string]string{},
		made: map[string][]*Statement{}, declared: map[string]bool{}, foreign: map[string]bool{},
		reached: map[syntax.Stmt]map[string]bool{}}
	for _, st := range n.Statements {
		if st.Node == nil {
			s.blind = true
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
			s.made[name] = append(s.made[name], st)
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

// step counts something that is looked at, and reports whether there may be more.
func (s *Flow) step() bool {
	s.steps++
	return s.steps <= maxLooks
}

// anyIn reports whether a node, or one below it, is of a type and passes. The answer is yes where there is too much to
// look at.
func anyIn[T syntax.Node](s *Flow, node syntax.Node, passes func(T) bool) bool {
	return syntax.Any(node, func(n syntax.Node) bool {
		one, is := n.(T)
		return !s.step() || is && passes(one)
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

// full returns the full name of a function as it is written: np.sqrt → numpy.sqrt; "" if it is not of a module.
func (s *Flow) full(callee string) string {
	first := firstPart(callee)
	rest := callee[len(first):]
	if full := s.modules[first]; full != "" {
		for _, st := range s.made[first] {
			if !imports(st.Node) {
				return ""
			}
		}
		return full + rest
	}
	if rest == "" && isBuiltin[first] && len(s.made[first]) == 0 {
		return "builtins." + first
	}
	return ""
}

func imports(node syntax.Stmt) bool {
	switch node.(type) {
	case *syntax.Import, *syntax.ImportFrom, *syntax.Try, *syntax.If:
		return true
	}
	return false
}

// isData reports whether a name of the notebook is bound to something other than a module or a function.
func (s *Flow) isData(name string) bool {
	return s.modules[name] == "" && s.functions[name] == nil && len(s.made[name]) > 0
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

// dotted returns the name of a function as it is written, with the dots; "" if it is no such name.
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
