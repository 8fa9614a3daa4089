package words

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// writers are the files of package attribution that use texts of this package, with the reason. All others keep codes
// and values.
var writers = map[string]string{
	"certifier.go":    "makes certificates",
	"completeness.go": "makes certificates",
	"failedcell.go":   "names the cell of a traceback among the holders",
	"figurer.go":      "names cells",
	"finds.go":        "names the stacks of blocks that a search found",
	"fix.go":          "makes code that frees memory",
	"glancer.go":      "makes glances",
	"kernels.go":      "names kernels",
	"note.go":         "joins the notes of a window for a report",
	"notjudged.go":    "makes audits",
	"pools.go":        "names pools",
	"presenter.go":    "makes windows of reports",
	"tracks.go":       "makes timelines of reports",
	"verdict.go":      "makes audits",
	"verdicts.go":     "makes audits",
}

// TestTextsAreMadeLate: in package attribution, only the files that make parts of a report use texts of this package.
func TestTextsAreMadeLate(t *testing.T) {
	texts := textsHere(t)
	if !texts["Join"] || !texts["RecordingCut"] || texts["EndMissed"] || texts["Note"] {
		t.Fatalf("%v", texts)
	}
	for _, path := range sources(t, "../../attribution/*.go") {
		used := ""
		ast.Inspect(parsed(t, path), func(n ast.Node) bool {
			if s, is := n.(*ast.SelectorExpr); is {
				if from, is := s.X.(*ast.Ident); is && from.Name == "words" && texts[s.Sel.Name] {
					used = s.Sel.Name
				}
			}
			return true
		})
		name := filepath.Base(path)
		if (used != "") != (writers[name] != "") {
			t.Errorf("%s uses %q of package words; in the list it %s", name, used, writers[name])
		}
	}
}

// textsHere returns the names of the functions that return strings, and of the constants without a type.
func textsHere(t *testing.T) map[string]bool {
	t.Helper()
	texts := map[string]bool{}
	for _, path := range sources(t, "*.go") {
		for _, d := range parsed(t, path).Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && returnsText(d.Type.Results) {
					texts[d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, is := s.(*ast.ValueSpec); is && d.Tok == token.CONST && s.Type == nil && isText(s.Values) {
						texts[s.Names[0].Name] = true
					}
				}
			}
		}
	}
	return texts
}

// returnsText reports whether a string, or a list of them, is among results.
func returnsText(results *ast.FieldList) bool {
	if results == nil {
		return false
	}
	for _, one := range results.List {
		of := one.Type
		if list, is := of.(*ast.ArrayType); is {
			of = list.Elt
		}
		if name, is := of.(*ast.Ident); is && name.Name == "string" {
			return true
		}
	}
	return false
}

// isText reports whether the first of the values is a string.
func isText(values []ast.Expr) bool {
	if len(values) == 0 {
		return false
	}
	value := values[0]
	for {
		sum, is := value.(*ast.BinaryExpr)
		if !is {
			break
		}
		value = sum.X
	}
	one, is := value.(*ast.BasicLit)
	return is && one.Kind == token.STRING
}

// sources returns the paths of the files that are no tests.
func sources(t *testing.T, pattern string) (paths []string) {
	t.Helper()
	all, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		if isSource(path) {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		t.Fatalf("%s: no file", pattern)
	}
	return paths
}

func parsed(t *testing.T, path string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
