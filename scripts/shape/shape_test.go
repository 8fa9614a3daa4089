package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

const onlyLimits = "methods * 2\nfile-lines * 6\nfunction-lines * 3\ncolumns * 0\narrows * 1\n" +
	"package-lines * 10\npackage-files * 2\nfields * 2\ncollaborators * 1\nnames-by-case * 0\nshort-files * 0\n" +
	"letters * 0\nsleeps * 0\n"

func TestJudge(t *testing.T) {
	threeMethods := "package a\n\ntype T struct{}\n\nfunc (t *T) a() {}\nfunc (T) b()    {}\n"
	for name, c := range map[string]struct {
		limits string
		files  map[string]string
		want   []string
	}{
		"within": {"", map[string]string{"a/a.go": threeMethods}, nil},
		"methods of two files of one type": {"",
			map[string]string{"a/a.go": threeMethods, "a/b.go": "package a\n\nfunc (t *T) c() {}\n"},
			[]string{"a.T: methods is 3, and may be 2"}},
		"one name in two packages": {"",
			map[string]string{"a/a.go": threeMethods, "b/b.go": "package b\n\nfunc (t *T) c() {}\n"}, nil},
		"type parameters": {"",
			map[string]string{"a/a.go": "package a\n\nfunc (t *T[K]) a() {}\nfunc (t T[K]) b() {}\n",
				"a/b.go": "package a\n\nfunc (t *T[K]) c() {}\n"},
			[]string{"a.T: methods is 3, and may be 2"}},
		"excepted": {"methods a.T 3 is taken apart\n",
			map[string]string{"a/a.go": threeMethods, "a/b.go": "package a\n\nfunc (t *T) c() {}\n"}, nil},
		"excepted, and too much": {"methods a.T 3 is taken apart\n",
			map[string]string{"a/a.go": threeMethods,
				"a/b.go": "package a\n\nfunc (t *T) c() {}\nfunc (t *T) d() {}\n"},
			[]string{"a.T: methods is 4, and may be 3"}},
		"better than its exception": {"methods a.T 3 is taken apart\n", map[string]string{"a/a.go": threeMethods},
			[]string{"a.T: methods is 2 now: lower its exception of 3, or take it out"}},
		"an exception that nobody needs": {
			"methods a.T 2 is taken apart\n", map[string]string{"a/a.go": threeMethods},
			[]string{"a.T: methods is 2, and needs no exception"},
		},
		"an exception of nothing": {"file-lines b.py 9 is long\n", map[string]string{"a/a.go": threeMethods},
			[]string{"b.py: file-lines has an exception, and is not there"}},
		"a long file": {"", map[string]string{"a.py": strings.Repeat("x\n", 7)},
			[]string{"a.py: file-lines is 7, and may be 6"}},
		"a long package": {"", map[string]string{"a/a.go": "package a\n\n\n\n\n\n", "a/b.go": "package a\n\n\n\n\n",
			"a/b_test.go": "package a\n\n\n\n"}, []string{"a: package-lines is 11, and may be 10"}},
		"a package of many files": {"", map[string]string{"a/a.go": "package a\n", "a/b.go": "package a\n",
			"a/c.go": "package a\n", "a/c_test.go": "package a\n"},
			[]string{"a: package-files is 3, and may be 2"}},
		"a test that sleeps": {"", map[string]string{"a/a_test.go": "package a\n\nfunc f() { time.Sleep(1) }\n",
			"a/a.go": "package a\n\nfunc f() { time.Sleep(1) }\n"},
			[]string{"a/a_test.go: sleeps is 1, and may be 0"}},
		"a test that sets the clock forward": {"", map[string]string{
			"a/a_test.go": "package a\n\nfunc f() { synctest.Test(t, func() { time.Sleep(1) }) }\n"}, nil},
		"a long function": {"", map[string]string{"a.go": "package a\n\nfunc a() {\n\t_ = 1\n\t_ = 2\n}\n"},
			[]string{"a.go:a: function-lines is 4, and may be 3"}},
	} {
		t.Run(name, func(t *testing.T) { checkJudgement(t, c.limits, c.files, c.want) })
	}
}

func TestJudgeColumns(t *testing.T) {
	for name, c := range map[string]struct {
		limits string
		files  map[string]string
		want   []string
	}{
		"long lines of a file of its own": {
			"columns a/a.py 2 is generated\ncolumns a 1 is old\n",
			map[string]string{
				"a/a.py": strings.Repeat(strings.Repeat("x", 121)+"\n", 2),
				"a/b.py": strings.Repeat("x", 121),
			},
			nil,
		},
		"too many long lines of a file of its own": {
			"columns a/b.py 1 is generated\n",
			map[string]string{"a/b.py": strings.Repeat(strings.Repeat("x", 121)+"\n", 2)},
			[]string{"a/b.py: columns is 2, and may be 1 lines of over 120 columns; the last one is a/b.py:2"},
		},
		"a file of its own without long lines": {
			"columns a/b.py 1 is generated\n", map[string]string{"a/b.py": "x\n"},
			[]string{"a/b.py: columns has an exception, and is not there"},
		},
		"a directive": {
			"", map[string]string{"a/a.go": "package a\n\n" +
				"//go:generate go run " + strings.Repeat("x", 121) + "\n"}, nil,
		},
		"long lines": {"", map[string]string{"a/a.py": strings.Repeat("é", 121) + "\n",
			"a/b.py": "\t" + strings.Repeat("x", 117) + "\n" + strings.Repeat("é", 120)},
			[]string{"a: columns is 2, and may be 0 lines of over 120 columns; the last one is a/b.py:1"}},
	} {
		t.Run(name, func(t *testing.T) { checkJudgement(t, c.limits, c.files, c.want) })
	}
}

// checkJudgement wants complaints about files under onlyLimits and more limits.
func checkJudgement(t *testing.T, more string, files map[string]string, want []string) {
	t.Helper()
	l, err := readLimits(strings.NewReader(onlyLimits + more))
	if err != nil {
		t.Fatal(err)
	}
	m := newMeasures()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := m.add(name, []byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.judge(m); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReadLimits(t *testing.T) {
	for _, bad := range []string{"", "methods * 2", onlyLimits + "methods a.T", onlyLimits + "methods a.T many reason",
		onlyLimits + "methods a.T -1 reason", onlyLimits + "methods a.T 3",
		onlyLimits + "width * 2", onlyLimits + "methods a.T 3 reason\nmethods a.T 4 reason"} {
		if _, err := readLimits(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

func TestSources(t *testing.T) {
	for name, want := range map[string]bool{"a/b.go": true, "a.py": true,
		"internal/report/html/page/dist/page.js": false, "internal/report/html/page/dist/x.ts": false,
		"a/built/x.mjs": false, "a.md": false} {
		if isSource(name) != want {
			t.Errorf("isSource(%q) is %v", name, !want)
		}
	}
	if !isGenerated([]byte("// Code generated by bpf2go; DO NOT EDIT.\npackage a\n")) ||
		isGenerated([]byte("package a\n")) {
		t.Error("marks of generated files are not seen")
	}
}
