package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

// foreign imports unsafe, and a package io that has a Reader, and no other one: a test that was built without paths
// finds none.
type foreign struct{}

// Import returns the package of that path.
func (foreign) Import(path string) (*types.Package, error) {
	switch path {
	case "unsafe":
		return types.Unsafe, nil
	case "io":
	default:
		return nil, fmt.Errorf("no package %s", path)
	}
	p := types.NewPackage(path, "io")
	reader := types.NewTypeName(token.NoPos, p, "Reader", nil)
	read := types.NewFunc(token.NoPos, p, "Read", types.NewSignatureType(nil, nil, nil, nil, nil, false))
	types.NewNamed(reader, types.NewInterfaceType([]*types.Func{read}, nil).Complete(), nil)
	p.Scope().Insert(reader)
	p.MarkComplete()
	return p, nil
}

// typesOf returns the types of a package that is one file.
func typesOf(t *testing.T, text string) *types.Package {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "p.go", "package p\n\n"+text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	_, checked, err := usesOf(set, []*ast.File{f}, foreign{})
	if err != nil {
		t.Fatal(err)
	}
	return checked.pkg
}

// TestCollaborators: a collaborator is a type of the package that has a state, or an interface, wherever a field has
// it; each counts once, and the struct itself does not.
func TestCollaborators(t *testing.T) {
	m := newMeasures()
	m.addCollaborators("p", typesOf(t, `
import "io"

type state struct{ n int }

func (s *state) add() { s.n++ }

type value struct{ n int }

func (v value) text() string { return "" }

type reader interface{ read() }

type list[T any] struct{ all []T }

func (l *list[T]) add(t T) {}

type owner struct {
	one   state
	again *state
	all   map[string][]reader
	plain value
	next  *owner
	other io.Reader
	lists chan list[int]
}

func (o *owner) add() {}
`))
	for name, want := range map[string]int{"p.owner": 3, "p.state": 0, "p.list": 0} {
		if got := m.figures[collaborators][name]; got != want {
			t.Errorf("%s has %d collaborators, want %d", name, got, want)
		}
	}
}

// TestFields: fields count where others do not see them and methods can change them.
func TestFields(t *testing.T) {
	m := newMeasures()
	m.addCollaborators("p", typesOf(t, `
type hasState struct{ a, b int; C int }

func (h *hasState) add() {}

type record struct{ a, b, c int }

func (r record) sum() int { return r.a }

type embeds struct{ record }

func (e *embeds) add() {}
`))
	if f := m.figures[fields]; f["p.hasState"] != 2 || f["p.record"] != 0 || f["p.embeds"] != 1 {
		t.Errorf("fields are %v", f)
	}
}

// TestLetters: a name of one letter counts where it lives for more than a few lines, but for receivers and loops.
func TestLetters(t *testing.T) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "p.go", `package p

type named struct {
	f int
}

func (n *named) sum(a, second int) (total int) {
	if b := a; b > 0 {
		total = b
	}
	for i := range a {
		for j := 0; j < i; j++ {
			total += second

		}
	}
	return total
}
`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	_, info, err := usesOf(set, []*ast.File{f}, foreign{})
	if err != nil {
		t.Fatal(err)
	}
	m := newMeasures()
	m.addLetters("p", set, []*ast.File{f}, info.defs)
	// f and a are 2 of named, f, sum, n, a, second, total, b, i, j.
	if got := m.figures[letters]["p"]; got != 20 {
		t.Errorf("%d of 100 names, want 20", got)
	}
}

// TestNamesByCase: two types with one name but for case are one too many; functions do not count.
func TestNamesByCase(t *testing.T) {
	m := newMeasures()
	m.addCollaborators("p", typesOf(t,
		"type Survey struct{}\n\ntype survey struct{}\n\ntype other int\n\nfunc Other() {}"))
	if got := m.figures[namesByCase]["p"]; got != 1 {
		t.Errorf("%d names, want 1", got)
	}
}

// TestShortFiles: a short file with one user belongs into that one; not where two use it, where nobody of the package
// does, or where it is short for a reason.
func TestShortFiles(t *testing.T) {
	m := newMeasures()
	for name, text := range map[string]string{
		"p/user.go": "package p\n", "p/one.go": "package p\n", "p/two.go": "package p\n", "p/none.go": "package p\n",
		"p/gen.go":       "//go:generate go run x\npackage p\n",
		"p/doc.go":       "// Package p is one.\npackage p\n",
		"p/cgo.go":       "//go:build cgo\n\npackage p\n",
		"p/one_amd64.go": "package p\n",
	} {
		if err := m.add(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	m.addShortFiles("p", uses{
		"user.go": {"one.go": "one", "two.go": "two", "gen.go": "gen", "doc.go": "doc", "cgo.go": "cgo",
			"one_amd64.go": "amd64", "../elsewhere.go": "generated"},
		"none.go": {"two.go": "two"},
	})
	if got := m.short["p"]; len(got) != 1 || got[0] != "one.go" || m.figures[shortFiles]["p"] != 1 {
		t.Errorf("short are %q", got)
	}
}

// TestFewFiles: the arrows of a package with few files do not count.
func TestFewFiles(t *testing.T) {
	m, circle := newMeasures(), uses{"a": {"b": "B"}, "b": {"a": "A"}}
	m.figures[packageFiles] = map[string]int{"few": many - 1, "many": many}
	m.addArrows("few", circle)
	m.addArrows("many", circle)
	if f := m.figures[arrows]; f["few"] != 0 || f["many"] != 50 {
		t.Errorf("arrows are %v", f)
	}
}
