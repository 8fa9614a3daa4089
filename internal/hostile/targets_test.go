package hostile

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	root = "../.."
	page = "docs/security-trials.md"
)

// TestEveryFuzzTargetIsBounded parses all tests of the repository: no fuzz target calls f.Fuzz, so each calls [Fuzz],
// and each has a row in the page of trials.
func TestEveryFuzzTargetIsBounded(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]bool)
	for _, row := range regexp.MustCompile("`(Fuzz\\w+)` \\./([\\w/]+)").FindAllSubmatch(text, -1) {
		rows[string(row[2])+" "+string(row[1])] = true
	}
	targets := 0
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		folder, _ := filepath.Rel(root, filepath.Dir(path))
		for _, name := range fuzzTargets(file) {
			targets++
			if !rows[folder+" "+name] {
				t.Errorf("%s has no row with `%s` ./%s", page, name, folder)
			}
			delete(rows, folder+" "+name)
		}
		if unbounded(file) {
			t.Errorf("%s: a fuzz target without a limit: call hostile.Fuzz", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for row := range rows {
		t.Errorf("%s has a row of %s, which is no target", page, row)
	}
	if targets < 30 {
		t.Errorf("%d targets: not all of the repository was read", targets)
	}
}

// fuzzTargets returns the names of a file's fuzz targets.
func fuzzTargets(file *ast.File) []string {
	var names []string
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
			names = append(names, f.Name.Name)
		}
	}
	return names
}

// unbounded reports whether a file names a Fuzz of anything but this package: the method of a *testing.F.
func unbounded(file *ast.File) bool {
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Fuzz" {
			of, isName := s.X.(*ast.Ident)
			found = found || !isName || of.Name != "hostile"
		}
		return true
	})
	return found
}

// TestUnboundedTargetIsFound has both kinds of calls.
func TestUnboundedTargetIsFound(t *testing.T) {
	for call, want := range map[string]bool{
		"f.Fuzz(g)": true, "(*testing.F).Fuzz(f, g)": true, "h := f.Fuzz": true, "hostile.Fuzz(f, 1, g)": false,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc FuzzX(f *testing.F) { "+call+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := unbounded(file); got != want || len(fuzzTargets(file)) != 1 {
			t.Errorf("%s: %v", call, got)
		}
	}
}
