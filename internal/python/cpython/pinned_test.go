package cpython

import (
	"debug/elf"
	"fmt"
	"testing"

	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/code/isa"
	"ipytracer/internal/code/machine"
	"ipytracer/internal/code/machine/arm64"
	"ipytracer/internal/code/machine/x86"
)

// TestPinnedSites: in builds that have been looked at before, probes go where they went.
func TestPinnedSites(t *testing.T) {
	eachBuild(t, func(t *testing.T, b build, bin *Binary) { pinSites(t, b.name, b.path(), bin) })
}

// TestPinnedLibraries: the same for Debian's libraries, which programs that embed Python load.
func TestPinnedLibraries(t *testing.T) {
	elftest.Each(t, func(t *testing.T, tree elftest.Tree) {
		for _, file := range tree.Files("usr/lib/*-linux-gnu/libpython3.*.so.1.0") {
			f, _ := elftest.Open(t, file)
			bin, err := Open(f)
			if err != nil {
				t.Fatal(err)
			}
			pinSites(t, fmt.Sprintf("%s-libpython3.%d", tree.Name, bin.Version().Minor), file, bin)
		}
	})
}

// TestPinnedOthers: the same for programs for other machines.
func TestPinnedOthers(t *testing.T) {
	elftest.Others(t, func(t *testing.T, tree elftest.Tree) {
		for _, file := range tree.Files("usr/bin/python3.*") {
			f, _ := elftest.Open(t, file)
			bin, err := Open(f)
			if err != nil {
				t.Fatal(err)
			}
			pinSites(t, fmt.Sprintf("%s-3.%d", tree.Name, bin.Version().Minor), file, bin)
		}
	})
}

func pinSites(t *testing.T, name, file string, bin *Binary) {
	t.Helper()
	s, err := bin.Sites()
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{
		fmt.Sprintf("version %v, free-threaded %v, compile inlined %v, doubted %v", bin.Version(), bin.FreeThreaded(),
			s.CompileInlined, s.Doubted),
		pin("compile", s.Compile), pin("evaluate", s.EvalCode), pin("signal", s.SetSignal), pin("prompt", s.Prompt),
		pin("track", s.Track), pin("untrack", s.Untrack), pin("code freed", s.CodeFreed),
	}
	for _, c := range s.Compiles {
		lines = append(lines, pin("audit", c))
	}
	for _, e := range s.Ends {
		lines = append(lines, pin(fmt.Sprintf("end, argument %d", e.Argument), e.Site))
	}
	lines = append(lines, fmt.Sprintf("returns complete %v", s.EvalReturnsComplete))
	for _, r := range s.EvalReturns {
		where, c := results[bin.image.Machine()][r.Result].Name, r.Condition
		lines = append(lines, pin(fmt.Sprintf("return in %s, flags %#x of %#x", where, c.Value, c.Mask), r.Site))
	}
	elftest.Check(t, "cpython/"+name, file, lines)
	elftest.Check(t, "statements/"+name, file, []string{
		pin("exec", s.Statements.Exec), pin("behind exec", s.Statements.Behind), pin("eval", s.Statements.Eval),
	})
}

func pin(what string, s machine.Site) string {
	return elftest.Site{Symbol: s.Symbol, Delta: s.Delta, Offset: s.FileOffset, Pushed: s.Pushed,
		Emulated: s.Emulated}.Line(what)
}

// results are the places of functions' results, by processor.
var results = map[elf.Machine][]isa.Place{
	elf.EM_X86_64: x86.Architecture.Results, elf.EM_AARCH64: arm64.Architecture.Results,
}
