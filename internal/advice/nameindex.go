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
func (l *lives) alive(c *notebook.Cell, from, to int) bool {
	bytes := int64(0)
	for line := from; line <= to; line++ {
		bytes += l.lines[codeLine{c.Window.Execution, line}]
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
	syntax.Walk(node, func(n syntax.Node) bool {
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
		return true
	})
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
