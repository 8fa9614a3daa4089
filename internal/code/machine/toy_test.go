package machine

import (
	"slices"
	"testing"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/isa"
	"ipytracer/internal/code/machine/x86"
)

// Tests on a toy architecture: their results hold for no real processor.

// toyFunction is the function PyOS_setsig in code of the toy's. The header of its file names a machine that files may
// be for.
func toyFunction(t *testing.T, cold []byte, code ...[]byte) (*Text, *elffile.Image) {
	t.Helper()
	img := fakeImage(t, slices.Concat(code...), cold)
	return textFor(img, &Architecture), img
}

// place is the address of the nth instruction of the function.
func place(n int) uint64 { return fakeBase + codeAt + uint64(Size*n) }

// branch and call are the nth instruction; a branch is to the instruction of another number.
func branch(n int, on isa.Relation, to int) []byte { return Branch(on, place(n), place(to)) }
func call(n int) []byte                            { return CallTo(place(n), fakeBase+publicAt) }

// TestArchitectureOfHeader: the processor is the one that the file's header names; of others nothing is understood.
func TestArchitectureOfHeader(t *testing.T) {
	img := fakeImage(t, []byte{0x53, 0xc3}, nil)
	if got := NewText(img).arch; got != &x86.Architecture || img.Machine() != got.Machine {
		t.Errorf("%v for a file for %v", got.Machine, img.Machine())
	}
	none := architectureOf(Architecture.Machine)
	text := textFor(img, none)
	if s := text.Entry("PyOS_setsig", 6); s.Emulated || s.Delta != 0 {
		t.Errorf("an entry in unknown code: %+v", s)
	}
	if sites, complete := text.Returns("PyOS_setsig"); len(sites) != 0 || complete {
		t.Errorf("ways out of unknown code: %+v", sites)
	}
	mark := []byte{0xf3, 0x0f, 0x1e, 0xfa}
	if Emulated(Architecture.Machine, []byte{0x53}) || EntryMark(Architecture.Machine, mark) != 0 {
		t.Error("an instruction of an unknown machine is known")
	}
	if len(text.Refer("variable", "Py_Public").loads) != 0 {
		t.Error("references in unknown code")
	}
}

// TestToyStubs: each processor has stubs of its own. A jump through a pointer is one of x86-64's, and none of the
// toy's.
func TestToyStubs(t *testing.T) {
	const pointer = fakeBase + codeAt + 64
	for _, test := range []struct {
		name string
		code [][]byte
		ok   bool
	}{
		{"a load and a jump", [][]byte{LoadFrom(R4, place(0), pointer), JumpRegister(R4)}, true},
		{"to another register", [][]byte{LoadFrom(R4, place(0), pointer), JumpRegister(R1)}, false},
		{"no jump", [][]byte{LoadFrom(R4, place(0), pointer), Ret()}, false},
		{"one jump", [][]byte{JumpThrough(place(0), pointer)}, false},
	} {
		text, img := toyFunction(t, nil, test.code...)
		if got, ok := text.stub(place(0), 0); ok != test.ok || ok && got != pointer {
			t.Errorf("%s: %#x, %v", test.name, got, ok)
		}
		if _, ok := textFor(img, architectureOf(0)).stub(place(0), 1); ok {
			t.Errorf("%s: a stub of an unknown processor", test.name)
		}
	}
	through := append([]byte{0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25}, 0x36, 0, 0, 0) // endbr64; jmp *0x36(%rip)
	text := textFor(fakeImage(t, through, nil), &x86.Architecture)
	if got, ok := text.stub(place(0), 0); !ok || got != pointer {
		t.Errorf("x86-64: %#x, %v", got, ok)
	}
}

func TestToyEntries(t *testing.T) {
	for _, test := range []struct {
		name     string
		code     [][]byte
		delta    int32
		pushed   int32
		emulated bool
	}{
		{"push", [][]byte{Push(R0), Ret()}, 0, 0, true},
		{"mark, push", [][]byte{Mark(), Push(R0), Ret()}, 4, 0, true},
		{"room on the stack", [][]byte{Grow(3), Push(R0), Ret()}, 4, 24, true},
		{"the first argument is gone", [][]byte{Move(R5, R2), Nop(), Ret()}, 0, 0, false},
		{"the second is", [][]byte{Constant(R1, 1), Nop(), Ret()}, 0, 0, false},
		{"the third may be", [][]byte{Clear(R2), Nop(), Ret()}, 4, 0, true},
		{"the place of results is no argument", [][]byte{Clear(R3), Nop(), Ret()}, 4, 0, true},
		{"unknown writes", [][]byte{Mystery(), Nop(), Ret()}, 0, 0, false},
		{"stack unknown", [][]byte{Move(SP, R0), Nop(), Ret()}, 0, 0, false},
		{"in a loop", [][]byte{Clear(R3), Nop(), branch(2, isa.Equal, 1), Ret()}, 0, 0, false},
		{"through a register", [][]byte{JumpRegister(R3)}, 0, 0, false},
		{"not code", [][]byte{{1, 2, 3, 4}}, 0, 0, false},
	} {
		text, _ := toyFunction(t, nil, test.code...)
		got := text.Entry("PyOS_setsig", 2)
		if got.Delta != test.delta || got.Pushed != test.pushed || got.Emulated != test.emulated || !got.Present() {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
}

// toyFrame is a function with a frame of 40 bytes and a body that begins with its third instruction.
func toyFrame(body ...[]byte) [][]byte {
	begin, end := [][]byte{Push(R0), Grow(4)}, [][]byte{Grow(-4), Pop(R0), Ret()}
	return slices.Concat(begin, body, end)
}

type toySite struct {
	at        int // number of the instruction
	result    isa.Result
	pushed    int32
	condition Condition
}

var toyReturns = []struct {
	name     string
	code     [][]byte
	want     []toySite
	complete bool
}{
	{"nop", toyFrame(Nop()), []toySite{{2, InR3, 40, Condition{}}}, true},
	{"kept in r0 while something is called", toyFrame(Move(R0, R3), call(3), Move(R3, R0)),
		[]toySite{{3, InR0, 40, Condition{}}}, true},
	{"r1 does not outlast a call", toyFrame(Move(R1, R3), call(3), Move(R3, R1)),
		[]toySite{{7, InR3, 0, Condition{}}}, true},
	{"nothing", toyFrame(Nop(), Clear(R3)), []toySite{{2, Nothing, 40, Condition{}}}, true},
	{"the constant 0", toyFrame(Nop(), Constant(R3, 0)),
		[]toySite{{2, Nothing, 40, Condition{}}}, true},
	{"kept on the stack", toyFrame(Nop(), Store(SP, 1, R3), call(4), Load(R3, SP, 1)),
		[]toySite{{2, InR3, 40, Condition{}}}, true},
	{"on the stack, where the called function may write", toyFrame(Address(R5, SP, 1), Nop(),
		Store(SP, 1, R3), call(5), Load(R3, SP, 1)),
		[]toySite{{9, InR3, 0, Condition{}}}, true},
	{"unknown writes", toyFrame(Nop(), Mystery()), []toySite{{6, InR3, 0, Condition{}}}, true},
	{"the way out of a loop", toyFrame(call(2), Nop(), branch(4, isa.NotEqual, 3)),
		[]toySite{{4, InR3, 40, Condition{Mask: 8, Value: 8}}}, true},
	{"out of a loop by another flag", toyFrame(call(2), Nop(), branch(4, isa.Below, 3)),
		[]toySite{{4, InR3, 40, Condition{Mask: 32}}}, true},
	{"out of a loop by several flags", toyFrame(call(2), Nop(), branch(4, isa.Above, 3)),
		[]toySite{{7, InR3, 0, Condition{}}}, true},
	{"two ways", [][]byte{branch(0, isa.Equal, 4), call(1), Nop(), Ret(), call(4), Nop(), Ret()},
		[]toySite{{2, InR3, 0, Condition{}}, {5, InR3, 0, Condition{}}}, true},
	{"frame pointer", [][]byte{Push(FP), Frame(), Grow(2), Nop(), Leave(), Ret()},
		[]toySite{{3, InR3, 24, Condition{}}}, true},
	{"a way that never returns", [][]byte{Nop(), branch(1, isa.Equal, 3), Ret(), Trap()},
		[]toySite{{1, InR3, 0, Condition{}}}, true},
	{"cold code that comes back",
		toyFrame(Nop(), Branch(isa.Equal, place(3), fakeBase+coldAt), call(4), Nop()),
		[]toySite{{5, InR3, 40, Condition{}}, {(coldAt-codeAt)/Size + 1, InR3, 40, Condition{}}}, true},
	{"stack not level", [][]byte{Push(R0), Ret()}, []toySite{{1, InR3, 0, Condition{}}}, false},
	{"tail call", [][]byte{branch(0, isa.Equal, 2), Jump(place(1), fakeBase+publicAt), Ret()},
		[]toySite{{2, InR3, 0, Condition{}}}, false},
	{"out of the function", [][]byte{Ret(), Nop()}, []toySite{{0, InR3, 0, Condition{}}}, true},
}

func TestToyReturns(t *testing.T) {
	cold := slices.Concat(Clear(R3), Jump(fakeBase+coldAt+Size, place(6)))
	for _, test := range toyReturns {
		text, _ := toyFunction(t, cold, test.code...)
		sites, complete := text.Returns("PyOS_setsig")
		var got []toySite
		for _, s := range sites {
			got = append(got, toySite{int(s.Delta) / Size, s.Result, s.Pushed, s.Condition})
		}
		if !slices.Equal(got, test.want) || complete != test.complete {
			t.Errorf("%s: %+v, complete %v, want %+v", test.name, got, complete, test.want)
		}
	}
}

func TestToySystemCalls(t *testing.T) {
	failed := Compare(R3, -1)
	for _, test := range []struct {
		name     string
		code     [][]byte
		at       int
		emulated bool
	}{
		{"compared at once", [][]byte{SystemCall(), failed, branch(2, isa.Equal, 3), Ret()}, 2, true},
		{"moved first",
			[][]byte{SystemCall(), Move(R0, R3), failed, branch(3, isa.Equal, 4), Ret()}, 1, false},
		{"no comparison", [][]byte{SystemCall(), Ret()}, 1, false},
	} {
		_, img := toyFunction(t, nil, test.code...)
		sites := (&Library{image: img, arch: &Architecture}).SystemCalls("PyOS_setsig")
		if len(sites) != 1 || sites[0].Address != place(test.at) || sites[0].Emulated != test.emulated {
			t.Errorf("%s: %+v", test.name, sites)
		}
	}
}

// TestToyLibrary: the start of a function behind the mark of its entry, the function that it only jumps to, and the
// places where everything that it stores is stored.
func TestToyLibrary(t *testing.T) {
	names := []string{"PyOS_setsig", "Py_Public"}
	_, img := toyFunction(t, nil, Mark(), Jump(place(1), fakeBase+publicAt))
	l := Library{image: img, arch: &Architecture, names: names}
	if s := l.Start("PyOS_setsig"); s.Address != place(1) || !s.Emulated {
		t.Errorf("it starts at %+v", s)
	}
	if other := l.Aliases("PyOS_setsig"); !slices.Equal(other, []string{"Py_Public"}) {
		t.Errorf("it only jumps to %v", other)
	}
	if to, ok := l.text().Thunk(img.Symbols["PyOS_setsig"], 2); !ok || to != fakeBase+publicAt {
		t.Errorf("it jumps to %#x, %v", to, ok)
	}
	if !l.text().Begins(place(1)) || l.text().Begins(place(1)+1) {
		t.Error("where instructions begin")
	}
	text, img := toyFunction(t, nil,
		Nop(), Store(R5, 0, R1), Nop(), Store(SP, -1, R1), Ret())
	sites, ok := (&Code{image: img, text: text}).Ends("x", place(0))
	if !ok || len(sites) != 1 || sites[0].Address != place(2) {
		t.Errorf("all is stored at %+v", sites)
	}
}
