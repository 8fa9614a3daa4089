package elftest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestParse(t *testing.T) {
	all, err := parse("# a word\nbuild aa libc6 2.36-9 amd64\nx 1\ny 2\n\nbuild bb\nx 3\n")
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	if a := all[0]; a.build != "aa" || a.version != "libc6 2.36-9 amd64" ||
		!slices.Equal(a.lines, []string{"x 1", "y 2"}) {
		t.Errorf("%+v", a)
	}
	if b := all[1]; b.header() != "build bb" || len(b.lines) != 1 {
		t.Errorf("%+v", b)
	}
	if _, err := parse("x 1\n"); err == nil {
		t.Error("a line of no build")
	}
}

func TestReplace(t *testing.T) {
	all := replace(nil, section{build: "aa", version: "p 1"})
	all = replace(all, section{build: "bb"})
	all = replace(all, section{build: "cc", version: "p 1", lines: []string{"x"}})
	all = replace(all, section{build: "bb", lines: []string{"y"}})
	if len(all) != 2 || all[0].build != "cc" || !slices.Equal(all[1].lines, []string{"y"}) {
		t.Errorf("%+v", all)
	}
}

func TestDifference(t *testing.T) {
	if d := difference([]string{"a", "b"}, []string{"a", "b"}); d != "" {
		t.Error(d)
	}
	if d := difference([]string{"a", "b"}, []string{"c", "b"}); d != "- a\n+ c" {
		t.Error(d)
	}
	if difference([]string{"a", "b"}, []string{"b", "a"}) == "" || difference([]string{"a"}, []string{"a", "a"}) == "" {
		t.Error("the same though not the same")
	}
}

// TestPackaged: a file is found in the dpkg database of the tree it lies in, by either of its names.
func TestPackaged(t *testing.T) {
	tree := t.TempDir()
	put := func(name, text string) string {
		file := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	put("var/lib/dpkg/status",
		"Package: other\nVersion: 1\n\nPackage: libc6\nArchitecture: amd64\nVersion: 2.36-9\n\nPackage: last\n"+
			"Version: 3\n")
	put("var/lib/dpkg/info/libc6:amd64.list", "/.\n/lib/libc.so.6\n")
	libc, stray := put("usr/lib/libc.so.6", "c"), put("usr/lib/stray", "s")
	if got := packaged(libc); got != "libc6 2.36-9 amd64" {
		t.Errorf("%q", got)
	}
	if got := packaged(stray); got != "" {
		t.Errorf("%q for a file of no package", got)
	}
	if a, b := identify(t, libc), identify(t, stray); a == b || a[:7] != "sha256:" {
		t.Errorf("%s, %s", a, b)
	}
}
