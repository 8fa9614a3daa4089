package syntax_test

import (
	"errors"
	"strings"
	"testing"

	"ipytracer/attribution/advice/syntax"
)

type source struct {
	text  string
	valid bool
}

// hostile returns sources of a mebibyte.
func hostile() map[string]source {
	const size = 1 << 20
	fill := func(text string) string { return strings.Repeat(text, size/len(text)) }
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
		"power":          {fill("a**")[:size-1] + "a", false},
		"attributes":     {"a" + fill(".b")[:size-2], false},
		"calls":          {"a" + fill("()")[:size-2], false},
		"sums":           {"a" + fill("+b")[:size-2], false},
		"conditions":     {fill("a if b else ")[:size-10] + "a", false},
		"elif":           {"if a: b\n" + fill("elif c: d\n")[:size-18], false},
		"indents":        {indents, false},
		"with":           {fill("with(")[:size-1], false},
		"match":          {fill("match "), false},
		"decorators":     {fill("@a\n"), false},
		"patterns":       {"match x:\n case " + fill("[")[:size-20], false},
		"magics":         {fill("%time %time x\n"), false},
		"strings":        {fill("'' "), true},
		"words":          {fill("'a' 'b'")[:size-7], true},
		"names":          {fill("a,"), true},
		"statements":     {fill("x\n"), true},
		"backslashes":    {"x = 1 + " + fill("\\\n")[:size-20] + "2", true},
		"semicolons":     {fill("a;"), true},
		"comments":       {fill("#\n"), true},
		"assigned":       {fill("a=")[:size-2] + "b", true},
		"compared":       {fill("a<")[:size-2] + "b", true},
		"headers":        {fill("match(x)\n"), true},
		"with (brackets": {strings.Repeat("with (a, b) as c:pass\n", size/30), true},
		"chain":          {chain, true},
		"fields":         {"f'" + fill("{a}")[:size-4] + "'", true},
		"too long":       {fill("a,") + "a,", false},
		"not UTF-8":      {"x = '\xff'", false},
		"null":           {"x = '\x00'", false},
	}
}

// TestHostile parses sources made to exhaust a parser. Each is refused, or read, and none takes the stack.
func TestHostile(t *testing.T) {
	for name, one := range hostile() {
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
				if nodes == 0 {
					t.Fatal("no nodes")
				}
			}
			if _, err := syntax.ParseCell(one.text); err != nil && !errors.As(err, &typed) {
				t.Fatalf("error of type %T", err)
			}
		})
	}
}
