package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"testing"
)

// TestUsesOfAnotherFile: an arrow is whatever a file uses of another one, fields and methods among it, and nothing of
// another package.
func TestUsesOfAnotherFile(t *testing.T) {
	set := token.NewFileSet()
	var files []*ast.File
	for name, text := range map[string]string{
		"a.go": "package p\n\nimport \"unsafe\"\n\nfunc a(t t) uintptr { t.m(); return unsafe.Sizeof(t.field) }\n",
		"b.go": "package p\n\ntype t struct{ field int }\n",
		"c.go": "package p\n\nfunc (t t) m() { c() }\n\nfunc c() {}\n",
	} {
		f, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	got, _, err := usesOf(set, files, foreign{})
	if err != nil {
		t.Fatal(err)
	}
	want := uses{"a.go": {"b.go": "field", "c.go": "m"}, "c.go": {"b.go": "t"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if up := got.up(); len(up) != 0 {
		t.Errorf("arrows lead up without a circle: %q", up)
	}
}

// TestFewestArrowsLeadUp: of the arrows of each circle the fewest lead up, the same each time.
func TestFewestArrowsLeadUp(t *testing.T) {
	all := uses{
		"a": {"b": "B"}, "b": {"c": "C"}, "c": {"a": "A", "d": "D"}, // a circle
		"d": {"e": "E", "f": "F"}, "e": {"d": "D", "f": "F"}, "f": {"d": "D"}, // every circle goes through d
		"top": {"a": "A", "bottom": "Bottom"},
	}
	up := all.up()
	if len(up) != 3 || !slices.Contains(up, "e uses D of d") || !slices.Contains(up, "f uses D of d") {
		t.Errorf("up lead %q", up)
	}
	if again := all.up(); !slices.Equal(up, again) {
		t.Errorf("up lead %q, and then %q", up, again)
	}
}

// TestJudgeArrows: a complaint has all arrows that lead up.
func TestJudgeArrows(t *testing.T) {
	m := newMeasures()
	m.up["p"] = []string{"a uses B of b", "b uses A of a"}
	m.figures[arrows]["p"] = 2
	l := &limits{most: map[kind]int{arrows: 1}}
	want := []string{
		"p: arrows is 2, and may be 1 of 100 that lead up in the best order of its files that was found:\n" +
			"\ta uses B of b\n\tb uses A of a"}
	if got := l.judge(m); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
