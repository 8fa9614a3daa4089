package cpython

import (
	"debug/elf"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/code/elffile"
)

// TestEndsOfBuilds: where GCC has put the body of _PyGen_SetStopIterationValue into its callers each of these calls is
// a site, elsewhere the function is the only one. No function is doubted in any build with correct cells.
func TestEndsOfBuilds(t *testing.T) {
	inlined := map[string]int{"plain-3.13": 12, "bookworm-3.11": 1, "pyenv-3.12": 2}
	if elffile.Native != elf.EM_X86_64 {
		inlined = map[string]int{"plain-3.13": 12}
	}
	eachBuild(t, func(t *testing.T, b build, bin *Binary) {
		s, err := bin.Sites()
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Ends) == 0 || s.Ends[0].Symbol != endSymbol || s.Ends[0].Argument != FirstArgument {
			t.Fatalf("ends: %+v", s.Ends)
		}
		if got := len(s.Ends) - 1; got != inlined[b.name] && !strings.HasPrefix(b.tree, "builds") ||
			got < inlined[b.name] {
			t.Errorf("%d calls in place of the function, want %d: %+v", got, inlined[b.name], s.Ends)
		}
		for _, e := range s.Ends[1:] {
			if e.Argument != SecondArgument || !e.Emulated {
				t.Errorf("%+v", e)
			}
		}
		if len(s.Doubted) > 0 {
			t.Errorf("doubted: %v", s.Doubted)
		}
	})
}

// TestEndsWithoutName: where a build does not export _PyGen_SetStopIterationValue its body is one more place among
// those in its callers; also in one that BOLT has gone through, where code lies behind the data (pbs-3.14).
func TestEndsWithoutName(t *testing.T) {
	eachBuild(t, func(t *testing.T, b build, bin *Binary) {
		named, err := bin.Sites()
		if err != nil {
			t.Fatal(err)
		}
		delete(bin.image.Symbols, endSymbol)
		s, err := bin.Sites()
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Ends) < len(named.Ends) {
			t.Errorf("%d calls, with the name %d: %+v", len(s.Ends), len(named.Ends)-1, s.Ends)
		}
		for _, e := range s.Ends {
			if e.Argument != SecondArgument || e.Symbol != stopSymbol {
				t.Errorf("%+v", e)
			}
		}
	})
}

// TestUncalledFunctionIsDoubted: a function that nothing in the file calls is doubted, and one that something calls is
// not.
func TestUncalledFunctionIsDoubted(t *testing.T) {
	for _, called := range []bool{false, true} {
		more := []fakeSymbol{fake("PyOS_setsig", codeAt, 2, []byte{0x53, 0xc3})}
		if called {
			more = append(more, fake("PyCaller", publicAt, 6,
				slices.Concat([]byte{0xe8}, rel32(codeAt, publicAt-codeAt+5), []byte{0xc3})))
		}
		b, err := openFake(fakePython(0x030b02f0, false, more...))
		if err != nil {
			t.Fatal(err)
		}
		s, err := b.Sites()
		if err != nil {
			t.Fatal(err)
		}
		doubted := false
		for _, name := range s.Doubted {
			doubted = doubted || name == "PyOS_setsig"
		}
		if doubted == called {
			t.Errorf("called %v, doubted %v", called, s.Doubted)
		}
	}
}
