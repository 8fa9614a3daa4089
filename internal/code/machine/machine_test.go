package machine

import (
	"bytes"
	"debug/elf"
	"slices"
	"testing"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/elffile/elftest"
)

const (
	fakeBase = elftest.Base
	fakeText = elftest.Text
)

// A function at codeAt, and the targets of its jumps: a cold fragment, an exported and a hidden function.
const (
	codeAt   = fakeText + 0x200
	coldAt   = fakeText + 0x800
	publicAt = fakeText + 0x900
	hiddenAt = fakeText + 0xa00
)

// fakeFunction is the code of an image with the function PyOS_setsig.
func fakeFunction(t *testing.T, code, cold []byte) *Text {
	t.Helper()
	return NewText(fakeImage(t, code, cold))
}

func fakeImage(t *testing.T, code, cold []byte) *elffile.Image {
	t.Helper()
	f := elftest.File{
		Machine: elf.EM_X86_64,
		Symbols: []elftest.Symbol{
			{Name: "PyOS_setsig", Addr: codeAt, Size: uint64(len(code)), Data: code},
			{Name: "Py_Public", Addr: publicAt, Size: 1, Data: []byte{0xc3}},
			{Name: "cold", Addr: coldAt, Data: cold},
		},
		Frames: []elffile.Span{
			{Start: fakeBase + codeAt, End: fakeBase + codeAt + uint64(len(code))},
			{Start: fakeBase + coldAt, End: fakeBase + coldAt + uint64(max(len(cold), 1))},
			{Start: fakeBase + hiddenAt, End: fakeBase + hiddenAt + 16},
		},
	}
	img, err := elffile.OpenImage(elffile.AnyMachine{ReaderAt: bytes.NewReader(f.Bytes())},
		func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// rel32 is the displacement of a jump that ends at codeAt+end.
func rel32(target, end int) []byte { return elftest.Word32(uint32(int32(target - codeAt - end))) }

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
		text := fakeFunction(t, test.code, nil)
		got := text.Entry("PyOS_setsig", 2)
		want := Site{"PyOS_setsig", test.delta, uint64(fakeBase + codeAt + test.delta), uint64(codeAt + test.delta),
			test.pushed, test.emulated}
		if got != want {
			t.Errorf("%s: %+v, want %+v", test.name, got, want)
		}
	}
}

func TestReturns(t *testing.T) {
	je := func(target, end int) []byte { return slices.Concat([]byte{0x0f, 0x84}, rel32(target, end)) }
	jmp := func(target, end int) []byte { return slices.Concat([]byte{0xe9}, rel32(target, end)) }
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
		{"lea rsp", []byte{0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x8d, 0x65, 0xf8, 0x5b, 0x5d, 0xc3}, nil,
			[]uint64{11}, true},
		{"ud2", []byte{0x74, 1, 0xc3, 0x0f, 0x0b}, nil, []uint64{2}, true},
		{"ends in a call that does not return", []byte{0x74, 1, 0xc3, 0xe8, 0, 0, 0, 0}, nil, []uint64{2}, true},
		{"cold fragment", slices.Concat([]byte{0x53}, je(coldAt, 7), []byte{0x5b, 0xc3}), []byte{0x5b, 0xc3},
			[]uint64{8, coldAt + 1 - codeAt}, true},
		{"cold fragment that comes back", slices.Concat([]byte{0x53}, je(coldAt, 7), []byte{0x5b, 0xc3}),
			slices.Concat([]byte{0xe9}, rel32(codeAt+7, coldAt-codeAt+5)), []uint64{8}, true},
		{"tail call", slices.Concat([]byte{0x74, 5}, jmp(publicAt, 7), []byte{0xc3}), nil, []uint64{7}, false},
		{"tail call of a hidden function", slices.Concat([]byte{0x74, 5}, jmp(hiddenAt, 7), []byte{0xc3}), nil,
			[]uint64{7}, false},
		{"tail call through a pointer", []byte{0x74, 2, 0xff, 0xe0, 0xc3}, nil, []uint64{4}, false},
		{"stack not level", []byte{0x53, 0xc3}, nil, []uint64{1}, false},
		{"runs out of the function", []byte{0x74, 1, 0xc3, 0x90}, nil, []uint64{2}, false},
		{"none", []byte{0xeb, 0xfe}, nil, nil, false},
	} {
		text := fakeFunction(t, test.code, test.cold)
		flow := exploreFunction(text, fakeBase+codeAt, uint64(len(test.code)))
		slices.Sort(flow.returns)
		var got []uint64
		for _, addr := range flow.returns {
			got = append(got, addr-fakeBase-codeAt)
		}
		_, complete := text.Returns("PyOS_setsig")
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

// TestEmulated: the instructions of arch/x86/kernel/uprobes.c that are carried out in place, and some that look like
// them.
func TestEmulated(t *testing.T) {
	for _, test := range []struct {
		code string
		want bool
	}{
		{"\x55", true}, {"\x41\x57", true}, {"\x90", true}, {"\xeb\x10", true}, {"\xe9\x00\x00\x00\x00", true},
		{"\xe8\x00\x00\x00\x00", true},
		{"\x74\x02", true}, {"\x0f\x85\x00\x00\x00\x00", true},
		{"\x66\x50", false}, {"\x66\x90", false}, {"\x0f\x1f\x00", false}, {"\xf3\x0f\x1e\xfa", false},
		{"\x6a\x00", false}, {"\xc3", false},
		{"\xff\xe0", false}, {"\x48\x89\xe5", false}, {"\xe8\x00", false}, {"", false},
	} {
		if got := Emulated(elf.EM_X86_64, []byte(test.code)); got != test.want {
			t.Errorf("% x: %v", test.code, got)
		}
	}
}

// TestRefused: of all no-ops only that of five bytes takes no probe.
func TestRefused(t *testing.T) {
	for code, want := range map[string]bool{
		"\x0f\x1f\x44\x00\x00": true, "\x0f\x1f\x44\x00\x08": false, "\x0f\x1f\x40\x00": false, "\x90": false,
		"\x66\x0f\x1f\x44\x00\x00": false, "\x55": false,
	} {
		if got := Refused(elf.EM_X86_64, []byte(code)); got != want {
			t.Errorf("% x: %v", code, got)
		}
	}
}
