package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// term is an entry of the glossary in docs/ARCHITECTURE.md. named are its names of the code. out are the words that
// must not be in names: those behind "Not:" that have no bracket with their other meaning.
type term struct {
	words      string
	named, out []string
}

// staying are the names with such a word that stay for now.
var staying = map[string]string{"MeterShed": "a constant of bpf/wire.h, and of recordings"}

var (
	entry   = regexp.MustCompile(`(?m)^- \*\*(.+?)\*\*: ((?:.|\n  )+)`)
	code    = regexp.MustCompile("`([^`]+)`")
	bracket = regexp.MustCompile(` \([^)]*\)`)
	quoted  = regexp.MustCompile("(?s)```.*?```|`[^`]*`") // code, and what a program says
	part    = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)
)

// TestGlossary: the names of the code in the glossary exist, and the words that it rules out are in no name of a file,
// a type, or anything that other packages see, and on no page.
func TestGlossary(t *testing.T) {
	terms := glossary(t)
	names, known := declared(t)
	out := map[string]string{}
	for _, of := range terms {
		for _, name := range of.named {
			if !known[name] && !exists(name) {
				t.Errorf("%s: there is no %s", of.words, name)
			}
		}
		for _, word := range of.out {
			out[word] = of.words
		}
	}
	if len(terms) < 40 || len(out) < 6 {
		t.Fatalf("%d terms, %d words are ruled out", len(terms), len(out))
	}
	found := map[string]bool{}
	for _, name := range names {
		for _, word := range part.FindAllString(name, -1) {
			term, isOut := out[strings.ToLower(word)]
			if isOut && staying[name] == "" {
				t.Errorf("%s: the word is %q", name, term)
			}
			found[name] = found[name] || isOut
		}
	}
	for name := range staying {
		if !found[name] {
			t.Errorf("%s is not needed in the list of names that stay", name)
		}
	}
	pages(t, slices.Sorted(maps.Keys(out)))
}

// glossary reads the entries.
func glossary(t *testing.T) (terms []term) {
	t.Helper()
	page, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## Glossary\n")
	for _, m := range entry.FindAllStringSubmatch(text, -1) {
		meaning, not, _ := strings.Cut(strings.Join(strings.Fields(m[2]), " "), "Not: ")
		of := term{words: strings.ReplaceAll(m[1], "**", "")}
		for _, name := range code.FindAllStringSubmatch(meaning, -1) {
			of.named = append(of.named, name[1])
		}
		not = bracket.ReplaceAllStringFunc(strings.TrimSuffix(not, "."), func(string) string { return "()" })
		for word := range strings.SplitSeq(not, ", ") {
			if word != "" && !strings.HasSuffix(word, "()") {
				of.out = append(of.out, word)
			}
		}
		terms = append(terms, of)
	}
	return terms
}

// exists reports whether a file or a folder of the repository has that path.
func exists(name string) bool {
	_, err := os.Stat(filepath.Join("../..", name))
	return err == nil
}

// declared returns the names of files, types, and declarations that other packages see; and what a page may name:
// package.Type, package.Type.Field, package.Function.
func declared(t *testing.T) (names []string, known map[string]bool) {
	t.Helper()
	known = map[string]bool{}
	for _, file := range tracked(t, "*.go") {
		base, _ := strings.CutSuffix(path.Base(file), ".go")
		names = append(names, base)
		parsed, err := parser.ParseFile(token.NewFileSet(), "../../"+file, nil,
			parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if ast.IsGenerated(parsed) && !strings.Contains(base, "wire") {
			continue
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.IsExported() && !strings.HasSuffix(base, "_test") {
					names = append(names, n.Name.Name)
				}
				return false
			case *ast.TypeSpec:
				names = append(names, n.Name.Name)
				own := parsed.Name.Name + "." + n.Name.Name
				known[own] = true
				if of, is := n.Type.(*ast.StructType); is {
					for _, f := range of.Fields.List {
						for _, name := range f.Names {
							known[own+"."+name.Name] = true
						}
					}
				}
			case *ast.Field:
				names = append(names, exported(n.Names)...)
			case *ast.ValueSpec:
				names = append(names, exported(n.Names)...)
			}
			return true
		})
	}
	return names, known
}

func exported(all []*ast.Ident) (names []string) {
	for _, one := range all {
		if one.IsExported() {
			names = append(names, one.Name)
		}
	}
	return names
}

// tracked returns the repository's files of a pattern.
func tracked(t *testing.T, pattern string) []string {
	t.Helper()
	list := exec.Command("git", "ls-files", pattern)
	list.Dir = "../.."
	text, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// pages looks for words that are ruled out on the pages, but for the glossary and for code.
func pages(t *testing.T, words []string) {
	t.Helper()
	out := regexp.MustCompile(`(?i)\b(` + strings.ReplaceAll(strings.Join(words, "|"), " ", `\s+`) + `)\b`)
	for _, file := range tracked(t, "*.md") {
		if strings.Contains(file, "testdata/") {
			continue
		}
		page, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(string(page), "\n## Glossary\n")
		if word := out.FindString(quoted.ReplaceAllString(text, "")); word != "" {
			t.Errorf("%s has the word %q", file, word)
		}
	}
}
