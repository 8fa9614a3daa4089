package cpython

import (
	"slices"
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

// A function at codeAt, and what it may jump to: a cold fragment, an exported and a hidden function.
const (
	codeAt   = fakeText + 0x200
	coldAt   = fakeText + 0x800
	publicAt = fakeText + 0x900
	hiddenAt = fakeText + 0xa00
)

func fakeFunction(t *testing.T, code, cold []byte) *Binary {
	t.Helper()
	f := fakePython(0x030b02f0, false,
		fakeSymbol{"PyOS_setsig", codeAt, uint64(len(code)), code},
		fakeSymbol{"Py_Public", publicAt, 1, []byte{0xc3}},
	)
	f.symbols = append(f.symbols, fakeSymbol{"cold", coldAt, 0, cold})
	f.frames = []span{{fakeBase + codeAt, fakeBase + codeAt + uint64(len(code))}, {fakeBase + coldAt, fakeBase + coldAt + uint64(max(len(cold), 1))},
		{fakeBase + hiddenAt, fakeBase + hiddenAt + 16}}
	b, err := openFake(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// rel32 is the displacement of a jump that ends at codeAt+end.
func rel32(target, end int) []byte { return word32(uint32(int32(target - codeAt - end))) }

func bytesOf(parts ...[]byte) (out []byte) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func TestEntrySite(t *testing.T) {
	for _, test := range []struct {
		name     string
		code     []byte
		delta    int32
		pushed   int32
		emulated bool
	}{
		{"push", []byte{0x53, 0xc3}, 0, 0, true},
		{"push r12", []byte{0x41, 0x54, 0xc3}, 0, 0, true},
		{"endbr64, push", []byte{0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0xc3}, 4, 0, true},
		{"endbr64, nop", []byte{0xf3, 0x0f, 0x1e, 0xfa, 0x90, 0xc3}, 4, 0, true},
		{"sub rsp, push", []byte{0x48, 0x83, 0xec, 0x18, 0x55, 0xc3}, 4, 24, true},
		{"push imm8, push imm8, call", []byte{0x6a, 0, 0x6a, 0, 0xe8, 0, 0, 0, 0, 0xc3}, 4, 16, true},
		{"test, je", []byte{0x85, 0xff, 0x74, 0x00, 0xc3}, 2, 0, true},
		{"mov edi: the argument is gone", []byte{0x89, 0xf7, 0x53, 0xc3}, 0, 0, false},
		{"mov dil: a part of it is", []byte{0x40, 0xb7, 0x01, 0x53, 0xc3}, 0, 0, false},
		{"mov edx: not an argument", []byte{0x89, 0xf2, 0x53, 0xc3}, 2, 0, true},
		{"rep movsb: unknown writes", []byte{0xf3, 0xa4, 0x53, 0xc3}, 0, 0, false},
		{"and rsp: stack unknown", []byte{0x48, 0x83, 0xe4, 0xf0, 0x53, 0xc3}, 0, 0, false},
		{"push rbx is in a loop", []byte{0x89, 0xf2, 0x53, 0x75, 0xfd, 0x5b, 0xc3}, 0, 0, false},
		{"pushw is not emulated", []byte{0x66, 0x50, 0xc3}, 0, 0, false},
		{"jmp through a pointer", []byte{0xff, 0xe0}, 0, 0, false},
		{"not code", []byte{0x06}, 0, 0, false},
	} {
		b := fakeFunction(t, test.code, nil)
		got := b.entrySite(newCodeReader(b.image), "PyOS_setsig", x86asm.RDI, x86asm.RSI)
		want := Site{"PyOS_setsig", test.delta, uint64(fakeBase + codeAt + test.delta), uint64(codeAt + test.delta), test.pushed, test.emulated}
		if got != want {
			t.Errorf("%s: %+v, want %+v", test.name, got, want)
		}
	}
}

func TestReturns(t *testing.T) {
	je := func(target, end int) []byte { return bytesOf([]byte{0x0f, 0x84}, rel32(target, end)) }
	jmp := func(target, end int) []byte { return bytesOf([]byte{0xe9}, rel32(target, end)) }
	for _, test := range []struct {
		name       string
		code, cold []byte
		returns    []uint64 // relative to codeAt
		complete   bool
	}{
		{"one", []byte{0x53, 0x5b, 0xc3}, nil, []uint64{2}, true},
		{"two", []byte{0x53, 0x74, 2, 0x5b, 0xc3, 0x5b, 0xc3}, nil, []uint64{4, 6}, true},
		{"repz ret", []byte{0xf3, 0xc3}, nil, []uint64{0}, true},
		{"leave", []byte{0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0xc9, 0xc3}, nil, []uint64{9}, true},
		{"lea rsp", []byte{0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x8d, 0x65, 0xf8, 0x5b, 0x5d, 0xc3}, nil, []uint64{11}, true},
		{"ud2", []byte{0x74, 1, 0xc3, 0x0f, 0x0b}, nil, []uint64{2}, true},
		{"ends in a call that does not return", []byte{0x74, 1, 0xc3, 0xe8, 0, 0, 0, 0}, nil, []uint64{2}, true},
		{"cold fragment", bytesOf([]byte{0x53}, je(coldAt, 7), []byte{0x5b, 0xc3}), []byte{0x5b, 0xc3}, []uint64{8, coldAt + 1 - codeAt}, true},
		{"cold fragment that comes back", bytesOf([]byte{0x53}, je(coldAt, 7), []byte{0x5b, 0xc3}),
			bytesOf([]byte{0xe9}, rel32(codeAt+7, coldAt-codeAt+5)), []uint64{8}, true},
		{"tail call", bytesOf([]byte{0x74, 5}, jmp(publicAt, 7), []byte{0xc3}), nil, []uint64{7}, false},
		{"tail call of a hidden function", bytesOf([]byte{0x74, 5}, jmp(hiddenAt, 7), []byte{0xc3}), nil, []uint64{7}, false},
		{"tail call through a pointer", []byte{0x74, 2, 0xff, 0xe0, 0xc3}, nil, []uint64{4}, false},
		{"stack not level", []byte{0x53, 0xc3}, nil, []uint64{1}, false},
		{"runs out of the function", []byte{0x74, 1, 0xc3, 0x90}, nil, []uint64{2}, false},
		{"none", []byte{0xeb, 0xfe}, nil, nil, false},
	} {
		b := fakeFunction(t, test.code, test.cold)
		flow := exploreFunction(newCodeReader(b.image), fakeBase+codeAt, uint64(len(test.code)))
		slices.Sort(flow.returns)
		var got []uint64
		for _, addr := range flow.returns {
			got = append(got, addr-fakeBase-codeAt)
		}
		_, complete := b.returnSites(newCodeReader(b.image), "PyOS_setsig", nil)
		if complete != test.complete || len(got) != len(test.returns) {
			t.Errorf("%s: %v, %v, want %v, %v", test.name, got, complete, test.returns, test.complete)
			continue
		}
		for i := range got {
			if got[i] != test.returns[i] {
				t.Errorf("%s: %v, want %v", test.name, got, test.returns)
			}
		}
	}
}

func TestThunk(t *testing.T) {
	code := bytesOf([]byte{0xf3, 0x0f, 0x1e, 0xfa, 0x45, 0x31, 0xc9, 0xe9}, rel32(hiddenAt, 12))
	f := fakePython(0x030f02f0, false, fakeSymbol{"Py_CompileStringObject", codeAt, uint64(len(code)), code})
	f.symbols = append(f.symbols, fakeSymbol{"hidden", hiddenAt, 0, []byte{0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0xc3}})
	b, err := openFake(f)
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.Sites()
	if err != nil {
		t.Fatal(err)
	}
	if want := (Site{"Py_CompileStringObject", 4, fakeBase + hiddenAt + 4, hiddenAt + 4, 0, true}); s.Compile != want || s.CompileInlined {
		t.Errorf("Compile = %+v, %v, want %+v", s.Compile, s.CompileInlined, want)
	}
	if s.Track.Present() || !s.EvalCode.Present() {
		t.Errorf("Track = %+v, EvalCode = %+v", s.Track, s.EvalCode)
	}
}

// TestSitesOfBuilds checks every site of the real builds, and the distances from the entry where the build
// is one that does not change.
func TestSitesOfBuilds(t *testing.T) {
	deltas := map[string][]int32{ // compile, eval, stop iteration, set signal, track, untrack, code freed
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
	eachBuild(t, func(t *testing.T, b build, bin *Binary) {
		s, err := bin.Sites()
		if err != nil {
			t.Fatal(err)
		}
		for i, site := range []Site{s.Compile, s.EvalCode, s.Ends[0].Site, s.SetSignal, s.Track, s.Untrack, s.CodeFreed} {
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
		case "plain-3.9": // whose code is in all of their callers
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
		if !s.EvalReturnsComplete {
			t.Errorf("returns of PyEval_EvalCode are not complete: %+v", s.EvalReturns)
		}
	})
}
