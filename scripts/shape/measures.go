package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// kind is a kind of measure. Its text is that of limits.txt.
type kind string

const (
	methods       kind = "methods"        // of a type
	fileLines     kind = "file-lines"     // of a file
	functionLines kind = "function-lines" // of a function with its braces
	columns       kind = "columns"        // of a line; a tab has tabWidth columns
	arrows        kind = "arrows"         // percentage of a package's arrows that lead up: see [uses.up]
	packageLines  kind = "package-lines"  // of a package, without its tests
	packageFiles  kind = "package-files"  // of a package, without its tests
	fields        kind = "fields"         // unexported ones of a struct that has a state: see [hasState]
	collaborators kind = "collaborators"  // of a struct: see [collaboratorsOf]
	namesByCase   kind = "names-by-case"  // of a package: types whose name differs from another's only by case
	shortFiles    kind = "short-files"    // of a package: see [measures.addShortFiles]
	letters       kind = "letters"        // percentage of a package's names: see [measures.addLetters]
	sleeps        kind = "sleeps"         // of a test file: see [sleepsIn]
)

// tabWidth is the width of a tab in columns.
const tabWidth = 4

// measures are the figures of each kind, by their owner: a type PACKAGE.NAME, a file, a function FILE:NAME, or a
// package. The figure for columns is the number of lines in a file that are too long.
type measures struct {
	figures map[kind]map[string]int
	last    map[string]string   // by file: the place of the last line that is too long
	up      map[string][]string // by package: the arrows that lead up
	short   map[string][]string // by package: the short files

	alone map[string]bool // files that may be short: see [standsAlone]
}

// allKinds are the kinds in the order of [kind].
var allKinds = []kind{methods, fileLines, functionLines, columns, arrows, packageLines, packageFiles, fields,
	collaborators, namesByCase, shortFiles, letters, sleeps}

func newMeasures() *measures {
	m := &measures{figures: map[kind]map[string]int{}, last: map[string]string{}, up: map[string][]string{},
		short: map[string][]string{}, alone: map[string]bool{}}
	for _, k := range allKinds {
		m.figures[k] = map[string]int{}
	}
	return m
}

// add measures a file.
func (m *measures) add(name string, text []byte) error {
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	m.figures[fileLines][name] = len(lines)
	for i, line := range lines {
		if width(line) > widest && !strings.HasPrefix(line, "//go:generate ") { // a directive cannot be divided
			m.figures[columns][name]++
			m.last[name] = fmt.Sprintf("%s:%d", name, i+1)
		}
	}
	if path.Ext(name) == ".go" {
		return m.addGo(name, text)
	}
	return nil
}

// width returns the width of a line in columns.
func width(line string) int {
	return utf8.RuneCountInString(line) + (tabWidth-1)*strings.Count(line, "\t")
}

// byFolder returns m with the figures for columns added up by folder. A file with an exception of its own keeps its
// figure, and does not count for its folder.
func (m *measures) byFolder(exceptions map[string]exception) *measures {
	folders := &measures{figures: maps.Clone(m.figures), last: map[string]string{}, up: m.up, short: m.short}
	folders.figures[columns] = map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(m.figures[columns])) {
		owner := topFolder(name)
		if _, excepted := exceptions[name]; excepted {
			owner = name
		}
		folders.figures[columns][owner] += m.figures[columns][name]
		folders.last[owner] = m.last[name]
	}
	return folders
}

// topFolder returns a file's first folder, or "." for a file without one.
func topFolder(name string) string {
	folder, _, in := strings.Cut(name, "/")
	if !in {
		return "."
	}
	return folder
}

// addGo measures the declarations of a Go file.
func (m *measures) addGo(name string, text []byte) error {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	m.alone[name] = standsAlone(name, text)
	if !strings.HasSuffix(name, "_test.go") {
		m.figures[packageLines][path.Dir(name)] += m.figures[fileLines][name]
		m.figures[packageFiles][path.Dir(name)]++
	} else if count := sleepsIn(parsed); count > 0 {
		m.figures[sleeps][name] = count
	}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		receiver := receiverOf(f)
		if receiver != "" {
			m.figures[methods][path.Dir(name)+"."+receiver]++
		}
		called := strings.TrimPrefix(receiver+"."+f.Name.Name, ".")
		m.figures[functionLines][name+":"+called] = files.Position(f.End()).Line - files.Position(f.Pos()).Line + 1
	}
	return nil
}

// sleepsIn counts the calls of time.Sleep outside of the bubbles of testing/synctest. In a bubble such a call only
// moves the clock forward.
func sleepsIn(file *ast.File) (count int) {
	ast.Inspect(file, func(n ast.Node) bool {
		called, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch types.ExprString(called.Fun) {
		case "synctest.Test":
			return false
		case "time.Sleep":
			count++
		}
		return true
	})
	return count
}

// receiverOf returns the type of a method, without stars and type parameters, or "".
func receiverOf(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	t := f.Recv.List[0].Type
	for {
		switch expression := t.(type) {
		case *ast.StarExpr:
			t = expression.X
		case *ast.ParenExpr:
			t = expression.X
		case *ast.IndexExpr:
			t = expression.X
		case *ast.IndexListExpr:
			t = expression.X
		case *ast.Ident:
			return expression.Name
		default:
			return ""
		}
	}
}
