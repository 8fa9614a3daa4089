package elffile_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	// unpackers are packages that make many bytes of few, or read formats that only trusted files may have.
	unpackers = regexp.MustCompile(`^(debug/(dwarf|macho|pe|gosym|plan9obj|buildinfo)|archive/|compress/|` +
		`github\.com/klauspost/compress|github\.com/go-delve/)`)
	// names are those of debug/elf that are constants, numbers and layouts: none of them reads.
	names = regexp.MustCompile(`^(E[MTIV]_\w+|ELF\w+|SH[TFN]_\w+|P[TF]_\w+|DT_\w+|ST[TB]_\w+|COMPRESS_\w+|R_\w+|` +
		`ST_(TYPE|BIND|INFO)|Machine|Class|Data|Version|Type|Section(Type|Flag|Index)|Prog(Type|Flag)|Sym(Type|Bind)|` +
		`DynTag|(Header|Section|Prog|Sym|Rela|Chdr|Dyn)64)$`)
	// trusted are the files that unpack, and of what.
	trusted = map[string]string{
		"cmd/site/main.go":                         "packs only",
		"attribution/internal/windows/codec.go":    "what this program has packed itself",
		"event/recording/frame.go":                 "recordings, in frames of a bounded size",
		"event/recording/batch.go":                 "recordings, in frames of a bounded size",
		"event/recording/encode.go":                "packs only",
		"internal/report/html/pack.go":             "packs only",
		"internal/report/export/pprof.go":          "packs only",
		"python/python.go":                         "the wheel in this program",
		"internal/gpu/command.go":                  "the program in this program",
		"internal/code/elffile/elftest/hostile.go": "packs only, for tests",
	}
)

// TestNoUnpackers: no file of a process meets a reader that is made for trusted files, or anything that unpacks. Of
// debug/elf only constants, numbers and layouts are used. Package link of cilium/ebpf reads the symbols of a file where
// it is not given an offset: only the ledger uses it, which gives it one.
func TestNoUnpackers(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	seen, files := map[string]bool{}, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, one := range file.Imports {
			imported, _ := strconv.Unquote(one.Path.Value)
			switch {
			case unpackers.MatchString(imported):
				if seen[name] = true; trusted[name] == "" {
					t.Errorf("%s imports %s", name, imported)
				}
			case imported == "debug/elf" && one.Name != nil:
				t.Errorf("%s imports %s as %s", name, imported, one.Name)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if use, ok := n.(*ast.SelectorExpr); ok {
				from, _ := use.X.(*ast.Ident)
				if from != nil && from.Name == "elf" && !names.MatchString(use.Sel.Name) {
					t.Errorf("%s uses elf.%s", name, use.Sel.Name)
				}
				if use.Sel.Name == "OpenExecutable" && filepath.Dir(name) != "internal/ledger" {
					t.Errorf("%s uses %s", name, use.Sel.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || files < 500 {
		t.Errorf("%d files: %v", files, err)
	}
	for name := range trusted {
		if !seen[name] {
			t.Errorf("%s unpacks nothing any more", name)
		}
	}
}
