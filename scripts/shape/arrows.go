package main

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// module is the path of the repository's module.
const module = "ipytracer"

// uses are the arrows between the files of a package. uses[file][other] is a name that file uses and other declares, or
// "" if there is none.
type uses map[string]map[string]string

// addPackages takes the measures for which a package must be type-checked: the arrows between its files, its short
// files, the collaborators of its structs, and its names of one letter.
func (m *measures) addPackages() error {
	files, exports, err := list()
	if err != nil {
		return err
	}
	for _, p := range slices.Sorted(maps.Keys(files)) {
		set := token.NewFileSet()
		var parsed []*ast.File
		for _, name := range files[p] {
			f, err := parser.ParseFile(set, path.Join(p, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			parsed = append(parsed, f)
		}
		open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
		found, info, err := usesOf(set, parsed, importer.ForCompiler(set, "gc", open))
		if err != nil {
			return err
		}
		m.addArrows(p, found)
		m.addShortFiles(p, found)
		m.addCollaborators(p, info.pkg)
		m.addLetters(p, set, parsed, info.defs)
	}
	return nil
}

// many is the least number of files of a package whose arrows are measured. A reader can keep fewer files in mind.
const many = 10

// addArrows computes how many of 100 arrows of a package lead up in the best order of its files.
func (m *measures) addArrows(p string, found uses) {
	if m.figures[packageFiles][p] < many {
		return
	}
	total := 0
	for _, used := range found {
		total += len(used)
	}
	m.up[p] = found.up()
	m.figures[arrows][p] = 100 * len(m.up[p]) / max(total, 1)
}

// list returns the files of each package of the repository, and the file with the types of each package that these
// import.
func list() (files map[string][]string, exports map[string]string, err error) {
	args := []string{"list", "-export", "-deps", "-f", `{{.ImportPath}}:{{.Export}}:{{join .GoFiles " "}}`, "./..."}
	command := exec.Command("go", args...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0") // Go files with cgo are not type-checked
	out, err := command.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go list: %w", err)
	}
	files, exports = map[string][]string{}, map[string]string{}
	for line := range strings.Lines(string(out)) {
		parts := strings.Split(strings.TrimSpace(line), ":")
		if len(parts) != 3 {
			return nil, nil, fmt.Errorf("go list says %q", line)
		}
		exports[parts[0]] = parts[1]
		if p, ours := strings.CutPrefix(parts[0], module+"/"); ours {
			files[p] = strings.Fields(parts[2])
		}
	}
	return files, exports, nil
}

// checkedPackage is a package with the objects that its files declare.
type checkedPackage struct {
	pkg  *types.Package
	defs map[*ast.Ident]types.Object
}

// usesOf type-checks a package, and returns the arrows between its files.
func usesOf(set *token.FileSet, files []*ast.File, imported types.Importer) (uses, *checkedPackage, error) {
	info := types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	checked, err := (&types.Config{Importer: imported}).Check("p", set, files, &info)
	if err != nil {
		return nil, nil, err
	}
	fileOf := func(at token.Pos) string { return path.Base(set.Position(at).Filename) }
	all := uses{}
	for name, object := range info.Uses {
		if object.Pkg() != checked || !object.Pos().IsValid() {
			continue
		}
		from, to := fileOf(name.Pos()), fileOf(object.Pos())
		if from == to {
			continue
		}
		if all[from] == nil {
			all[from] = map[string]string{}
		}
		if known := all[from][to]; known == "" || object.Name() < known {
			all[from][to] = object.Name()
		}
	}
	return all, &checkedPackage{checked, info.Defs}, nil
}
