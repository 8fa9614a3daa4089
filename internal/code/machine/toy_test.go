package machine

import (
	"slices"
	"testing"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/isa"
	toy "ipytracer/internal/code/isa/isatest"
	"ipytracer/internal/code/machine/x86"
)

// Tests on a toy architecture: their results hold for no real processor.

// toyFunction is the function PyOS_setsig in code of the toy's. The header of its file names a machine that files may
// be for.
func toyFunction(t *testing.T, cold []byte, code ...[]byte) (*Text, *elffile.Image) {
	t.Helper()
	img := fakeImage(t, slices.Concat(code...), cold)
	return textFor(img, &toy.Architecture), img
}

// place is the address of the nth instruction of the function.
func place(n int) uint64 { return fakeBase + codeAt + uint64(toy.Size*n) }

// branch and call are the nth instruction; a branch is to the instruction of another number.
func branch(n int, on isa.Relation, to int) []byte { return toy.Branch(on, place(n), place(to)) }
func call(n int) []byte                            { return toy.Call(place(n), fakeBase+publicAt) }

// TestArchitectureOfHeader: the processor is the one that the file's header names; of others nothing is understood.
func TestArchitectureOfHeader(t *testing.T) {
	img := fakeImage(t, []byte{0x53, 0xc3}, nil)
	if got := NewText(img).arch; got != &x86.Architecture || img.Machine() != got.Machine {
		t.Errorf("%v for a file for %v", got.Machine, img.Machine())
	}
	none := architectureOf(toy.Architecture.Machine)
	text := textFor(img, none)
	if s := text.Entry("PyOS_setsig", 6); s.Emulated || s.Delta != 0 {
		t.Errorf("an entry in unknown code: %+v", s)
	}
	if sites, complete := text.Returns("PyOS_setsig"); len(sites) != 0 || complete {
		t.Errorf("ways out of unknown code: %+v", sites)
	}
	mark := []byte{0xf3, 0x0f, 0x1e, 0xfa}
	if Emulated(toy.Architecture.Machine, []byte{0x53}) || EntryMark(toy.Architecture.Machine, mark) != 0 {
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
		{"a load and a jump", [][]byte{toy.LoadFrom(toy.R4, place(0), pointer), toy.JumpRegister(toy.R4)}, true},
		{"to another register", [][]byte{toy.LoadFrom(toy.R4, place(0), pointer), toy.JumpRegister(toy.R1)}, false},
		{"no jump", [][]byte{toy.LoadFrom(toy.R4, place(0), pointer), toy.Ret()}, false},
		{"one jump", [][]byte{toy.JumpThrough(place(0), pointer)}, false},
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
		{"push", [][]byte{toy.Push(toy.R0), toy.Ret()}, 0, 0, true},
		{"mark, push", [][]byte{toy.Mark(), toy.Push(toy.R0), toy.Ret()}, 4, 0, true},
		{"room on the stack", [][]byte{toy.Grow(3), toy.Push(toy.R0), toy.Ret()}, 4, 24, true},
		{"the first argument is gone", [][]byte{toy.Move(toy.R5, toy.R2), toy.Nop(), toy.Ret()}, 0, 0, false},
		{"the second is", [][]byte{toy.Constant(toy.R1, 1), toy.Nop(), toy.Ret()}, 0, 0, false},
		{"the third may be", [][]byte{toy.Clear(toy.R2), toy.Nop(), toy.Ret()}, 4, 0, true},
		{"the place of results is no argument", [][]byte{toy.Clear(toy.R3), toy.Nop(), toy.Ret()}, 4, 0, true},
		{"unknown writes", [][]byte{toy.Mystery(), toy.Nop(), toy.Ret()}, 0, 0, false},
		{"stack unknown", [][]byte{toy.Move(toy.SP, toy.R0), toy.Nop(), toy.Ret()}, 0, 0, false},
		{"in a loop", [][]byte{toy.Clear(toy.R3), toy.Nop(), branch(2, isa.Equal, 1), toy.Ret()}, 0, 0, false},
		{"through a register", [][]byte{toy.JumpRegister(toy.R3)}, 0, 0, false},
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
	begin, end := [][]byte{toy.Push(toy.R0), toy.Grow(4)}, [][]byte{toy.Grow(-4), toy.Pop(toy.R0), toy.Ret()}
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
	{"nop", toyFrame(toy.Nop()), []toySite{{2, toy.InR3, 40, Condition{}}}, true},
	{"kept in r0 while something is called", toyFrame(toy.Move(toy.R0, toy.R3), call(3), toy.Move(toy.R3, toy.R0)),
		[]toySite{{3, toy.InR0, 40, Condition{}}}, true},
	{"r1 does not outlast a call", toyFrame(toy.Move(toy.R1, toy.R3), call(3), toy.Move(toy.R3, toy.R1)),
		[]toySite{{7, toy.InR3, 0, Condition{}}}, true},
	{"nothing", toyFrame(toy.Nop(), toy.Clear(toy.R3)), []toySite{{2, toy.Nothing, 40, Condition{}}}, true},
	{"the constant 0", toyFrame(toy.Nop(), toy.Constant(toy.R3, 0)),
		[]toySite{{2, toy.Nothing, 40, Condition{}}}, true},
	{"kept on the stack", toyFrame(toy.Nop(), toy.Store(toy.SP, 1, toy.R3), call(4), toy.Load(toy.R3, toy.SP, 1)),
		[]toySite{{2, toy.InR3, 40, Condition{}}}, true},
	{"on the stack, where the called function may write", toyFrame(toy.Address(toy.R5, toy.SP, 1), toy.Nop(),
		toy.Store(toy.SP, 1, toy.R3), call(5), toy.Load(toy.R3, toy.SP, 1)),
		[]toySite{{9, toy.InR3, 0, Condition{}}}, true},
	{"unknown writes", toyFrame(toy.Nop(), toy.Mystery()), []toySite{{6, toy.InR3, 0, Condition{}}}, true},
	{"the way out of a loop", toyFrame(call(2), toy.Nop(), branch(4, isa.NotEqual, 3)),
		[]toySite{{4, toy.InR3, 40, Condition{Mask: 8, Value: 8}}}, true},
	{"out of a loop by another flag", toyFrame(call(2), toy.Nop(), branch(4, isa.Below, 3)),
		[]toySite{{4, toy.InR3, 40, Condition{Mask: 32}}}, true},
	{"out of a loop by several flags", toyFrame(call(2), toy.Nop(), branch(4, isa.Above, 3)),
		[]toySite{{7, toy.InR3, 0, Condition{}}}, true},
	{"two ways", [][]byte{branch(0, isa.Equal, 4), call(1), toy.Nop(), toy.Ret(), call(4), toy.Nop(), toy.Ret()},
		[]toySite{{2, toy.InR3, 0, Condition{}}, {5, toy.InR3, 0, Condition{}}}, true},
	{"frame pointer", [][]byte{toy.Push(toy.FP), toy.Frame(), toy.Grow(2), toy.Nop(), toy.Leave(), toy.Ret()},
		[]toySite{{3, toy.InR3, 24, Condition{}}}, true},
	{"a way that never returns", [][]byte{toy.Nop(), branch(1, isa.Equal, 3), toy.Ret(), toy.Trap()},
		[]toySite{{1, toy.InR3, 0, Condition{}}}, true},
	{"cold code that comes back",
		toyFrame(toy.Nop(), toy.Branch(isa.Equal, place(3), fakeBase+coldAt), call(4), toy.Nop()),
		[]toySite{{5, toy.InR3, 40, Condition{}}, {(coldAt-codeAt)/toy.Size + 1, toy.InR3, 40, Condition{}}}, true},
	{"stack not level", [][]byte{toy.Push(toy.R0), toy.Ret()}, []toySite{{1, toy.InR3, 0, Condition{}}}, false},
	{"tail call", [][]byte{branch(0, isa.Equal, 2), toy.Jump(place(1), fakeBase+publicAt), toy.Ret()},
		[]toySite{{2, toy.InR3, 0, Condition{}}}, false},
	{"out of the function", [][]byte{toy.Ret(), toy.Nop()}, []toySite{{0, toy.InR3, 0, Condition{}}}, true},
}

func TestToyReturns(t *testing.T) {
	cold := slices.Concat(toy.Clear(toy.R3), toy.Jump(fakeBase+coldAt+toy.Size, place(6)))
	for _, test := range toyReturns {
		text, _ := toyFunction(t, cold, test.code...)
		sites, complete := text.Returns("PyOS_setsig")
		var got []toySite
		for _, s := range sites {
			got = append(got, toySite{int(s.Delta) / toy.Size, s.Result, s.Pushed, s.Condition})
		}
		if !slices.Equal(got, test.want) || complete != test.complete {
			t.Errorf("%s: %+v, complete %v, want %+v", test.name, got, complete, test.want)
		}
	}
}

func TestToySystemCalls(t *testing.T) {
	failed := toy.Compare(toy.R3, -1)
	for _, test := range []struct {
		name     string
		code     [][]byte
		at       int
		emulated bool
	}{
		{"compared at once", [][]byte{toy.SystemCall(), failed, branch(2, isa.Equal, 3), toy.Ret()}, 2, true},
		{"moved first",
			[][]byte{toy.SystemCall(), toy.Move(toy.R0, toy.R3), failed, branch(3, isa.Equal, 4), toy.Ret()}, 1, false},
		{"no comparison", [][]byte{toy.SystemCall(), toy.Ret()}, 1, false},
	} {
		_, img := toyFunction(t, nil, test.code...)
		sites := (&Library{image: img, arch: &toy.Architecture}).SystemCalls("PyOS_setsig")
		if len(sites) != 1 || sites[0].Address != place(test.at) || sites[0].Emulated != test.emulated {
			t.Errorf("%s: %+v", test.name, sites)
		}
	}
}

// TestToyLibrary: the start of a function behind the mark of its entry, the function that it only jumps to, and the
// places where everything that it stores is stored.
func TestToyLibrary(t *testing.T) {
	names := []string{"PyOS_setsig", "Py_Public"}
	_, img := toyFunction(t, nil, toy.Mark(), toy.Jump(place(1), fakeBase+publicAt))
	l := Library{image: img, arch: &toy.Architecture, names: names}
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
		toy.Nop(), toy.Store(toy.R5, 0, toy.R1), toy.Nop(), toy.Store(toy.SP, -1, toy.R1), toy.Ret())
	sites, ok := (&Code{image: img, text: text}).Ends("x", place(0))
	if !ok || len(sites) != 1 || sites[0].Address != place(2) {
		t.Errorf("all is stored at %+v", sites)
	}
}
