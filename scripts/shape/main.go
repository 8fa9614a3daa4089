// Shape measures the sources of a repository and fails if a figure is over its limit. It measures methods, fields and
// collaborators of a type, lines of a file, of a function and of a package, files of a package, columns of a line,
// types whose names differ only by case, short files that only one other file uses, names of one letter, tests that
// sleep, and files that use one another in circles. Limits and exceptions are in limits.txt, which explains their
// format. The figure of an exception may only fall, and the exception must be lowered then.
//
// It also has the page of all packages (docs/packages.md), and fails if the page is not up to date.
//
//	go run ./scripts/shape        # in the repository
//	go run ./scripts/shape -write # writes the page
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"strings"
)

func main() {
	limits := flag.String("limits", "scripts/shape/limits.txt", "the limits, and their exceptions")
	write := flag.Bool("write", false, "write "+pagePath+" and measure nothing")
	flag.Parse()
	if err := page(*write); err != nil {
		fmt.Fprintln(os.Stderr, "shape:", err)
		os.Exit(1)
	}
	if *write {
		return
	}
	complaints, err := check(*limits)
	if err != nil {
		fmt.Fprintln(os.Stderr, "shape:", err)
		os.Exit(2)
	}
	for _, c := range complaints {
		fmt.Fprintln(os.Stderr, c)
	}
	if len(complaints) > 0 {
		os.Exit(1)
	}
}

// check returns the complaints about the repository.
func check(limits string) ([]string, error) {
	file, err := os.Open(limits)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	l, err := readLimits(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", limits, err)
	}
	m := newMeasures()
	if err := measure(m); err != nil {
		return nil, err
	}
	if err := m.addPackages(); err != nil {
		return nil, err
	}
	return l.judge(m), nil
}

// atRoot are the files that may be in the repository's root.
var atRoot = map[string]bool{
	".gitattributes": true, ".gitignore": true, ".golangci.yml": true, ".prettierignore": true,
	".prettierrc.json": true, "CHANGELOG.md": true, "CONTRIBUTING.md": true, "LICENSE": true, "Makefile": true,
	"NOTICE": true, "README.md": true, "SECURITY.md": true, "VERSION": true, "go.mod": true, "go.sum": true,
	"ruff.toml": true,
}

// measure measures the repository's tracked files.
func measure(m *measures) error {
	out, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if !strings.Contains(name, "/") && !atRoot[name] {
			return fmt.Errorf("%s: the root of the repository has other files only", name)
		}
		if !isSource(name) {
			continue
		}
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and not yet committed
		}
		if err != nil {
			return err
		}
		if isGenerated(text) {
			continue
		}
		if err := m.add(name, text); err != nil {
			return err
		}
	}
	return nil
}

// isSource reports whether a file of this name is source code that people write.
func isSource(name string) bool {
	if strings.Contains(name, "/dist/") || strings.Contains(name, "/built/") {
		return false
	}
	switch path.Ext(name) {
	case ".go", ".py", ".ts", ".tsx", ".mjs", ".c", ".h", ".cpp", ".sh":
		return true
	}
	return false
}

// isGenerated reports whether a file's first lines have Go's mark of generated code.
func isGenerated(text []byte) bool {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 0; n < 5 && lines.Scan(); n++ {
		if strings.Contains(lines.Text(), "Code generated") && strings.Contains(lines.Text(), "DO NOT EDIT") {
			return true
		}
	}
	return false
}
