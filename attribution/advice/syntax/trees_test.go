package syntax_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/attribution/advice/syntax"
)

// TestTrees compares the trees of testdata/grammar with those of CPython's ast, every field and position. A file with a
// stored tree has syntax that the running Python may not know: the stored tree is that of CPython 3.15.
//
// By hand it compared other files as well: SYNTAX_FILES is a list of paths, SYNTAX_PYTHON the Python to ask.
func TestTrees(t *testing.T) {
	paths, err := filepath.Glob("testdata/grammar/*.py")
	if err != nil || len(paths) < 2 {
		t.Fatal(paths, err)
	}
	if list := os.Getenv("SYNTAX_FILES"); list != "" {
		data, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		paths = strings.Fields(string(data))
	}
	python := []string{"python3"}
	if other := os.Getenv("SYNTAX_PYTHON"); other != "" {
		python = strings.Fields(other)
	}
	same, refused := 0, 0
	eachTree(t, python, paths, func(path, tree string, blind bool) {
		source, err := os.ReadFile(os.Getenv("SYNTAX_ROOT") + path)
		if err != nil {
			t.Fatal(err)
		}
		if stored, err := os.ReadFile(strings.TrimSuffix(path, ".py") + ".tree"); err == nil {
			tree, blind = string(stored), false
		}
		module, err := syntax.Parse(string(source))
		switch {
		case err != nil && strings.HasPrefix(tree, "!"):
			refused++
		case err != nil:
			t.Errorf("%s: %v", path, err)
		case strings.HasPrefix(tree, "!"):
			t.Errorf("%s: is taken, but CPython says: %.200s", path, tree)
		default:
			if difference := differ(dump(module, blind), tree); difference != "" {
				t.Errorf("%s: %s", path, difference)
			} else {
				same++
			}
		}
	})
	if refused > 0 && os.Getenv("SYNTAX_FILES") == "" {
		t.Error("CPython refuses a file of ours")
	}
	t.Logf("%d files are the same, %d are refused by both", same, refused)
}

// differ returns the first line that differs, with the lines before it.
func differ(ours, theirs string) string {
	a, b := strings.Split(ours, "\n"), strings.Split(theirs, "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || !sameLine(a[i], b[i]) {
			from := max(0, i-3)
			return "ours:\n" + strings.Join(a[min(from, len(a)):min(i+2, len(a))], "\n") +
				"\ntheirs:\n" + strings.Join(b[min(from, len(b)):min(i+2, len(b))], "\n")
		}
	}
	return ""
}

// sameLine compares lines up to a character by name, which our trees have as it is written.
func sameLine(ours, theirs string) bool {
	before, _, named := strings.Cut(ours, `\N{`)
	return ours == theirs || named && strings.HasPrefix(theirs, before)
}
