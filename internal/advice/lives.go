package advice

import (
	"strings"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
)

// lives has the uses of names in each run of a statement.
type lives struct {
	n     *notebook.Notebook
	steps []ranStep
	// functions are those that statements define, in order, with the global names that their bodies read.
	functions []definition
	// blind are the orders of statements that may use any name.
	blind []int
	// words has, by each word in a statement, the indices of its steps; readers, by each name, the functions that read
	// it.
	words   map[string][]int
	readers map[string][]string
	// peak has the memory at the highest moment by the statement that made it, lines that by each line of a cell among
	// the calls.
	peak  map[*notebook.Statement]int64
	lines map[codeLine]int64
	// handed follows where values go.
	handed *notebook.Flow
}

// definition is a function or a class that a statement defines.
type definition struct {
	order int
	name  string
	reads map[string]bool
}

// ranStep is a statement at the top of a cell, whether it ran or not.
type ranStep struct {
	order int
	cell  *notebook.Cell
	node  syntax.Stmt
	ran   *notebook.Statement // nil if it did not
}

// livesOf goes through the statements once.
func livesOf(n *notebook.Notebook) *lives {
	l := &lives{n: n, words: map[string][]int{}, readers: map[string][]string{}, handed: notebook.NewFlow(n)}
	for _, c := range n.Cells {
		if c.Tree == nil {
			l.blind = append(l.blind, c.First)
			continue
		}
		ran := map[syntax.Stmt]*notebook.Statement{}
		for _, s := range c.Statements {
			if s.Node != nil {
				ran[s.Node] = s
			}
		}
		order := c.First
		for _, node := range c.Tree.Body {
			s := ran[node]
			if s != nil {
				order = s.Order
			}
			l.steps = append(l.steps, ranStep{order, c, node, s})
			l.index(node)
			if dynamic(node) {
				l.blind = append(l.blind, order)
			}
			l.define(node, order)
		}
	}
	l.weigh()
	return l
}

// define records the functions, the lambdas with a name and the classes that a statement defines.
func (l *lives) define(node syntax.Stmt, order int) {
	add := func(name string, of syntax.Node) {
		d := definition{order, name, globals(of)}
		l.functions = append(l.functions, d)
		for read := range d.reads {
			if all := l.readers[read]; len(all) == 0 || all[len(all)-1] != name {
				l.readers[read] = append(all, name)
			}
		}
	}
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FunctionDef:
			add(n.Name, n)
		case *syntax.ClassDef:
			add(n.Name, n)
		case *syntax.Assign:
			if f, ok := n.Value.(*syntax.Lambda); ok {
				if name, ok := n.Targets[0].(*syntax.Name); ok {
					add(name.ID, f)
				}
			}
		}
		return true
	})
}

// globals returns the names that a function, a lambda or a class mentions, without the function's own.
func globals(of syntax.Node) map[string]bool {
	all, own := map[string]bool{}, map[string]bool{}
	syntax.Walk(of, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Name:
			all[n.ID] = true
		case *syntax.Arg:
			own[n.Name] = true
		}
		return true
	})
	if f, ok := of.(*syntax.FunctionDef); ok {
		shared, targets := map[string]bool{}, map[syntax.Node]bool{}
		syntax.Walk(f, func(n syntax.Node) bool {
			if g, ok := n.(*syntax.Global); ok {
				for _, name := range g.Names {
					shared[name] = true
				}
			}
			bindsIn(n, targets)
			if name, ok := n.(*syntax.Name); ok && targets[n] {
				own[name.ID] = true
			}
			return true
		})
		for name := range shared {
			delete(own, name)
		}
	}
	for name := range own {
		delete(all, name)
	}
	return all
}

// dynamic reports whether a statement may use any name: it runs code from a text, or asks for all names.
func dynamic(node syntax.Node) (found bool) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Call:
			if f, ok := n.Func.(*syntax.Name); ok {
				switch f.ID {
				case "exec", "eval", "globals", "locals", "vars", "get_ipython":
					found = true
				}
			}
		case *syntax.Magic:
			for _, word := range []string{"%run", "%store", "%who", "%reset", "%macro", "%rerun", "%recall"} {
				found = found || strings.HasPrefix(strings.TrimSpace(n.Text), word)
			}
		}
		return !found
	})
	return found
}

// inText reports whether a text in a statement has a name in it, as df.query("a > @limit") and numexpr.evaluate do.
func inText(node syntax.Node, name string) (found bool) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Call:
			f := syntax.LastName(n.Func)
			if f != "query" && f != "eval" && f != "evaluate" {
				return true
			}
			for _, a := range n.Args {
				if c, ok := a.(*syntax.Constant); ok && c.Kind == "str" && strings.Contains(c.Value, name) {
					found = true
				}
			}
		case *syntax.Magic:
			line := len(n.Body) > 0 && !strings.HasPrefix(n.Text, "%%") // its text is the body's
			found = found || !line && strings.Contains(n.Text, name)
		case *syntax.Shell:
			found = found || strings.Contains(n.Text, name)
		}
		return !found
	})
	return found
}

// use is how a run of a statement uses a name.
type use struct {
	reads, shape, binds, escapes bool
}

// of returns how a statement uses a name, by itself and by the functions that it mentions.
func (l *lives) of(s ranStep, name string) (u use) {
	var whole []syntax.Node
	switch node := s.node.(type) {
	case *syntax.FunctionDef: // its body runs where it is called
		for _, e := range node.Decorators {
			whole = append(whole, e)
		}
	case *syntax.Assign:
		if _, isLambda := node.Value.(*syntax.Lambda); isLambda {
			break
		}
		whole = append(whole, node)
	default:
		whole = append(whole, s.node)
	}
	shape := true
	for _, node := range whole {
		m := mentions(node, name)
		if magic, ok := node.(*syntax.Magic); ok && magic.Name() == "timeit" {
			m.binds = false // its names are its own
		}
		u.binds, u.escapes = u.binds || m.binds, u.escapes || m.escapes
		if m.reads > 0 || inText(node, name) {
			u.reads = true
			shape = shape && m.reads > 0 && m.reads == shapes(node, name)
		}
		if l.calls(node, name, s.order) {
			u.reads, shape = true, false
		}
	}
	u.shape = u.reads && shape
	return u
}

// shapes counts the reads of a name that only ask for its shape.
func shapes(node syntax.Node, name string) (count int) {
	syntax.Walk(node, func(n syntax.Node) bool {
		if shapeOf(n, name) {
			count++
		}
		return true
	})
	return count
}

// shapeOf reports whether a node is NAME.shape or len(NAME).
func shapeOf(node syntax.Node, name string) bool {
	switch n := node.(type) {
	case *syntax.Attribute:
		return n.Attr == "shape" && isName(n.Value, name)
	case *syntax.Call:
		f, ok := n.Func.(*syntax.Name)
		return ok && f.ID == "len" && len(n.Args) == 1 && isName(n.Args[0], name)
	}
	return false
}

// calls reports whether a node mentions a function that reads a name, itself or by another function.
func (l *lives) calls(node syntax.Node, name string, order int) (found bool) {
	seen := map[string]bool{}
	syntax.Walk(node, func(n syntax.Node) bool {
		if one, ok := n.(*syntax.Name); ok && one.ID != name {
			found = found || l.reaches(one.ID, name, order, seen)
		}
		return !found
	})
	return found
}

// reaches reports whether a function, or one that it mentions, reads a name.
func (l *lives) reaches(function, name string, order int, seen map[string]bool) bool {
	if seen[function] || len(seen) > maxCalls {
		return false
	}
	seen[function] = true
	for i := len(l.functions) - 1; i >= 0; i-- {
		d := &l.functions[i]
		if d.order > order || d.name != function {
			continue
		}
		if d.reads[name] {
			return true
		}
		for read := range d.reads {
			if l.reaches(read, name, order, seen) {
				return true
			}
		}
		return false
	}
	return false
}

// maxCalls bounds the functions that one statement is followed into.
const maxCalls = 256

// maxTried bounds the names of a kind that are looked at in full. Sources are hostile, and each look goes through a
// function, or through all statements that mention the name.
const maxTried = 512

// names finds names that hold memory longer than the notebook needs it. Its rules share what they know of the source.
func names(n *notebook.Notebook) (found []notebook.Candidate) {
	if n.Peak == nil {
		return nil
	}
	l := livesOf(n)
	for _, rule := range []func(*lives) []notebook.Candidate{deletes, loops, locals} {
		found = append(found, rule(l)...)
	}
	return found
}
