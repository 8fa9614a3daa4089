package elftest

// [Check] compares the findings of an analysis in real files, such as the places of probes, with the lines in
// testdata/sites.
//
// A golden file has a section for each build of a file, identified by its build id, or by its SHA-256 if it has none.
// Builds come and go, so a build without a section is no error. But it is an error if another section is for the same
// version of the Debian package, because that should be the same file. With -pin, Check adds or replaces a section, and
// removes none.

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var pin = flag.Bool("pin", false, "pin what is found")

// section has the pinned lines of one build.
type section struct {
	build   string
	version string // of the Debian package, or ""
	lines   []string
}

// header returns the first line of the section.
func (s section) header() string { return strings.TrimSpace("build " + s.build + " " + s.version) }

// Check compares lines with those that are pinned for this build of a file. name is the golden file's, such as
// "cpython/trixie-3.13".
func Check(t *testing.T, name, file string, lines []string) {
	t.Helper()
	golden := filepath.Join(root(t), "testdata", "sites", filepath.FromSlash(name)+".golden")
	raw, err := os.ReadFile(golden)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	sections, err := parse(string(raw))
	if err != nil {
		t.Fatalf("%s: %v", golden, err)
	}
	found := section{build: identify(t, file), version: packaged(file), lines: lines}
	if *pin {
		write(t, golden, replace(sections, found))
		return
	}
	for _, s := range sections {
		if s.build == found.build {
			if diff := difference(s.lines, lines); diff != "" {
				t.Errorf("%s: not what %s has pinned (-pin pins it):\n%s", file, golden, diff)
			}
			return
		}
	}
	for _, s := range sections {
		if s.version != "" && s.version == found.version {
			t.Errorf("%s: %s has another build id than %s has pinned: %s, not %s", file, s.version, golden, found.build,
				s.build)
			return
		}
	}
	t.Logf("%s is not pinned: build %s %s", file, found.build, found.version)
}

// parse reads a golden file.
func parse(text string) (sections []section, err error) {
	for n, line := range strings.Split(text, "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "build "):
			build, version, _ := strings.Cut(strings.TrimPrefix(line, "build "), " ")
			sections = append(sections, section{build: build, version: version})
		case len(sections) == 0:
			return nil, fmt.Errorf("line %d comes before the first build", n+1)
		default:
			last := &sections[len(sections)-1]
			last.lines = append(last.lines, line)
		}
	}
	return sections, nil
}

// replace replaces the section of the same build, or of the same version of the package, by another one. If there is no
// such section, it appends the new one.
func replace(sections []section, with section) []section {
	same := func(s section) bool { return s.build == with.build || s.version != "" && s.version == with.version }
	if i := slices.IndexFunc(sections, same); i >= 0 {
		sections[i] = with
		return sections
	}
	return append(sections, with)
}

func write(t *testing.T, golden string, sections []section) {
	t.Helper()
	var parts []string
	for _, s := range sections {
		parts = append(parts, strings.Join(append([]string{s.header()}, s.lines...), "\n")+"\n")
	}
	if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(golden, []byte(strings.Join(parts, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// difference lists the lines that are in only one of two lists. It returns "" if the lists are equal.
func difference(pinned, found []string) string {
	if slices.Equal(pinned, found) {
		return ""
	}
	var out []string
	for _, line := range pinned {
		if !slices.Contains(found, line) {
			out = append(out, "- "+line)
		}
	}
	for _, line := range found {
		if !slices.Contains(pinned, line) {
			out = append(out, "+ "+line)
		}
	}
	if len(out) == 0 {
		return "the same lines, but in another order or repeated"
	}
	return strings.Join(out, "\n")
}

// root returns the repository's folder. It looks for go.mod from the package's folder upwards, in which tests run.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above this package")
		}
	}
}

// Site is a probe's site, with what a pinned line says about it.
type Site struct {
	Symbol   string
	Delta    int32  // from the symbol
	Offset   uint64 // in the file
	Pushed   int32
	Emulated bool
}

// Line returns the pinned line for a site with its purpose.
func (s Site) Line(what string) string {
	if s.Symbol == "" && s.Offset == 0 {
		return what + ": none"
	}
	cost := "stepped"
	if s.Emulated {
		cost = "emulated"
	}
	return fmt.Sprintf("%s: %s%+d at %#x, %d pushed, %s", what, s.Symbol, s.Delta, s.Offset, s.Pushed, cost)
}
