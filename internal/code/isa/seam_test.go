package isa_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Words that are one processor's: in Go, and in the kernel half.
var (
	goWords = regexp.MustCompile(`(?i)x86|amd64|aarch64|arm64|` +
		`\b([re](ax|bx|cx|dx|di|si|sp|bp)|endbr64|int3|orig_ax|pt_regs|` +
		`adrp|blr|ldp|stp|svc|paciasp|autiasp|x(1[6-9]|2[0-9]|30))\b`)
	cWords = regexp.MustCompile(`\bregs\)?->|x86|arm64|fsbase|\b__NR_|#define[ \t]+PAGE\b`)
)

// may are the files that have such words for a reason; the rest of a processor is in files with its name.
var may = map[string]string{
	"internal/code/isa/seam_test.go":           "looks for them",
	"internal/code/machine/architectures.go":   "lists the architectures",
	"internal/code/elffile/processors.go":      "lists the processors",
	"internal/code/elffile/relocationkinds.go": "lists the kinds of relocations of each",
	"internal/report/reporttest/notebook.go":   "has the path of a library, which goldens show",
	"scripts/shape/layers.go":                  "names a library",
	"scripts/shape/types.go":                   "knows the endings of such files",
	"e2e/storms/align.go":                      "compiles a BPF object for each of them",
	"internal/ledger/gen.go":                   "compiles a BPF object for each of them",
	"bpf/machine.h":                            "is what depends on the processor",
}

// TestSeam: no file knows a processor but those of a processor: the packages below internal/code/machine, files with a
// processor's name, and generated ones. Tests are not looked at: they hold code of a processor, and files of the
// machine they run on.
func TestSeam(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	met := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if d.IsDir() {
			switch {
			case d.Name() == ".git", d.Name() == "node_modules", d.Name() == "testdata",
				name == "internal/code/machine/x86", name == "internal/code/machine/arm64":
				return filepath.SkipDir
			}
			return nil
		}
		words := wordsOf(name)
		if words == nil {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(data), "\n") {
			switch word := words.FindString(line); {
			case word == "":
			case may[name] != "":
				met[name] = true
			default:
				t.Errorf("%s:%d: %q is one processor's: %s", name, i+1, word, strings.TrimSpace(line))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range may {
		if !met[name] && wordsOf(name) != nil {
			t.Errorf("%s has no such word any more: take it out of the list", name)
		}
	}
}

// wordsOf returns the words that a file must not have, nil for files that are not looked at.
func wordsOf(name string) *regexp.Regexp {
	base := filepath.Base(name)
	switch {
	case strings.HasSuffix(base, "_test.go"), strings.HasSuffix(base, "_amd64.go"),
		strings.HasSuffix(base, "_arm64.go"), strings.HasSuffix(base, "_bpfel.go"),
		strings.HasSuffix(base, "_x86.h"), strings.HasSuffix(base, "_arm64.h"):
		return nil
	case strings.HasSuffix(base, ".go"):
		return goWords
	case strings.HasPrefix(name, "bpf/") && (strings.HasSuffix(base, ".h") || strings.HasSuffix(base, ".c")):
		return cWords
	}
	return nil
}
