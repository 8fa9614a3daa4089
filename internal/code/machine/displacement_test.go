package machine

import (
	"slices"
	"testing"

	"ipytracer/internal/code/isa"
)

// TestLargeFrame: a result that is kept more than 128 bytes below rbp during a call is that of the place before it, and
// the stack is known where it is put back by such a distance.
func TestLargeFrame(t *testing.T) {
	below := []byte{0x78, 0xff, 0xff, 0xff} // -0x88
	for _, test := range []struct {
		name string
		code []byte
		want ReturnSite
	}{
		{"push rbp; mov rbp, rsp; sub rsp, 0x100; nop; mov [rbp-0x88], rax; call; mov rax, [rbp-0x88]; leave; ret",
			slices.Concat([]byte{0x55, 0x48, 0x89, 0xe5, 0x48, 0x81, 0xec, 0, 1, 0, 0, 0x90, 0x48, 0x89, 0x85}, below,
				[]byte{0xe8, 0, 0, 0, 0, 0x48, 0x8b, 0x85}, below, []byte{0xc9, 0xc3}),
			ReturnSite{Site: Site{Delta: 11, Pushed: 0x108, Emulated: true}, Result: RAX}},
		{"push rbp; mov rbp, rsp; sub rsp, 0x100; lea rsp, [rbp-0x88]; nop; leave; ret",
			slices.Concat([]byte{0x55, 0x48, 0x89, 0xe5, 0x48, 0x81, 0xec, 0, 1, 0, 0, 0x48, 0x8d, 0xa5}, below,
				[]byte{0x90, 0xc9, 0xc3}),
			ReturnSite{Site: Site{Delta: 18, Pushed: 0x90, Emulated: true}, Result: RAX}},
	} {
		sites, _ := fakeFunction(t, test.code, nil).Returns("PyOS_setsig")
		if len(sites) != 1 {
			t.Errorf("%s: %+v", test.name, sites)
			continue
		}
		if s := sites[0]; s.Delta != test.want.Delta || s.Pushed != test.want.Pushed || !s.Emulated ||
			s.Result != test.want.Result {
			t.Errorf("%s: %+v, want %+v", test.name, s, test.want)
		}
	}
}

// TestDataBeforeText: a pointer to a function, and a variable, that lie before the code that refers to them.
func TestDataBeforeText(t *testing.T) {
	const pointerAt, variableAt = fakeText + 0x10, fakeText + 0x18
	// mov rdi, [variable]; call [pointer]; ret
	code := slices.Concat([]byte{0x48, 0x8b, 0x3d}, rel32(variableAt, 7), []byte{0xff, 0x15}, rel32(pointerAt, 13),
		[]byte{0xc3})
	text := fakeFunction(t, code, nil)
	r := &References{text: text, variable: "variable", address: fakeBase + variableAt,
		slots: map[uint64]string{fakeBase + pointerAt: "PyPointed"},
		stubs: map[uint64]string{},
		loads: []isa.Reference{{At: fakeBase + codeAt, To: fakeBase + variableAt, Kind: isa.Loads}}}
	calls := r.Passing([]string{"PyPointed"})
	if len(calls) != 1 || calls[fakeBase+codeAt+7] != "PyPointed" {
		t.Errorf("calls that pass the variable: %v", calls)
	}
	if calls, whole := r.CallsFrom(fakeBase+codeAt, "PyPointed"); !slices.Equal(calls,
		[]uint64{fakeBase + codeAt + 7}) {
		t.Errorf("calls of the function: %v, whole %v", calls, whole)
	}
	// lea rdi, [variable]; call
	lea := slices.Concat([]byte{0x48, 0x8d, 0x3d}, rel32(variableAt, 7), []byte{0xe8, 0, 0, 0, 0, 0xc3})
	if first, _, ok := fakeFunction(t, lea, nil).Passed(fakeBase + codeAt + 7); !ok || first != fakeBase+variableAt {
		t.Errorf("the first argument is %#x, %v, want %#x", first, ok, uint64(fakeBase+variableAt))
	}
}
