package syntax_test

import (
	"errors"
	"strings"
	"testing"

	"ipytracer/internal/syntax"
)

type source struct {
	text  string
	valid bool
}

// hostileSources returns sources of a mebibyte.
func hostileSources() map[string]source {
	const size = 1 << 20
	fill := func(text string) string { return strings.Repeat(text, size/len(text)) }
	some := func(text string) string { return strings.Repeat(text, size/16/len(text)) }
	indents := ""
	for i := 0; len(indents) < size-2000; i++ {
		indents += strings.Repeat(" ", i) + "if x:\n"
	}
	chain := "x = a" + strings.Repeat(".b", 900)
	return map[string]source{
		"brackets":       {strings.Repeat("(", 100_000) + strings.Repeat(")", 100_000), false},
		"open":           {fill("["), false},
		"closing":        {fill(")"), false},
		"f-strings":      {fill("f'{"), false},
		"formats":        {"f'" + fill("{x:")[:size-2], false},
		"lambda":         {fill("lambda:"), false},
		"not":            {fill("not "), false},
		"minus":          {fill("-"), false},
		"power":          {some("a**") + "a", false},
		"attributes":     {"a" + some(".b"), false},
		"calls":          {"a" + some("()"), false},
		"sums":           {"a" + some("+b"), false},
		"conditions":     {some("a if b else ") + "a", false},
		"elif":           {"if a: b\n" + some("elif c: d\n"), false},
		"indents":        {indents, false},
		"with":           {fill("with(")[:size-1], false},
		"match":          {fill("match "), false},
		"decorators":     {some("@a\n"), false},
		"patterns":       {"match x:\n case " + fill("[")[:size-20], false},
		"magics":         {fill("%time %time x\n"), true},
		"strings":        {some("'' "), true},
		"words":          {some("'a' 'b'"), true},
		"names":          {some("a,"), true},
		"statements":     {some("x\n"), true},
		"backslashes":    {"x = 1 + " + some("\\\n") + "2", true},
		"semicolons":     {some("a;"), true},
		"comments":       {some("#\n"), true},
		"assigned":       {some("a=") + "b", true},
		"compared":       {some("a<") + "b", true},
		"headers":        {some("match(x)\n"), true},
		"with (brackets": {strings.Repeat("with (a, b) as c:pass\n", size/16/22), true},
		"chain":          {chain, true},
		"branches":       {some("if a: b = c\n"), true},
		"functions":      {strings.Repeat("def f(a=b): return a, c\n", 2000), true},
		"nested scopes":  {nested("def f(a):", "return a, b, "+some("c,")), true},
		"nested classes": {nested("class C:", "a = b, "+some("c,")), true},
		"lambdas":        {"(" + strings.Repeat("lambda a, b=c: d, ", 4000) + ")", true},
		"one name":       {some("f(x);"), true},
		"fields":         {"f'" + some("{a}") + "'", true},
		"too long":       {fill("a,") + "a,", false},
		"not UTF-8":      {"x = '\xff'", false},
		"null":           {"x = '\x00'", false},
	}
}

// nested returns blocks in each other, as deep as they may be.
func nested(head, body string) string {
	var all strings.Builder
	for depth := range 99 {
		all.WriteString(strings.Repeat(" ", depth) + head + "\n")
	}
	return all.String() + strings.Repeat(" ", 99) + body
}

// TestHostileSourcesEndSoon parses sources made to exhaust a parser. Each is refused, or read, and none takes the
// stack.
func TestHostileSourcesEndSoon(t *testing.T) {
	for name, one := range hostileSources() {
		t.Run(name, func(t *testing.T) {
			module, err := syntax.Parse(one.text)
			if (err == nil) != one.valid {
				t.Fatalf("error %v, valid %v", err, one.valid)
			}
			var typed *syntax.SyntaxError
			if err != nil && !errors.As(err, &typed) {
				t.Fatalf("error of type %T", err)
			}
			if module != nil {
				nodes := 0
				syntax.Walk(module, func(syntax.Node) bool { nodes++; return true })
				uses := syntax.Names(module.Body...)
				if nodes == 0 || len(uses.Reads) > nodes || uses.Bound("no") {
					t.Fatalf("%d nodes, %d uses", nodes, len(uses.Reads))
				}
			}
		})
	}
}
