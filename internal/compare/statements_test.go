package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"ipytracer/internal/hostile"
)

// said returns the uses of names in statements: "reads; assigns; changes", sorted.
func said(all []statement) string {
	var reads, assigns, changes []string
	for _, s := range all {
		reads, assigns, changes = append(reads, s.reads...), append(assigns,
			append(s.assigns, s.deletes...)...), append(changes, s.changes...)
	}
	var out []string
	for _, list := range [][]string{reads, assigns, changes} {
		slices.Sort(list)
		out = append(out, strings.Join(slices.Compact(list), " "))
	}
	return strings.Join(out, "; ")
}

func TestStatements(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"x = 1", "; x; "},
		{"x = y = z", "z; x y; "},
		{"orders = load(n)  # of everything", "load n; orders; "},
		{"a, (b, *c), d[i], e.f = g", "d e g i; a b c; d e"},
		{"x += y", "x y; x; "},
		{"x: int = y", "int y; x; "},
		{"x == y", "x y; ; "},
		{"df['a'] = 1", "df; ; df"},
		{"df.loc[mask, 'a'] = other.b", "df mask other; ; df"},
		{"history.append(batch)", "batch history; ; history"},
		{"print(history.size)", "history print; ; "},
		{"f(x, key=y, *z, **w)", "f w x y z; ; "},
		{"import numpy as np, os.path, sys", "; np os sys; "},
		{"from a.b import (c as d,\n  e)", "; d e; "},
		{"from a import *", "; ; "},
		{"for i, x in enumerate(xs): total = x", "enumerate x xs; i total x; "},
		{"for i in xs:\n    y = i\nelse:\n    z = 1", "i xs; i y z; "},
		{"with open(path) as f, g() as (h, i):\n    data = f.read()", "f g open path; data f h i; "},
		{"try:\n    x = f()\nexcept (A, B) as e:\n    pass", "A B f; e x; "},
		{"del a, b[c]", "b c; a; b"},
		{"y = [f(x, z) for x in xs if x]", "f xs z; y; "},
		{"y = {k: v for k, v in d.items()}", "d; y; "},
		{"y = sorted(xs, key=lambda row: row[k])", "k sorted xs; y; "},
		{"g = lambda a, b=c: a + b + d", "c d; g; "},
		{"if (n := len(x)) > 3: y = n", "len n x; n y; "},
		{"s = 'x = y' + \"z\" + '''a\nb = c'''; t = 1", "; s t; "},
		{"s = f'{orders.size:>{width}} and {x[\"k\"]!r} {{no}}'", "orders width x; s; "},
		{"s = f\"{a[\"b\"]} {c}\"", "a c; s; "},
		{"print(f'{x=}')", "print x; ; "},
		{"x = (1 +\n  y  # z = 3\n)", "y; x; "},
		{"x = 1 + \\\n  y", "y; x; "},
		{"%time orders = load(n)", "load n; orders; "},
		{"%timeit total = orders.sum()", "orders; ; "},
		{"!ls x = y\n?orders\norders?", "; ; "},
		{"files = !ls *.csv", "csv ls; files; "},
		{"%%time\norders = load()", "load; orders; "},
		{"%%timeit\nx = orders.sum()", "orders; ; "},
		{"%%bash\nx=1\necho $x", "; ; "},
		{"match = re.match(x)", "re x; match; "},
		{"global x", "; ; "},
		{"assert x, y", "x y; ; "},
		{"x = 0x1e + 1e-5 + 1_000.5j + y", "y; x; "},
		{"größe = π * 2", "π; größe; "},
		{"@decorated(by)\ndef f(a, b=n, *c, d: T = m) -> R:\n    return a + g(x)", "R T by decorated m n; f; "},
		{"class A(B, metaclass=C):\n    y = z", "B C z; A; "},
		{"w = y\nx = 'never closed\ny = 2", "y; w; "},
		{"w = y\nif w:\n  v = w\n  x = [cut", "w y; v w; "},
		{"", "; ; "},
	} {
		if got := said(statementsOf(c.source, strings.Clone)); got != c.want {
			t.Errorf("%q: %q, want %q", c.source, got, c.want)
		}
	}
}

// TestFunctionReadsNamesWhenCalled checks that a function reads names when it is called.
func TestFunctionReadsNamesWhenCalled(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"def f(n):\n    x = np.ones(n * N)\n    return x + y", "np N y"},
		{"def f(): return N", "N"},
		{"def f():\n    global total\n    total = total + N", "total N"},
		{"def f(a):\n    def g(b):\n        return a + b + c\n    return g", "c"},
		{"async def f():\n    async with a() as b:\n        async for c in b: yield c + d", "a d"},
		{"class A:\n    size = N\n    def get(self, k=D):\n        return self.size + k + M", "M"},
		{"def f():\n\n    # nothing\n    '''of x'''\n    return x\n\ny = 1", "x"},
	} {
		got := statementsOf(c.source, strings.Clone)
		if len(got) == 0 || strings.Join(got[0].calls, " ") != c.want {
			t.Errorf("%q: %+v, want %q", c.source, got, c.want)
		}
	}
}

// TestLinesOfStatements checks the lines of statements.
func TestLinesOfStatements(t *testing.T) {
	got := ""
	for _, s := range statementsOf("%%time\nx = f(\n  1,\n)\n\nif x:\n    y = '''\n  a'''; z = 2\n"+
		"def g():\n    return 1\n\n    # no more\nw = 3", strings.Clone) {
		got += fmt.Sprintf("%d-%d ", s.first, s.last)
	}
	if want := "2-4 6-6 7-8 8-8 9-10 13-13 "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestWhitespaceAndCommentsAreNoChange checks that the text of a statement is without them, and has the contents of
// strings.
func TestWhitespaceAndCommentsAreNoChange(t *testing.T) {
	text := func(source string) uint64 { return statementsOf(source, strings.Clone)[0].text }
	if text("x = f( 1,\n 'a' ) # c") != text("x=f(1,'a')") {
		t.Error("white space is a change")
	}
	if text("x = f('a')") == text("x = f('b')") || text("x = f'{a}'") == text("x = f'{b}'") {
		t.Error("what strings say is no change")
	}
}

// TestAssignedNamesAgainstPython compares the assigned names with those that Python's own parser finds.
func TestAssignedNamesAgainstPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on this machine")
	}
	const script = `
import ast, json, os
class Names(ast.NodeVisitor):
    def __init__(self): self.names = set()
    def visit_FunctionDef(self, node): self.names.add(node.name)
    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef
    def visit_Lambda(self, node): pass
    def visit_comprehension(self, node): self.visit(node.iter)
    def visit_Name(self, node):
        if not isinstance(node.ctx, ast.Load): self.names.add(node.id)
    def visit_alias(self, node):
        if node.name != '*': self.names.add(node.asname or node.name.split('.')[0])
    def visit_ExceptHandler(self, node):
        if node.name: self.names.add(node.name)
        self.generic_visit(node)
    def visit_MatchAs(self, node): pass
    visit_MatchStar = visit_MatchMapping = visit_MatchAs
out = {}
for module in "argparse ast bisect calendar csv dataclasses datetime heapq inspect json/decoder " \
        "os random shutil statistics string tarfile textwrap typing zipfile subprocess".split():
    file = os.path.dirname(os.__file__) + "/" + module + ".py"
    if not os.path.exists(file): continue
    source = open(file, encoding="utf-8").read()
    if len(source) > 60 << 10: continue
    n = Names()
    n.visit(ast.parse(source))
    out[module] = [source, ' '.join(sorted(n.names))]
print(json.dumps(out))
`
	said, err := exec.Command(python, "-c", script).Output()
	var modules map[string][2]string
	if err = errors.Join(err, json.Unmarshal(said, &modules)); err != nil || len(modules) < 8 {
		t.Fatalf("%v, %d modules", err, len(modules))
	}
	for module, one := range modules {
		var all []string
		for _, s := range statementsOf(one[0], strings.Clone) {
			all = append(append(all, s.assigns...), s.deletes...)
		}
		slices.Sort(all)
		if got := strings.Join(slices.Compact(all), " "); got != one[1] {
			t.Errorf("%s:\n%s, want\n%s", module, got, one[1])
		}
	}
}

// TestHostileSources checks that any source takes little time.
func TestHostileSources(t *testing.T) {
	for _, piece := range []string{"(", "[x for x in ", "lambda a: ", "f'{", "if x: ", "if x: a; ", "def f(", "x = ",
		"x, ", "'''", "\\\n", "f'{f\"{", "x;", "@", "class A: ", "with a as b, ", "del ", "x.", "x[", "{", "for x in ",
		"\x00", "日本", "a:=", "def f():\n ", "%time "} {
		began := time.Now()
		all := statementsOf(strings.Repeat(piece, 1<<20/len(piece)), strings.Clone)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%q took %v", piece, took)
		}
		for _, s := range all {
			if len(s.reads) > 256 || len(s.assigns) > 256 || len(s.calls) > 256 {
				t.Errorf("%q: %d, %d, %d names", piece, len(s.reads), len(s.assigns), len(s.calls))
			}
		}
	}
}

func FuzzSteps(f *testing.F) {
	f.Add("x = f'{a:{b}}' ; def g(c=lambda d: e): return h\n%%time")
	f.Add("for (a, b) in [c for d in e]:\n\tf.g[h] += i")
	hostile.Fuzz(f, 64<<20, func(t *testing.T, source string) {
		for _, s := range statementsOf(source, strings.Clone) {
			if s.first < 1 || s.last < s.first {
				t.Errorf("lines %d to %d of %q", s.first, s.last, source)
			}
		}
	})
}
