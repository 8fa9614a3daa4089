package libc

import (
	"debug/elf"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/code/isa"
	"ipytracer/internal/code/machine"
	"ipytracer/internal/code/machine/arm64"
	"ipytracer/internal/code/machine/x86"
)

// libraries are patterns of C libraries, C++'s and allocators in a system.
var libraries = []string{
	"lib/*-linux-gnu/libc.so.6", "lib/*-linux-gnu/libc-2.*.so", "usr/lib/*-linux-musl/libc.so",
	"usr/lib/*-linux-gnu/libstdc++.so.6.*", "usr/lib/*-linux-gnu/libjemalloc.so.2",
	"usr/lib/*-linux-gnu/libmimalloc.so.[23].*",
	"usr/lib/*-linux-gnu/libtcmalloc.so.4.*", "usr/lib/*-linux-gnu/libtcmalloc_minimal.so.4.*",
}

// TestPinnedSites: in builds that have been looked at before, probes go where they went.
func TestPinnedSites(t *testing.T) {
	elftest.Each(t, func(t *testing.T, tree elftest.Tree) {
		for _, pattern := range libraries {
			for _, file := range tree.Files(pattern) {
				base, _, _ := strings.Cut(filepath.Base(file), ".so")
				if strings.Contains(file, "musl") {
					base = "musl"
				}
				t.Run(base, func(t *testing.T) { pinLibrary(t, tree.Name+"-"+base, file) })
			}
		}
	})
}

func pinLibrary(t *testing.T, name, file string) {
	t.Helper()
	f, processor := elftest.Open(t, file)
	var lines []string
	calls, err := FindCalls(f)
	if err != nil {
		lines = append(lines, "no system calls for memory")
	}
	for _, s := range calls.Mmap {
		lines = append(lines, pin("mmap", s))
	}
	for _, s := range calls.Mremap {
		lines = append(lines, pin("mremap", s))
	}
	for _, fn := range functionsOf(t, f) {
		lines = append(lines, fmt.Sprintf("function %s, operation %d, complete %v", fn.Name, fn.Operation, fn.Complete),
			pin("  entry", fn.Entry), pin("  start", fn.Start))
		for _, r := range fn.Leaves {
			where, c := results[processor][r.Result].Name, r.Condition
			lines = append(lines, pin(fmt.Sprintf("  leaves with %s, flags %#x of %#x", where, c.Value, c.Mask),
				r.Site))
		}
	}
	elftest.Check(t, "libc/"+name, file, lines)
}

func pin(what string, s machine.Site) string {
	return elftest.Site{Symbol: s.Symbol, Delta: s.Delta, Offset: s.FileOffset, Pushed: s.Pushed,
		Emulated: s.Emulated}.Line(what)
}

// results are the places of functions' results, by processor.
var results = map[elf.Machine][]isa.Place{
	elf.EM_X86_64: x86.Architecture.Results, elf.EM_AARCH64: arm64.Architecture.Results,
}
