package machine

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"slices"
	"testing"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/code/isa"
	"ipytracer/internal/code/machine/arm64"
	"ipytracer/internal/hostile"
)

// Tests of analyses in code of arm64: what there is nowhere else. Programs are words, with their text.

// armFunction is the function PyOS_setsig in code of arm64.
func armFunction(t *testing.T, words ...uint32) (*Text, *elffile.Image) {
	t.Helper()
	var code []byte
	for _, w := range words {
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	f := elftest.File{
		Machine: elf.EM_AARCH64,
		Symbols: []elftest.Symbol{
			{Name: "PyOS_setsig", Addr: codeAt, Size: uint64(len(code)), Data: code},
			{Name: "Py_Public", Addr: publicAt, Size: 4, Data: elftest.Word32(ret)},
		},
		Frames: []elffile.Span{{Start: fakeBase + codeAt, End: fakeBase + codeAt + uint64(len(code))}},
	}
	r := elffile.AnyMachine{ReaderAt: bytes.NewReader(f.Bytes())}
	img, err := elffile.OpenImage(r, func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return NewText(img), img
}

// Words of several programs.
const (
	ret        = 0xd65f03c0
	retaa      = 0xd65f0bff
	bti        = 0xd503245f // bti c
	paciasp    = 0xd503233f
	autiasp    = 0xd50323bf
	pushFrame  = 0xa9be7bfd // stp x29, x30, [sp, #-32]!
	popFrame   = 0xa8c27bfd // ldp x29, x30, [sp], #32
	setFrame   = 0x910003fd // mov x29, sp
	savePair   = 0xa90153f3 // stp x19, x20, [sp, #16]
	loadPair   = 0xa94153f3 // ldp x19, x20, [sp, #16]
	keepFirst  = 0xaa0003f3 // mov x19, x0
	keepSecond = 0xaa0103f4 // mov x20, x1
	giveFirst  = 0xaa1303e0 // mov x0, x19
	skipZero   = 0xb4000040 // cbz x0, over the next one
	swap       = 0xaa0103e0 // mov x0, x1
	harmless   = 0xaa0303e9 // mov x9, x3
	supervisor = 0xd4000001 // svc #0
)

// armCall is bl of Py_Public, as the nth instruction.
func armCall(n int) uint32 {
	const at = codeAt
	return 0x94000000 | uint32((publicAt-at-4*n)/4)
}

// TestForeignFile: a file for another machine is read only where that is asked for.
func TestForeignFile(t *testing.T) {
	f := elftest.File{Machine: elf.EM_AARCH64, Symbols: []elftest.Symbol{{Name: "Py_Public", Addr: codeAt}}}
	if elffile.Native == elf.EM_AARCH64 {
		f.Machine = elf.EM_X86_64
	}
	r := bytes.NewReader(f.Bytes())
	if _, err := OpenCode(r, nil); err == nil {
		t.Error("a process's file for another machine")
	}
	if _, err := OpenCode(elffile.AnyMachine{ReaderAt: r}, nil); err != nil {
		t.Error(err)
	}
	f.Machine = elf.EM_RISCV
	if _, err := OpenCode(elffile.AnyMachine{ReaderAt: bytes.NewReader(f.Bytes())}, nil); err == nil {
		t.Error("a file for a machine that is not known")
	}
}

// TestArmEntry: the first emulated instruction with the arguments in place; or the first that takes a probe; or none.
func TestArmEntry(t *testing.T) {
	for _, test := range []struct {
		name     string
		words    []uint32
		delta    int32 // negative: none
		pushed   int32
		emulated bool
	}{
		{"behind the mark", []uint32{bti, skipZero, swap, ret}, 4, 0, true},
		{"behind a frame", []uint32{paciasp, pushFrame, setFrame, 0x90000001, ret}, 12, 32, true}, // adrp x1
		{"an argument is gone", []uint32{swap, skipZero, ret, ret}, 0, 0, false},
		{"the frame is too variable", []uint32{0xcb2163ff, skipZero, ret, ret}, 0, 0, false}, // sub sp, sp, x1
		{"behind what takes none", []uint32{autiasp, harmless, ret}, 8, 0, true},
		{"dear, behind what takes none", []uint32{autiasp, harmless, swap, ret}, 4, 0, false},
		{"a system call", []uint32{supervisor, ret}, -1, 0, false},
		{"no code", []uint32{0x03ffffff, ret}, -1, 0, false},
		// ldaxr w8, [x4]; cbnz w8, +8; stxr w9, w8, [x4]; ret
		{"only what belongs together", []uint32{0x885ffc88, 0x35000048, 0x88097c88, ret}, -1, 0, false},
		{"behind what belongs together", []uint32{0x885ffc88, 0x88097c88, skipZero, harmless, ret}, 8, 0, true},
	} {
		text, _ := armFunction(t, test.words...)
		got := text.Entry("PyOS_setsig", 2)
		want := Site{"PyOS_setsig", test.delta, uint64(fakeBase + codeAt + test.delta), uint64(codeAt + test.delta),
			test.pushed, test.emulated}
		if test.delta < 0 {
			want = Site{}
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", test.name, got, want)
		}
	}
}

// TestArmReturns: each ret is cheap; one that checks a signature takes no probe, and the result is seen before it.
func TestArmReturns(t *testing.T) {
	type site struct {
		n        int
		pushed   int32
		result   isa.Result
		emulated bool
	}
	for _, test := range []struct {
		name     string
		words    []uint32
		want     []site
		complete bool
	}{
		{"one", []uint32{paciasp, pushFrame, setFrame, armCall(3), popFrame, autiasp, ret},
			[]site{{6, 0, arm64.X0, true}}, true},
		{"two", []uint32{skipZero, ret, armCall(2), ret}, []site{{1, 0, arm64.X0, true}, {3, 0, arm64.X0, true}}, true},
		{"kept in a register", []uint32{pushFrame, savePair, armCall(2), keepFirst, armCall(4), giveFirst, loadPair,
			popFrame, ret}, []site{{8, 0, arm64.X0, true}}, true},
		{"with a signature", []uint32{pushFrame, setFrame, armCall(2), popFrame, retaa},
			[]site{{3, 32, arm64.X0, false}}, true},
		{"with a signature, behind a jump", []uint32{pushFrame, keepFirst, skipZero, giveFirst, popFrame, retaa},
			[]site{{4, 32, arm64.X0, false}}, true},
		{"a signature alone", []uint32{retaa}, nil, false},
		{"two ways to a signature", []uint32{skipZero, harmless, retaa}, []site{{0, 0, arm64.X0, true}}, true},
		{"stack not level", []uint32{pushFrame, ret}, []site{{1, 0, arm64.X0, true}}, false},
		{"back by the frame pointer", []uint32{0xd100c3ff, 0xa9027bfd, 0x910083fd, // sub sp; stp; add x29, sp, #32
			0x910003bf, 0xa8c17bfd, ret}, // mov sp, x29; ldp x29, x30, [sp], #16
			[]site{{5, 0, arm64.X0, true}}, true},
		{"a jump to anywhere", []uint32{skipZero, 0xd61f0200, ret}, []site{{2, 0, arm64.X0, true}}, false},
	} {
		text, _ := armFunction(t, test.words...)
		sites, complete := text.Returns("PyOS_setsig")
		var got []site
		for _, s := range sites {
			got = append(got, site{int(s.Delta) / 4, s.Pushed, s.Result, s.Emulated})
		}
		if !slices.Equal(got, test.want) || complete != test.complete {
			t.Errorf("%s: %+v, complete %v, want %+v", test.name, got, complete, test.want)
		}
	}
}

// TestArmSystemCall: the branch that looks for an error, behind cmn.
func TestArmSystemCall(t *testing.T) {
	_, img := armFunction(t, 0xd2801bc8, supervisor, 0xb140041f, 0x54000048, ret, ret) // mov x8; svc; cmn x0; b.hi
	sites := (&Library{image: img, arch: &arm64.Architecture}).SystemCalls("PyOS_setsig")
	if len(sites) != 1 || sites[0].Delta != 12 || !sites[0].Emulated {
		t.Errorf("%+v", sites)
	}
}

// armRoutine is a function with values that are followed.
func armRoutine(t *testing.T, words ...uint32) (r *Routine, calls []Call) {
	t.Helper()
	text, img := armFunction(t, words...)
	r, ok := (&Code{image: img, text: text}).Routine(fakeBase + codeAt)
	if !ok {
		t.Fatal("a routine that is not understood")
	}
	return r, r.Calls()
}

// TestArmValues: values by way of pairs, products and numbers made in two steps.
func TestArmValues(t *testing.T) {
	r, calls := armRoutine(t,
		pushFrame, savePair, // before anything else
		0xa90107e0,           // stp x0, x1, [sp, #16]
		0x9b017c00,           // mul x0, x0, x1
		0x529df6e1,           // mov w1, #0xefb7
		0x72a000a1,           // movk w1, #5, lsl #16
		0x90000002,           // adrp x2, the page
		0x91040042,           // add x2, x2, #0x100
		0xf9408043,           // ldr x3, [x2, #256]
		armCall(9),           //
		0xa94153f3,           // ldp x19, x20, [sp, #16]
		0xaa1303e0,           // mov x0, x19
		0xaa1403e1,           // mov x1, x20
		armCall(13),          //
		0xa9498e60,           // ldp x0, x3, [x19, #152]
		0xaa0303f0,           // mov x16, x3
		popFrame, 0xd61f0200, // br x16
	)
	if len(calls) != 3 {
		t.Fatalf("calls: %+v", calls)
	}
	first, second, last := calls[0], calls[1], calls[2]
	if v := r.Passed(first, 0); v == 0 || v != r.Product(r.Argument(0), r.Argument(1)) {
		t.Errorf("the first argument is %v and no product", v)
	}
	if n, ok := r.Constant(r.Passed(first, 1)); !ok || n != 0x5efb7 {
		t.Errorf("the second argument is %#x, %v", n, ok)
	}
	if at, ok := r.Address(r.Passed(first, 2)); !ok || at != fakeBase+0x100 {
		t.Errorf("the third argument is the address %#x, %v", at, ok)
	}
	if at, ok := r.Loaded(r.Passed(first, 3)); !ok || at != fakeBase+0x200 {
		t.Errorf("the fourth argument comes from %#x, %v", at, ok)
	}
	if r.Passed(second, 0) != r.Argument(0) || r.Passed(second, 1) != r.Argument(1) {
		t.Error("arguments that were kept on the stack, as a pair")
	}
	if !last.Tail || !last.Indirect || last.Slot != 160 {
		t.Errorf("the last call: %+v", last)
	}
	if v := r.Passed(last, 0); v == 0 || v == r.Passed(last, 3) {
		t.Error("two words that are loaded at once are the same")
	}
}

// TestArmWays: limits behind a comparison that is made on a condition, and behind a branch that compares by itself.
func TestArmWays(t *testing.T) {
	within := func(r *Routine, n int, most uint64) Limits { return Limits{r.Argument(n): most} }
	// cmp x2, #1023; ccmp x1, #0, #4, ls; b.ne over the call: x2 is at most 1023 there, and x1 is not null.
	r, calls := armRoutine(t, 0xf10ffc5f, 0xfa409824, 0x54000041, armCall(3), ret)
	if r.Passes(calls, nil) || !r.Passes(calls, within(r, 2, 1023)) || r.Passes(calls, within(r, 2, 1022)) {
		t.Error("a limit by the condition of a second comparison")
	}
	if r.Passes(calls, within(r, 1, 0)) {
		t.Error("a limit that only one way has")
	}
	// The same with b.eq: either may hold there.
	r, calls = armRoutine(t, 0xf10ffc5f, 0xfa409824, 0x54000040, armCall(3), ret)
	if r.Passes(calls, within(r, 2, 1<<40)) || r.Passes(calls, within(r, 1, 1<<40)) {
		t.Error("a limit where a comparison may not have been made")
	}
	// cbz x0 over the call
	r, calls = armRoutine(t, skipZero, armCall(1), ret)
	if r.Passes(calls, nil) || !r.Passes(calls, within(r, 0, 0)) {
		t.Error("a limit by a branch that compares")
	}
	// tbz w0, #0 tells nothing of the kind
	r, calls = armRoutine(t, 0x36000040, armCall(1), ret)
	if r.Passes(calls, within(r, 0, 0)) {
		t.Error("a limit by a bit")
	}
}

// TestArmReferences: a variable's value is passed on, and texts, by way of their page.
func TestArmReferences(t *testing.T) {
	const variable = fakeBase + 0x110
	text, img := armFunction(t,
		0x90000002,             // adrp x2, the page
		0x90000000,             // adrp x0, the page
		0x91044042,             // add x2, x2, #0x110
		0xf9400040, armCall(4), // ldr x0, [x2]
		0x90000013,             // adrp x19, the page
		0xf9408a60, armCall(7), // ldr x0, [x19, #0x110]
		0x90000000,                          // adrp x0, the page
		0xf9408400,                          // ldr x0, [x0, #0x108]
		0x90000001, 0x91040021, armCall(12), // adrp x1, the page; add x1, x1, #0x100
		0xaa1303e0, armCall(14), ret) // mov x0, x19
	img.Symbols["variable"] = elftestSymbol(variable)
	r := text.Refer("variable", "Py_Public")
	if got := r.Passing([]string{"Py_Public"}); len(got) != 2 || got[place(4)] == "" || got[place(7)] == "" {
		t.Errorf("calls that pass the variable: %#x", got)
	}
	if first, second, ok := text.Passed(place(12)); !ok || first != 0 || second != fakeBase+0x100 {
		t.Errorf("passed are %#x and %#x, %v", first, second, ok)
	}
	calls, whole := r.CallsFrom(place(0), "Py_Public")
	if len(calls) != 4 || !whole {
		t.Errorf("calls: %#x, whole %v", calls, whole)
	}
	// Its address is taken: adrp x0, the page; add x0, x0, #0xa00
	text, _ = armFunction(t, armCall(0), 0x90000000, 0x91280000, ret)
	if _, whole := text.Refer("variable", "Py_Public").CallsFrom(place(0), "Py_Public"); whole {
		t.Error("a function whose address is taken may be called otherwise")
	}
}

// FuzzArm feeds raw bytes as code of arm64: nothing may panic, and every site is an instruction that takes a probe.
func FuzzArm(f *testing.F) {
	for _, words := range [][]uint32{
		{paciasp, pushFrame, setFrame, armCall(3), popFrame, autiasp, ret},
		{0xf10ffc5f, 0xfa409824, 0x54000041, armCall(3), ret}, {skipZero, harmless, retaa},
		{0x885ffc88, 0x35000048, 0x88097c88, ret}, {0x90000002, 0x91044042, 0xf9400040, armCall(3), ret},
	} {
		var code []byte
		for _, w := range words {
			code = binary.LittleEndian.AppendUint32(code, w)
		}
		f.Add(code)
	}
	hostile.Fuzz(f, 64<<20, func(t *testing.T, code []byte) {
		if len(code) > coldAt-codeAt {
			return
		}
		var words []uint32
		for ; len(code) >= 4; code = code[4:] {
			words = append(words, binary.LittleEndian.Uint32(code))
		}
		text, img := armFunction(t, words...)
		img.Symbols["variable"] = elftestSymbol(fakeBase + 0x110)
		sites := []Site{text.Entry("PyOS_setsig", 4)}
		returns, _ := text.Returns("PyOS_setsig")
		for _, s := range returns {
			sites = append(sites, s.Site)
		}
		l := &Library{image: img, arch: &arm64.Architecture}
		ends, _ := l.Ends("PyOS_setsig")
		for _, s := range ends {
			sites = append(sites, s.Site)
		}
		sites = append(sites, l.SystemCalls("PyOS_setsig")...)
		refs := text.Refer("variable", "Py_Public")
		refs.CallsFrom(fakeBase+codeAt, "Py_Public")
		refs.Passing([]string{"Py_Public"})
		if r, ok := (&Code{image: img, text: text}).Routine(fakeBase + codeAt); ok {
			for _, c := range r.Calls() {
				if site, _, ok := r.Behind(c, r.Result(c)); ok {
					sites = append(sites, site)
				}
			}
		}
		for _, s := range sites {
			if in, _ := text.decode(s.Address); s != (Site{}) && text.refuses(&in) {
				t.Errorf("%+v takes no probe", s)
			}
		}
	})
}
