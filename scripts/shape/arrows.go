package main

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"strings"
)

// ordered are the packages with measured arrows. Each has more files than a reader can keep in mind.
var ordered = []string{"attribution", "attribution/internal/activity", "attribution/internal/audit",
	"attribution/internal/blocks", "attribution/internal/course", "attribution/internal/rows",
	"attribution/internal/stacks", "attribution/internal/timeline", "attribution/internal/windows", "tracer"}

// module is the path of the repository's module.
const module = "ipytracer"

// uses are the arrows of a package: by file and by the file that it uses, a name that this one declares.
type uses map[string]map[string]string

// addArrows counts, of packages, the arrows that lead up in the best order of their files.
func (m *measures) addArrows(packages ...string) error {
	files, exports, err := list(packages)
	if err != nil {
		return err
	}
	for _, p := range packages {
		set := token.NewFileSet()
		var parsed []*ast.File
		for _, name := range files[p] {
			f, err := parser.ParseFile(set, path.Join(p, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			parsed = append(parsed, f)
		}
		found, err := usesOf(set, parsed, importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
			return os.Open(exports[path])
		}))
		if err != nil {
			return err
		}
		m.up[p] = found.up()
		m.figures[arrows][p] = len(m.up[p])
	}
	return nil
}

// list returns the files of packages, and for each package that they import the file with its types.
func list(packages []string) (files map[string][]string, exports map[string]string, err error) {
	args := []string{"list", "-export", "-deps", "-f", `{{.ImportPath}}:{{.Export}}:{{join .GoFiles " "}}`}
	for _, p := range packages {
		args = append(args, "./"+p)
	}
	out, err := exec.Command("go", args...).Output()
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
		files[strings.TrimPrefix(parts[0], module+"/")] = strings.Fields(parts[2])
	}
	return files, exports, nil
}

// usesOf finds the arrows between the files of a package.
func usesOf(set *token.FileSet, files []*ast.File, imported types.Importer) (uses, error) {
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	checked, err := (&types.Config{Importer: imported}).Check("p", set, files, &info)
	if err != nil {
		return nil, err
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
	return all, nil
}
