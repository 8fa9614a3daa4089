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

// addPeak fills peak and lines with the memory at the highest moment.
func (l *lives) addPeak() {
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

// hasMemory reports whether lines of a cell have enough memory at the highest moment to be worth advice.
func (l *lives) hasMemory(cell *notebook.Cell, from, to int) bool {
	bytes := int64(0)
	for line := from; line <= to; line++ {
		bytes += l.lines[codeLine{cell.Window.Execution, line}]
	}
	return bytes >= l.n.Least()
}

// index records the words of the newest step: names, and each word of string constants and magics.
func (l *lives) index(node syntax.Stmt) {
	at := len(l.steps) - 1
	add := func(word string) {
		if steps := l.words[word]; len(steps) == 0 || steps[len(steps)-1] != at {
			l.words[word] = append(steps, at)
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

// eachWord calls visit with each word of a text.
func eachWord(text string, visit func(string)) {
	for word := range strings.FieldsFuncSeq(text, func(c rune) bool {
		return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	}) {
		visit(word)
	}
}

// stepsAbout returns the indices of the steps that mention a name or a function that reads the name, directly or by
// calling another such function.
func (l *lives) stepsAbout(name string) []int {
	seen, todo := map[string]bool{name: true}, []string{name}
	var steps []int
	for len(todo) > 0 && len(seen) <= maxCalls {
		word := todo[0]
		todo = todo[1:]
		steps = append(steps, l.words[word]...)
		for _, function := range l.readers[word] {
			if !seen[function] {
				seen[function] = true
				todo = append(todo, function)
			}
		}
	}
	slices.Sort(steps)
	return slices.Compact(steps)
}

// lives has the uses of names in each run of a statement.
type lives struct {
	n     *notebook.Notebook
	steps []ranStep
	// functions are the definitions in all statements, in the order in which the statements ran.
	functions []definition
	// blind are the orders of statements that may use any name, as exec() may.
	blind   []int
	words   map[string][]int    // indices of the steps that mention a word
	readers map[string][]string // functions that read a name

	peak  map[*notebook.Statement]int64 // bytes at the highest moment, by the statement that allocated them
	lines map[codeLine]int64            // the same bytes, by each line of a cell among the calls
	flow  *notebook.Flow                // by which statements other holders get a value
}

// definition is a function or a class that a statement defines.
type definition struct {
	order int // of the statement
	name  string
	reads map[string]bool // global names that the body mentions
}

// ranStep is a statement at the top of a cell.
type ranStep struct {
	order int
	cell  *notebook.Cell
	node  syntax.Stmt
	ran   *notebook.Statement // nil if the statement did not run
}

// livesOf reads all statements of a notebook.
func livesOf(n *notebook.Notebook) *lives {
	l := &lives{n: n, words: map[string][]int{}, readers: map[string][]string{}, flow: notebook.NewFlow(n)}
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
	l.addPeak()
	return l
}

// define records the functions, the lambdas with a name and the classes that a statement defines.
func (l *lives) define(node syntax.Stmt, order int) {
	add := func(name string, body syntax.Node) {
		d := definition{order, name, globals(body)}
		l.functions = append(l.functions, d)
		for read := range d.reads {
			if readers := l.readers[read]; len(readers) == 0 || readers[len(readers)-1] != name {
				l.readers[read] = append(readers, name)
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

// globals returns the names that a function, a lambda or a class mentions, without arguments and local names.
func globals(definition syntax.Node) map[string]bool {
	mentioned, own := map[string]bool{}, map[string]bool{}
	for n := range syntax.All[syntax.Node](definition) {
		switch n := n.(type) {
		case *syntax.Name:
			mentioned[n.ID] = true
		case *syntax.Arg:
			own[n.Name] = true
		}
	}
	if f, ok := definition.(*syntax.FunctionDef); ok {
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
		delete(mentioned, name)
	}
	return mentioned
}

// dynamic reports whether a statement may use any name: it runs code from a string, or lists all names.
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

// Bounds, because sources are hostile.
const (
	maxCalls = 256 // functions into which one name of a statement is followed
	maxTried = 512 // names that one rule tries; a try reads a function, or all statements that mention the name
)
