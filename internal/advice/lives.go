package advice

import (
	"slices"
	"strings"
	"unicode"

	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/syntax"
)

// codeLine is a line of a run of a cell.
type codeLine struct{ execution, line int }

// weigh adds up the memory at the highest moment.
func (l *lives) weigh() {
	l.peak, l.lines = map[*notebook.Statement]int64{}, map[codeLine]int64{}
	for site, bytes := range l.n.Peak.Live {
		if site.Statement != nil {
			l.peak[site.Statement] += bytes
		}
		for i := range site.Stack {
			if f := &site.Stack[i]; f.Execution > 0 {
				l.lines[codeLine{f.Execution, f.Line}] += bytes
			}
		}
	}
}

// alive reports whether lines of a cell have memory at the highest moment that is worth advice.
func (l *lives) alive(cell *notebook.Cell, from, to int) bool {
	bytes := int64(0)
	for line := from; line <= to; line++ {
		bytes += l.lines[codeLine{cell.Window.Execution, line}]
	}
	return bytes >= l.n.Least()
}

// index records the words of the newest step: its names, and those in its texts and magics.
func (l *lives) index(node syntax.Stmt) {
	at := len(l.steps) - 1
	add := func(word string) {
		if all := l.words[word]; len(all) == 0 || all[len(all)-1] != at {
			l.words[word] = append(all, at)
		}
	}
	for n := range syntax.All[syntax.Node](node) {
		switch n := n.(type) {
		case *syntax.Name:
			add(n.ID)
		case *syntax.Constant:
			eachWord(n.Value, add)
		case *syntax.Magic:
			eachWord(n.Text, add)
		case *syntax.Shell:
			eachWord(n.Text, add)
		case *syntax.Global:
			for _, name := range n.Names {
				add(name)
			}
		case *syntax.Alias:
			eachWord(n.Name+" "+n.AsName, add)
		case *syntax.FunctionDef:
			add(n.Name)
		case *syntax.ClassDef:
			add(n.Name)
		case *syntax.ExceptHandler:
			add(n.Name)
		case *syntax.MatchCase:
			for _, name := range n.Binds {
				add(name)
			}
		}
	}
}

// eachWord calls do with the words of a text.
func eachWord(text string, do func(string)) {
	for word := range strings.FieldsFuncSeq(text, func(c rune) bool {
		return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	}) {
		do(word)
	}
}

// about returns the indices of the steps that mention a name, or a function that reads it, itself or by another one.
func (l *lives) about(name string) []int {
	seen, todo := map[string]bool{name: true}, []string{name}
	var all []int
	for len(todo) > 0 && len(seen) <= maxCalls {
		one := todo[0]
		todo = todo[1:]
		all = append(all, l.words[one]...)
		for _, f := range l.readers[one] {
			if !seen[f] {
				seen[f] = true
				todo = append(todo, f)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

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
	// handed says by which statements values come to other holders.
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
			statement := ran[node]
			if statement != nil {
				order = statement.Order
			}
			l.steps = append(l.steps, ranStep{order, c, node, statement})
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
	for n := range syntax.All[syntax.Node](node) {
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
	}
}

// globals returns the names that a function, a lambda or a class mentions, without the function's own.
func globals(of syntax.Node) map[string]bool {
	all, own := map[string]bool{}, map[string]bool{}
	for n := range syntax.All[syntax.Node](of) {
		switch n := n.(type) {
		case *syntax.Name:
			all[n.ID] = true
		case *syntax.Arg:
			own[n.Name] = true
		}
	}
	if f, ok := of.(*syntax.FunctionDef); ok {
		for n := range syntax.All[syntax.Node](f) {
			targets(n, func(name string, _ syntax.BindKind) { own[name] = true })
		}
		for g := range syntax.All[*syntax.Global](f) {
			for _, name := range g.Names {
				delete(own, name)
			}
		}
	}
	for name := range own {
		delete(all, name)
	}
	return all
}

// dynamic reports whether a statement may use any name: it runs code from a text, or asks for all names.
func dynamic(node syntax.Node) bool {
	return syntax.Any(node, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Call:
			f, ok := n.Func.(*syntax.Name)
			return ok && slices.Contains([]string{"exec", "eval", "globals", "locals", "vars", "get_ipython"}, f.ID)
		case *syntax.Magic:
			return slices.ContainsFunc([]string{"%run", "%store", "%who", "%reset", "%macro", "%rerun", "%recall"},
				func(word string) bool { return strings.HasPrefix(strings.TrimSpace(n.Text), word) })
		}
		return false
	})
}

// maxCalls bounds the functions that one statement is followed into.
const maxCalls = 256

// maxTried bounds the names of a kind that are looked at in full. Sources are hostile, and each look goes through a
// function, or through all statements that mention the name.
const maxTried = 512
