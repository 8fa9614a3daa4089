package syntax_test

import (
	"os"
	"strings"
	"testing"

	"ipytracer/internal/syntax"
)

// TestTrees compares the trees of testdata/grammar, and of this repository's Python, with those of CPython's ast: every
// field and every position. A file with a stored tree has syntax that the running Python may not know: the stored tree
// is that of CPython 3.15.
//
// By hand it compared other files, with SYNTAX_FILES (a list of paths) and SYNTAX_PYTHON (the Python to ask): the
// standard libraries of 3.9 (2,320 files), 3.10, 3.11, 3.12 and 3.13, but for 3.11 with their tests, that of 3.14 with
// IPython, NumPy and pandas and the tests of 3.13, and a part of that of 3.15. All were the same but for files that are
// not in UTF-8, and for empty texts in formats, which 3.12 alone has. Of 5,937 statements with tokens lost, doubled or
// swapped, 3.11 and this parser take the same.
func TestTrees(t *testing.T) {
	paths := pythonFiles(t)
	if os.Getenv("SYNTAX_FILES") == "" {
		paths = append(paths, "testdata/grammar/newer.py")
	}
	python := []string{"/usr/bin/python3"}
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
