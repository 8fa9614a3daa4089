package cpython

import (
	"debug/elf"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/code/machine"
)

// The places of functions: one that is looked at, and an exported and a hidden one that it may jump to.
const (
	codeAt   = fakeText + 0x200
	publicAt = fakeText + 0x900
	hiddenAt = fakeText + 0xa00
)

// rel32 is the displacement of a jump that ends at codeAt+end.
func rel32(target, end int) []byte { return elftest.Word32(uint32(int32(target - codeAt - end))) }

func TestSitesBehindAThunk(t *testing.T) {
	code := slices.Concat([]byte{0xf3, 0x0f, 0x1e, 0xfa, 0x45, 0x31, 0xc9, 0xe9}, rel32(hiddenAt, 12))
	f := fakePython(0x030f02f0, false, fake("Py_CompileStringObject", codeAt, uint64(len(code)), code))
	f.Symbols = append(f.Symbols, fake("hidden", hiddenAt, 0, []byte{0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0xc3}))
	b, err := openFake(f)
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.Sites()
	if err != nil {
		t.Fatal(err)
	}
	if want := (machine.Site{Symbol: "Py_CompileStringObject", Delta: 4, Address: fakeBase + hiddenAt + 4,
		FileOffset: hiddenAt + 4, Emulated: true}); s.Compile != want || s.CompileInlined {
		t.Errorf("Compile = %+v, %v, want %+v", s.Compile, s.CompileInlined, want)
	}
	if s.Track.Present() || !s.EvalCode.Present() {
		t.Errorf("Track = %+v, EvalCode = %+v", s.Track, s.EvalCode)
	}
}

// TestSitesOfBuilds checks every site of the real builds, and the distances from the entry where the build
// is one that does not change.
func TestSitesOfBuilds(t *testing.T) {
	deltas := map[string][]int32{ // on x86-64: compile, eval, stop iteration, set signal, track, untrack, code freed
		"bookworm-3.11": {0, 0, 3, 0, 7, 7, 0},
		"bullseye-3.9":  {0, 30, 0, 0, 7, 7, 0},
		"trixie-3.13":   {4, 4, 7, 4, 4, 4, 4},
		"plain-3.13":    {0, 0, 0, 0, 0, 0, 0},
		"sid-3.14":      {4, 4, 7, 4, 4, 4, 4},
		"sid-3.15":      {4, 4, 4, 4, 4, 4, 4},
		"pbs-3.11":      {0, 0, 0, 0, 11, 11, 0},
		"pbs-3.14":      {0, 0, 0, 0, 0, 0, 0},
		"pyenv-3.10":    {0, 0, 0, 0, 0, 12, 0},
		"pyenv-3.12":    {0, 0, 0, 0, 0, 0, 0},
	}
	if elffile.Native != elf.EM_X86_64 {
		deltas = nil
	}
	eachBuild(t, func(t *testing.T, b build, bin *Binary) {
		s, err := bin.Sites()
		if err != nil {
			t.Fatal(err)
		}
		for i, site := range []machine.Site{s.Compile, s.EvalCode, s.Ends[0].Site, s.SetSignal,
			s.Track, s.Untrack, s.CodeFreed} {
			if site.Symbol == endSymbol && b.name == "plain-3.13" && site.Delta == 0 {
				continue // single-stepped, and hardly ever called: its callers have its body
			}
			if known := deltas[b.name]; known != nil && (!site.Emulated || site.Delta != known[i]) {
				t.Errorf("%+v, want delta %d", site, known[i])
			}
			if !site.Present() {
				t.Errorf("site %d is missing", i)
			}
		}
		want := 1
		switch b.name {
		case "bullseye-3.9": // two parsers
			want = 2
		case "plain-3.9": // which has its code in all of their callers
			want = 7
		case "pbs-3.14": // copies of the function, as BOLT makes them
			want = 4
		}
		if len(s.Compiles) != want || !s.Compiles[0].Emulated {
			t.Errorf("calls of PySys_Audit that compile: %+v", s.Compiles)
		}
		if s.CompileInlined {
			t.Error("CompileInlined is for libpython3.15 only")
		}
		// a build that is made here may be compiled otherwise: then evals cost more
		if !s.Statements.Present() && !strings.HasPrefix(b.tree, "builds") {
			t.Error("calls of PyEval_EvalCode in exec() and eval() were not found")
		}
		if !s.EvalReturnsComplete {
			t.Errorf("returns of PyEval_EvalCode are not complete: %+v", s.EvalReturns)
		}
	})
}
