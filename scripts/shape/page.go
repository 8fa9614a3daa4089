package main

// This part writes docs/packages.md: every Go package of the repository with its purpose and its libraries. The purpose
// is the first sentence of the package's comment. It fails if an import breaks a rule of the architecture's layers
// (layers.go), or if a library has no short name there.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// pagePath is the page of packages.
const pagePath = "docs/packages.md"

// page writes the page, or fails if the page is not up to date.
func page(write bool) error {
	packages, err := listPackages()
	if err != nil {
		return err
	}
	text, err := document(packages)
	if err != nil {
		return err
	}
	if write {
		return os.WriteFile(pagePath, text, 0o644)
	}
	written, err := os.ReadFile(pagePath)
	if err != nil {
		return err
	}
	if !bytes.Equal(written, text) {
		return fmt.Errorf("%s is not up to date: go run ./scripts/shape -write, and look at what changes",
			pagePath)
	}
	return nil
}

// goPackage is a package as `go list -json` describes it. A package of the repository has its path in the module.
type goPackage struct {
	ImportPath, Doc string
	Imports         []string
}

// listPackages returns the packages of the repository by path. The imports of cmd/tracer/internal/service are those of
// the build with the tag agent and of the build without.
func listPackages() (map[string]*goPackage, error) {
	packages := map[string]*goPackage{}
	for _, args := range [][]string{{"./..."}, {"-tags", "agent", "./cmd/tracer/internal/service"}} {
		out, err := exec.Command("go", append([]string{"list", "-json=ImportPath,Doc,Imports"}, args...)...).Output()
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
			var p goPackage
			if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("go list: %w", err)
			}
			p.ImportPath = strings.TrimPrefix(p.ImportPath, module+"/")
			if known := packages[p.ImportPath]; known != nil {
				known.Imports = append(known.Imports, p.Imports...)
				continue
			}
			packages[p.ImportPath] = &p
		}
	}
	return packages, nil
}

const head = "# Packages\n\n" +
	"Every Go package, its purpose, and the libraries that it imports, tests left out. `go run\n" +
	"./scripts/shape -write` writes this page from the packages, and `make check` fails where it is not up\n" +
	"to date. Events come from the kernel half, go through recordings and `attribution` into `model`, and\n" +
	"printers show that: `scripts/shape/layers.go` says who may import whom, and has the libraries behind\n" +
	"the short names.\n\n"

// document returns the page. It fails if a package has no comment, or breaks a rule.
func document(packages map[string]*goPackage) ([]byte, error) {
	text := bytes.NewBufferString(head)
	var faults []error
	for _, path := range slices.Sorted(maps.Keys(packages)) {
		p := packages[path]
		if p.Doc == "" {
			faults = append(faults, fmt.Errorf("%s has no comment", path))
		}
		names, err := p.libraries()
		faults = append(faults, err, p.checkLayers())
		libraries := ""
		if len(names) > 0 {
			libraries = " (" + strings.Join(names, ", ") + ")"
		}
		fmt.Fprintf(text, "- `%s`: %s%s\n", path, purpose(path, p.Doc), libraries)
	}
	return text.Bytes(), errors.Join(faults...)
}

// libraries returns the sorted short names of the libraries that p imports, without the standard library.
func (p *goPackage) libraries() (names []string, err error) {
	for _, path := range p.Imports {
		if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
			continue // the standard library, or this module
		}
		name := shortName(path)
		if name == "" {
			return nil, fmt.Errorf("%s imports %s, which has no short name in scripts/shape/layers.go",
				p.ImportPath, path)
		}
		names = append(names, "`"+name+"`")
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// purpose returns a package's purpose: the first sentence of its comment without the first words "Package NAME",
// "Command NAME" or "NAME".
func purpose(path, doc string) string {
	words := strings.Fields(doc)
	for len(words) > 0 && (words[0] == "Package" || words[0] == "Command" ||
		strings.EqualFold(words[0], path[strings.LastIndex(path, "/")+1:])) {
		words = words[1:]
	}
	return strings.TrimSuffix(strings.Join(words, " "), ".")
}
