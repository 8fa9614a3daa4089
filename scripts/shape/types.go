package main

import (
	"bytes"
	"go/ast"
	"go/token"
	"go/types"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// short is the least number of lines of a file that only one other file uses.
const short = 30

// addShortFiles counts the files of a package with fewer than [short] lines that exactly one other file of the package
// uses. Such a file should be merged into its user.
func (m *measures) addShortFiles(p string, found uses) {
	users := map[string]int{}
	for _, used := range found {
		for file := range used {
			users[file]++
		}
	}
	for file, count := range users {
		lines := m.figures[fileLines][p+"/"+file]
		isShort := lines > 0 && lines < short && !m.alone[p+"/"+file]
		if count == 1 && isShort {
			m.short[p] = append(m.short[p], file)
		}
	}
	slices.Sort(m.short[p])
	m.figures[shortFiles][p] = len(m.short[p])
}

// standsAlone reports whether a file may be short: it has the package's comment or a generator's directive, or it is
// only for some builds.
func standsAlone(name string, text []byte) bool {
	text = append([]byte("\n"), text...)
	return bytes.Contains(text, []byte("\n// Package ")) || bytes.Contains(text, []byte("\n//go:generate ")) ||
		bytes.Contains(text, []byte("\n//go:build ")) ||
		strings.HasSuffix(name, "_amd64.go") || strings.HasSuffix(name, "_arm64.go")
}

// shortLife is for how many lines a name may be in scope without counting for [letters].
const shortLife = 5

// addLetters computes how many of 100 names that a package declares have one letter and are in scope for more than
// shortLife lines. Receivers and variables of loops do not count.
func (m *measures) addLetters(p string, set *token.FileSet, files []*ast.File, defs map[*ast.Ident]types.Object) {
	exempt := map[*ast.Ident]bool{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil && len(n.Recv.List) == 1 {
					exemptNames(exempt, n.Recv.List[0].Names)
				}
			case *ast.RangeStmt:
				exemptLoop(exempt, n.Key, n.Value)
			case *ast.ForStmt:
				if begin, is := n.Init.(*ast.AssignStmt); is {
					exemptLoop(exempt, begin.Lhs...)
				}
			}
			return true
		})
	}
	long, all := 0, 0
	for name, declared := range defs {
		if name.Name == "_" || declared == nil {
			continue
		}
		all++
		if utf8.RuneCountInString(name.Name) == 1 && !exempt[name] && lives(set, declared) > shortLife {
			long++
		}
	}
	m.figures[letters][p] = 100 * long / max(all, 1)
}

func exemptNames(exempt map[*ast.Ident]bool, names []*ast.Ident) {
	for _, name := range names {
		exempt[name] = true
	}
}

func exemptLoop(exempt map[*ast.Ident]bool, names ...ast.Expr) {
	for _, name := range names {
		if name, is := name.(*ast.Ident); is {
			exempt[name] = true
		}
	}
}

// lives returns for how many lines an object is in scope. For a field or a method it returns [math.MaxInt].
func lives(set *token.FileSet, o types.Object) int {
	if o.Parent() == nil || !o.Parent().End().IsValid() {
		return math.MaxInt
	}
	return set.Position(o.Parent().End()).Line - set.Position(o.Pos()).Line + 1
}

// addCollaborators counts the fields and the collaborators of each struct of a package, and the types of the package
// whose name differs from another's only by case.
func (m *measures) addCollaborators(p string, checked *types.Package) {
	names := map[string]bool{}
	m.figures[namesByCase][p] = 0
	for _, name := range checked.Scope().Names() {
		declared, is := checked.Scope().Lookup(name).(*types.TypeName)
		if !is || declared.IsAlias() {
			continue
		}
		if names[strings.ToLower(name)] {
			m.figures[namesByCase][p]++
		}
		names[strings.ToLower(name)] = true
		if s, is := declared.Type().Underlying().(*types.Struct); is {
			if named, is := declared.Type().(*types.Named); is && hasState(named) {
				m.figures[fields][p+"."+name] = hidden(s)
			}
			m.figures[collaborators][p+"."+name] = collaboratorsOf(s, declared)
		}
	}
}

// hidden counts the unexported fields of a struct.
func hidden(s *types.Struct) (count int) {
	for field := range s.Fields() {
		if !field.Exported() {
			count++
		}
	}
	return count
}

// collaboratorsOf counts the types of a struct's package that the struct's fields have, without the struct's own type.
// It counts only interfaces, and types with a state.
func collaboratorsOf(s *types.Struct, owner *types.TypeName) int {
	held := map[*types.TypeName]bool{}
	for field := range s.Fields() {
		for _, t := range elements(field.Type(), 0) {
			if t.Obj().Pkg() == owner.Pkg() && t.Obj() != owner && (types.IsInterface(t) || hasState(t)) {
				held[t.Obj()] = true
			}
		}
	}
	return len(held)
}

// maxDepth is how deep elements looks into a type.
const maxDepth = 8

// elements returns the named types in a type: behind pointers, and in arrays, slices, maps and channels.
func elements(t types.Type, depth int) []*types.Named {
	if depth > maxDepth {
		return nil
	}
	switch composite := t.(type) {
	case *types.Named:
		return []*types.Named{composite.Origin()}
	case *types.Map:
		return append(elements(composite.Key(), depth+1), elements(composite.Elem(), depth+1)...)
	case interface{ Elem() types.Type }:
		return elements(composite.Elem(), depth+1)
	}
	return nil
}

// hasState reports whether a type has a method whose receiver is a pointer, which can change the value.
func hasState(t *types.Named) bool {
	for method := range t.Methods() {
		if _, pointer := method.Signature().Recv().Type().(*types.Pointer); pointer {
			return true
		}
	}
	return false
}
