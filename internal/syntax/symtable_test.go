package syntax_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/syntax"
)

// TestSymtable compares the names that files read and bind with CPython's symtable: none that it has is missing, and
// few are there that it has not: words of strings for eval.
func TestSymtable(t *testing.T) {
	paths := pythonFiles(t)
	command := exec.Command("/usr/bin/python3", "testdata/names.py")
	command.Stdin = strings.NewReader(strings.Join(paths, "\n"))
	var failed bytes.Buffer
	command.Stderr = &failed
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, failed.String())
	}
	lines := strings.Split(string(output), "\n")
	all, more := 0, 0
	for i, path := range paths {
		reads, binds, unsure := strings.Fields(lines[3*i]), strings.Fields(lines[3*i+1]), strings.Fields(lines[3*i+2])
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		module, err := syntax.Parse(string(source))
		if err != nil || slices.Equal(reads, []string{"!"}) {
			continue // TestTrees has these
		}
		ourReads, ourBinds := allNames(syntax.Names(module.Body...))
		for _, name := range reads {
			if !ourReads[name] && !slices.Contains(unsure, name) {
				t.Errorf("%s: %s is read", path, name)
			}
		}
		for _, name := range binds {
			if !ourBinds[name] && !slices.Contains(unsure, name) {
				t.Errorf("%s: %s is bound", path, name)
			}
		}
		for name := range ourBinds {
			if !slices.Contains(binds, name) {
				t.Errorf("%s: %s is not bound", path, name)
			}
		}
		if strings.Contains(string(source), "from __future__ import annotations") {
			continue // symtable has no names of annotations then
		}
		for name := range ourReads {
			all++
			if !slices.Contains(reads, name) && !slices.Contains(unsure, name) {
				more++
				if os.Getenv("SYNTAX_MORE") != "" {
					t.Logf("%s: %s", path, name)
				}
			}
		}
	}
	t.Logf("%d files, %d names, %d of them not in symtable", len(paths), all, more)
	if more*50 > all {
		t.Errorf("%d of %d names are not in symtable", more, all)
	}
}

func allNames(u *syntax.Uses) (reads, binds map[string]bool) {
	reads, binds = map[string]bool{}, map[string]bool{}
	for _, use := range u.Reads {
		reads[use.Name] = true
	}
	for _, bind := range u.Binds {
		binds[bind.Name] = true
	}
	for _, f := range u.Functions {
		for _, use := range f.Reads {
			reads[use.Name] = true
		}
		for _, bind := range f.Binds {
			binds[bind.Name] = true
		}
	}
	return reads, binds
}

// pythonFiles returns the Python of this repository, or the files of SYNTAX_FILES.
func pythonFiles(t *testing.T) []string {
	t.Helper()
	if list := os.Getenv("SYNTAX_FILES"); list != "" {
		data, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(data))
	}
	paths := []string{"testdata/grammar/statements.py"}
	for _, pattern := range []string{"python/src/*/*.py", "testdata/notebooks/*.py", "testdata/workloads/*.py"} {
		found, err := filepath.Glob("../../" + pattern)
		if err != nil || found == nil {
			t.Fatal(pattern, err)
		}
		paths = append(paths, found...)
	}
	return paths
}
