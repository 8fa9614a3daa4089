package words

import (
	"go/ast"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// elsewhere are the files of attribution and event that may have phrases, with the reason.
var elsewhere = map[string]string{
	"internal/advice/functions.go":       "names of functions",
	"internal/advice/notebook/tables.go": "names of functions",
	"internal/advice/tables.go":          "names of methods",
	"internal/freeing/fix.go":            "code to paste",
	"internal/freeing/lost.go":           "code to paste",
	"internal/freeing/views.go":          "code to paste",
	"internal/freeing/typed.go":          "code to paste",
	"event/loss.go":                      "reasons of losses, which recordings have",
	"event/meters.go":                    "the table of meters, with sources that recordings have",
}

// TestPhrasesAreHere: attribution and event have no phrase of three words or more. They find facts; this package has
// the sentences. Errors are exempt.
func TestPhrasesAreHere(t *testing.T) {
	found := map[string]bool{}
	each := func(path string) {
		phrases := phrasesOf(t, path)
		name := filepath.ToSlash(strings.TrimPrefix(path, filepath.Join("..", "..")+string(filepath.Separator)))
		found[name] = len(phrases) > 0
		if elsewhere[name] == "" && len(phrases) > 0 {
			t.Errorf("%s: these belong into internal/words: %q", name, phrases)
		}
	}
	for _, folder := range []string{"attribution", "event", "internal/advice", "internal/compare", "internal/freeing",
		"internal/merge", "internal/plan"} {
		before := len(found)
		err := filepath.WalkDir(filepath.Join("../..", folder), func(path string, _ fs.DirEntry, err error) error {
			if err == nil && isSource(path) && !strings.Contains(path, "event/recording") {
				each(filepath.Clean(path))
			}
			return err
		})
		if err != nil || len(found) == before {
			t.Fatal(folder, err, len(found))
		}
	}
	for name := range elsewhere {
		if !found[name] {
			t.Errorf("%s has no phrase: take it out of the list", name)
		}
	}
}

func isSource(path string) bool {
	return strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go")
}

// phrasesOf returns the strings of a file that have three words or more, but for those of errors.
func phrasesOf(t *testing.T, path string) (phrases []string) {
	t.Helper()
	ast.Inspect(parsed(t, path), func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			return !makesError(n)
		case *ast.FuncDecl:
			return n.Name.Name != "Error"
		case *ast.BasicLit:
			if n.Kind != token.STRING {
				break
			}
			if text, err := strconv.Unquote(n.Value); err == nil && isPhrase(text) {
				phrases = append(phrases, text)
			}
		}
		return true
	})
	return phrases
}

// makesError reports whether a call is fmt.Errorf or errors.New.
func makesError(call *ast.CallExpr) bool {
	f, is := call.Fun.(*ast.SelectorExpr)
	if !is {
		return false
	}
	from, is := f.X.(*ast.Ident)
	return is && (from.Name == "fmt" && f.Sel.Name == "Errorf" || from.Name == "errors" && f.Sel.Name == "New")
}

// isPhrase reports whether a text has three words. A word has letters alone, and punctuation around them.
func isPhrase(text string) bool {
	n := 0
	for _, field := range strings.Fields(text) {
		word := strings.TrimFunc(field, func(r rune) bool { return !unicode.IsLetter(r) })
		if word != "" && strings.IndexFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }) < 0 &&
			!isVerb(field) {
			n++
		}
	}
	return n >= 3
}

// isVerb reports whether a field is a verb of a format, as %s is.
func isVerb(field string) bool { return strings.HasPrefix(field, "%") && len(field) <= 3 }
