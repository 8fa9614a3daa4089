package cpython

import (
	"encoding/binary"
	"slices"
	"testing"

	"ipytracer/tracer/elffile"
)

// TestStatementSites: the calls in exec() and eval() are sites only where each is known for sure, and what exec()'s has returned.
func TestStatementSites(t *testing.T) {
	const names, table, more = hiddenAt, hiddenAt + 0x20, hiddenAt + 0x80
	calls := func(from int, opcode byte, behind ...byte) []byte {
		return slices.Concat([]byte{opcode}, rel32(fakeText+0x100, from-codeAt+5), behind)
	}
	methods := func(first, second uint64) (raw []byte) {
		for _, word := range []uint64{first, fakeBase + publicAt, 0, 0, second, fakeBase + codeAt, 0, 0} {
			raw = binary.LittleEndian.AppendUint64(raw, word)
		}
		return raw
	}
	const nameOfEval, nameOfExec = fakeBase + names, fakeBase + names + 8
	tail := calls(publicAt, 0xe9)
	for _, test := range []struct {
		name       string
		exec, eval []byte
		table      []byte
		more       []byte
		behind     int32 // 0: nothing is found
	}{
		{"call; mov rbp, rax; nop", calls(codeAt, 0xe8, 0x48, 0x89, 0xc5, 0x90, 0xc3), tail, methods(nameOfEval, nameOfExec), nil, 8},
		{"call; test; je", calls(codeAt, 0xe8, 0x48, 0x85, 0xc0, 0x74, 1, 0xc3, 0xc3), tail, methods(nameOfEval, nameOfExec), nil, 8},
		{"eval() calls, too", calls(codeAt, 0xe8, 0x90, 0xc3), calls(publicAt, 0xe8, 0xc3), methods(nameOfEval, nameOfExec), nil, 5},
		{"the result is gone", calls(codeAt, 0xe8, 0x48, 0x31, 0xc0, 0x90, 0xc3), tail, methods(nameOfEval, nameOfExec), nil, 0},
		{"the stack is another", calls(codeAt, 0xe8, 0x48, 0x83, 0xc4, 8, 0x90, 0xc3), tail, methods(nameOfEval, nameOfExec), nil, 0},
		{"nothing emulated behind it", calls(codeAt, 0xe8, 0xc3), tail, methods(nameOfEval, nameOfExec), nil, 0},
		{"exec() does not come back", calls(codeAt, 0xe9), tail, methods(nameOfEval, nameOfExec), nil, 0},
		{"two calls in exec()", slices.Concat(calls(codeAt, 0xe8, 0x90), calls(codeAt+6, 0xe8, 0x90, 0xc3)), tail, methods(nameOfEval, nameOfExec), nil, 0},
		{"no call in eval()", calls(codeAt, 0xe8, 0x90, 0xc3), []byte{0x90, 0xc3}, methods(nameOfEval, nameOfExec), nil, 0},
		{"no such table", calls(codeAt, 0xe8, 0x90, 0xc3), tail, methods(nameOfExec, nameOfEval), nil, 0},
		{"two such tables", calls(codeAt, 0xe8, 0x90, 0xc3), tail, methods(nameOfEval, nameOfExec), methods(nameOfEval, nameOfExec), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := fakePython(0x030b02f0, false, fake("exec", codeAt, 0, test.exec), fake("eval", publicAt, 0, test.eval),
				fake("names", names, 0, []byte("eval\x00\x00\x00\x00exec\x00")), fake("table", table, 0, test.table), fake("more", more, 0, test.more))
			f.Frames = []elffile.Span{
				{Start: fakeBase + fakeText + 0x100, End: fakeBase + fakeText + 0x102}, {Start: fakeBase + codeAt, End: fakeBase + codeAt + uint64(len(test.exec))},
				{Start: fakeBase + publicAt, End: fakeBase + publicAt + uint64(len(test.eval))},
			}
			b, err := openFake(f)
			if err != nil {
				t.Fatal(err)
			}
			all, err := b.Sites()
			if err != nil {
				t.Fatal(err)
			}
			s := all.Statements
			if s.Present() != (test.behind > 0) || s.Present() != s.Behind.Present() || s.Present() != s.Eval.Present() {
				t.Fatalf("%+v", s)
			}
			if s.Present() && (s.Exec.Address != fakeBase+codeAt || s.Behind.Delta != test.behind || s.Eval.Address != fakeBase+publicAt) {
				t.Errorf("%+v", s)
			}
		})
	}
}
