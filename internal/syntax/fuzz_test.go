package syntax_test

import (
	"os"
	"strings"
	"testing"

	"ipytracer/internal/hostile"
	"ipytracer/internal/syntax"
)

// FuzzParse parses any source. Each node has a place in the source.
func FuzzParse(f *testing.F) {
	for _, fragment := range fragments {
		f.Add(fragment)
	}
	for _, path := range []string{"testdata/grammar/statements.py", "testdata/grammar/newer.py"} {
		source, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for block := range strings.SplitSeq(string(source), "\n\n") {
			f.Add(block)
		}
	}
	hostile.Fuzz(f, 64<<20, func(t *testing.T, source string) {
		module, err := syntax.Parse(source)
		if (module == nil) == (err == nil) {
			t.Fatalf("tree %v, error %v", module, err)
		}
		if err != nil {
			return
		}
		checkPlaces(t, source, module)
		syntax.Names(module.Body...).Bound("x")
	})
}

// checkPlaces checks that the line and the column of each node agree with its offset.
func checkPlaces(t *testing.T, source string, module *syntax.Module) {
	begins := []int{strings.Index(source, strings.TrimPrefix(source, "\ufeff"))}
	for i := range len(source) {
		if source[i] == '\n' || source[i] == '\r' && !strings.HasPrefix(source[i+1:], "\n") {
			begins = append(begins, i+1)
		}
	}
	syntax.Walk(module, func(node syntax.Node) bool {
		place := node.Place()
		for _, at := range []syntax.Pos{place.Start, place.End} {
			if node == syntax.Node(module) {
				break
			}
			if at.Line < 1 || at.Line > len(begins) ||
				begins[at.Line-1]+at.Col != at.Offset || at.Offset > len(source) {
				t.Fatalf("%q: %T at %+v", source, node, place)
			}
		}
		if place.Start.Offset > place.End.Offset {
			t.Fatalf("%q: %T from %+v", source, node, place)
		}
		return true
	})
}
