package syntax_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/syntax"
)

// fragments are lines and blocks of cells. Cells of the test are made of them. Some lines are read although IPython
// refuses them, and are not here: x = y = !ls, f(x)?, x[0]? (IPython 8.5), x? # comment.
var fragments = []string{
	"x = 1", "y = [1,\n     2]", "print(x)", "if x:\n    y = 2\nelse:\n    pass", "# %not a magic",
	"'''\n%not\n!one\n'''", "x = (\n  %y\n)", "def f(a):\n    return a", "await g()", "async with a: pass",
	"for i in x: y", "x % y", "x = 5 % 3", "s = '?'", "s = 'a!b' # x?", "d = {\n 'a': 1}", "x = y \\\n    + 1",
	"(a\n !b)", "x != y", "print('%d' % 3)", "%matplotlib inline", "%time f(x)", "%timeit -n 10 f(x)", "%cd ..",
	"% ls", "%lsmagic", "%run x.py \\\n  -a b", "!ls", "!ls -l | grep x", "!!ls", "!cd a && \\\n  ls",
	"! pip install x", "!echo \"it's\"", "%%bash\nls", "?x", "??x", "x?", "x??", "x.y?", "x.y.z??", "%time?",
	"%%time?", "a.*b?", "?a.*b", "y = x?", "x = !ls", "x = !ls \\\n -l", "files = !ls *.txt",
	"x = %cd", "x = %time f()", "x, y = !ls", "x.a = !ls", "x[0] = !ls", "x: int = !ls", "x == !ls",
	"x = f(a=!b)", "x += !ls", "x = (!ls)", "if x:\n    %time f()\n    !ls\n    y = !ls\n    x?",
	"for i in x:\n\t%cd ..\n\ti", "if x: %time f()", "if x: !ls",
	"def f():\n    '''doc?'''\n    !ls\n    return 1", "try:\n    !ls\nexcept A:\n    %cd",
	"with a:\n  b = %time f()", ",f a b", ";f a b", "/f a b", "/f", "\n", "   ", "x; !ls", "x; y", "x ;",
	"lambda: !x", "%time x; y", "@a\n%time f()", "if x:\n\n    !ls\n\n    # c\n    %cd\ny", "x?\ny??", "(x?)",
	"[x,\ny?]", "%", "!", "?", "%magic_with_under a", "%a.b c", "%time  f( x )  ", "!ls  ", "ç = !ls", "é?",
	"x = %é", "x=!ls", "x=%time f()", "x =!ls",
}

// frames are ways in which a cell is pasted.
var frames = []func(string) string{
	func(s string) string { return s },
	func(s string) string { return "\n\n" + s + "\n\n" },
	func(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") },
	func(s string) string { return "\t" + strings.ReplaceAll(s, "\n", "\n\t") },
	func(s string) string { return ">>> " + strings.ReplaceAll(s, "\n", "\n... ") },
	func(s string) string { return ">>> " + strings.ReplaceAll(s, "\n", "\n>>> ") },
	func(s string) string { return "In [12]: " + strings.ReplaceAll(s, "\n", "\n    ...: ") },
	func(s string) string { return "  >>> " + strings.ReplaceAll(s, "\n", "\n  ... ") },
	func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
}

// TestCells compares how cells are read with how IPython reads them: cells of fragments, and those of the notebooks.
func TestCells(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	cells := slices.Clone(fragments)
	for len(cells) < 1500 {
		var parts []string
		for range 1 + random.IntN(4) {
			parts = append(parts, fragments[random.IntN(len(fragments))])
		}
		cells = append(cells, frames[random.IntN(len(frames))](strings.Join(parts, "\n")))
	}
	notebooks, err := filepath.Glob("../../testdata/notebooks/*.ipy")
	if err != nil || notebooks == nil {
		t.Fatal(err)
	}
	for _, path := range notebooks {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for cell := range strings.SplitSeq(string(text), "# %%\n") {
			if strings.HasPrefix(cell, "%%time") || strings.HasPrefix(cell, "%%capture") {
				_, cell, _ = strings.Cut(cell, "\n") // for IPython the rest is a string; see TestPythonCells
			}
			cells = append(cells, cell)
		}
	}
	theirs := readByIPython(t, cells)
	same := 0
	for i, cell := range cells {
		module, err := syntax.Parse(cell)
		switch {
		case err != nil && theirs[i] == nil:
		case err != nil:
			t.Errorf("%q: %v; IPython: %q", cell, err, theirs[i])
		case theirs[i] == nil && strings.Contains(cell, "\r\n"): // IPython knows help in front of \n alone
		case theirs[i] == nil:
			t.Errorf("%q: taken as %q; IPython refuses it", cell, statementsOf(module.Body, nil))
		default:
			if ours := statementsOf(module.Body, nil); !reflect.DeepEqual(ours, theirs[i]) {
				t.Errorf("%q:\n  ours: %q\ntheirs: %q", cell, ours, theirs[i])
			} else {
				same++
			}
		}
	}
	if same < len(cells)/5 {
		t.Errorf("only %d cells are no errors", same)
	}
}

func readByIPython(t *testing.T, cells []string) [][]string {
	t.Helper()
	input, err := json.Marshal(cells)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("/usr/bin/python3", "testdata/cells.py")
	command.Stdin = bytes.NewReader(input)
	var failed bytes.Buffer
	command.Stderr = &failed
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, failed.String())
	}
	var all [][]string
	if err := json.Unmarshal(output, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// statementsOf names statements as testdata/cells.py does.
func statementsOf(body []syntax.Stmt, all []string) []string {
	if all == nil {
		all = []string{}
	}
	for _, s := range body {
		name := strings.TrimPrefix(reflect.TypeOf(s).String(), "*syntax.")
		if name == "ExprStmt" {
			name = "Expr"
		}
		switch s := s.(type) {
		case *syntax.Magic:
			all = append(all, lineOf(s.Text))
			continue
		case *syntax.Assign:
			if shell, ok := s.Value.(*syntax.Shell); ok {
				all = append(all, "Assign "+lineOf(shell.Text))
				continue
			}
		}
		all = append(all, name)
		switch s := s.(type) {
		case *syntax.FunctionDef:
			all = statementsOf(s.Body, all)
		case *syntax.ClassDef:
			all = statementsOf(s.Body, all)
		case *syntax.For:
			all = statementsOf(s.Else, statementsOf(s.Body, all))
		case *syntax.While:
			all = statementsOf(s.Else, statementsOf(s.Body, all))
		case *syntax.If:
			all = statementsOf(s.Else, statementsOf(s.Body, all))
		case *syntax.With:
			all = statementsOf(s.Body, all)
		case *syntax.Try:
			all = statementsOf(s.Finally, statementsOf(s.Else, statementsOf(s.Body, all)))
			for _, h := range s.Handlers {
				all = statementsOf(h.Body, all)
			}
		}
	}
	return all
}

// prompts stand in front of the further lines of a magic, whose text is the source's.
var prompts = regexp.MustCompile(`\n\s*(\.{3,}:?|>>>)`)

// lineOf returns a line without blanks, as testdata/cells.py does.
func lineOf(line string) string {
	ofCell := strings.HasPrefix(line, "%%") && strings.Contains(line, "\n")
	line = prompts.ReplaceAllString(line, "\n")
	line = strings.ReplaceAll(strings.ReplaceAll(line, "\\\r\n", ""), "\\\n", "")
	line = strings.Join(strings.Fields(line), "")
	switch {
	case ofCell:
		return "Magic " + line
	case strings.HasSuffix(line, "?") || strings.HasPrefix(line, "?"):
		return "Magic ?"
	case strings.ContainsAny(line[:1], ",;/"):
		return "Expr" // IPython makes a call of it
	}
	return "Magic " + strings.Replace(line, "!!", "!", 1)
}

// TestPythonCells checks that the rest of a cell under %%time is read as it would be alone, at its own lines, and what
// Python a line of %time has.
func TestPythonCells(t *testing.T) {
	heads := []string{"%%time", "%%timeit -n 3 setup()", "%%capture out", "%%time\n%%capture", "\n\n%%tracer\n"}
	for _, head := range heads {
		cell := head + "\nx = !ls\nif x:\n    %time y"
		module, err := syntax.Parse(cell)
		if err != nil {
			t.Fatalf("%q: %v", cell, err)
		}
		if got := statementsOf(module.Body[len(module.Body)-2:], nil); !slices.Equal(got,
			[]string{"Assign Magic !ls", "If", "Magic %timey"}) {
			t.Errorf("%q: %q", cell, got)
		}
		place := module.Body[len(module.Body)-1].Place()
		if lines := strings.Count(cell, "\n") + 1; place.Start.Line != lines-1 || place.End.Offset != len(cell) {
			t.Errorf("%q: place %v", cell, place)
		}
	}
	for line, want := range map[string]string{
		"%time y = f(x)":                 "y = f(x)",
		"  %timeit -n 10 -r3 -o f(x, 1)": "f(x, 1)",
		"%memit -r 1 x.copy()":           "x.copy()",
		"%time %time !ls":                "%time !ls",
		"%time":                          "",
		"%timeit -n 10":                  "",
		"%time x y":                      "",
		"%lprun -f f -m mod f(x)":        "f(x)",
		"%prun -s cumulative f(é)":       "f(é)",
		"x = 1\n%time a + \\\n  b":       "a + \\\n  b",
		"%matplotlib inline":             "",
	} {
		module, err := syntax.Parse(line)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got := ""
		for _, s := range module.Body[len(module.Body)-1].(*syntax.Magic).Body {
			got += syntax.Text(line, s)
		}
		if got != want {
			t.Errorf("%q: %q", line, got)
		}
	}
}
