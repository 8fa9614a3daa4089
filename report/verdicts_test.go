package report_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"ipytracer/internal/words"
)

// TestKindsOfVerdict: each kind has a title, and is in the schema and in docs/audit.md.
func TestKindsOfVerdict(t *testing.T) {
	schema, page := readFile(t, "schema/audit-v1.schema.json"), readFile(t, "../docs/audit.md")
	file, err := parser.ParseFile(token.NewFileSet(), "../model/audit.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		of, is := n.(*ast.GenDecl)
		if !is || of.Tok != token.CONST || of.Doc.Text() != "Kinds of verdict.\n" {
			return true
		}
		for _, spec := range of.Specs {
			kind, err := strconv.Unquote(spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
			if err != nil || !strings.Contains(schema, strconv.Quote(kind)) {
				t.Errorf("%q is not in the schema: %v", kind, err)
			}
			if !strings.Contains(page, "- `"+kind+"`:") {
				t.Errorf("docs/audit.md has no row %q", kind)
			}
			if words.VerdictTitle(kind) == kind {
				t.Errorf("%q has no title", kind)
			}
			found++
		}
		return false
	})
	if found < 12 {
		t.Errorf("%d kinds", found)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
