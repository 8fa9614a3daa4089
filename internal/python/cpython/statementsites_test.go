package cpython

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/elffile/elftest"
)

// Where the table of the module builtins is, and the names in it. exec() is at codeAt, eval() at publicAt.
const (
	namesAt    = hiddenAt
	tableAt    = hiddenAt + 0x20
	moreAt     = hiddenAt + 0x80
	nameOfEval = fakeBase + namesAt
	nameOfExec = fakeBase + namesAt + 8
	evalCodeAt = fakeText + 0x100
)

// callAt is a call (0xe8) of PyEval_EvalCode or a jump to it (0xe9, 0x84 with 0x0f before it), with the code behind it.
func callAt(from int, opcode byte, behind ...byte) []byte {
	return slices.Concat([]byte{opcode}, rel32(evalCodeAt, from-codeAt+5), behind)
}

// jumpIfEqual is a jump to it on a condition.
func jumpIfEqual(from int) []byte { return slices.Concat([]byte{0x0f}, callAt(from+1, 0x84)) }

// methods are two entries of a table with these names.
func methods(first, second, eval, exec uint64) (raw []byte) {
	for _, word := range []uint64{first, eval, 0, 0, second, exec, 0, 0} {
		raw = binary.LittleEndian.AppendUint64(raw, word)
	}
	return raw
}

var (
	builtins = methods(nameOfEval, nameOfExec, fakeBase+publicAt, fakeBase+codeAt)
	callRet  = callAt(codeAt, 0xe8, 0x90, 0xc3)
	tailCall = callAt(publicAt, 0xe9)
	// branch is je over; jmp PyEval_EvalCode.
	branch = slices.Concat([]byte{0x74, 5}, callAt(publicAt+2, 0xe9))
)

// statementCase is code of exec() and eval(), with a table of them and another one.
type statementCase struct {
	name       string
	exec, eval []byte
	table      []byte
	more       []byte
	behind     int32 // 0: nothing is found
}

// TestStatementSites: the calls in exec() and eval() are sites only where each is known for sure, and so is the place
// behind exec()'s.
func TestStatementSites(t *testing.T) {
	for _, test := range []statementCase{
		{"call; mov rbp, rax; nop", callAt(codeAt, 0xe8, 0x48, 0x89, 0xc5, 0x90, 0xc3), tailCall, builtins, nil, 8},
		{"call; test; je", callAt(codeAt, 0xe8, 0x48, 0x85, 0xc0, 0x74, 1, 0xc3, 0xc3), tailCall, builtins, nil, 8},
		{"eval() calls, too", callRet, callAt(publicAt, 0xe8, 0xc3), builtins, nil, 5},
		{"eval() jumps to it, or returns", callRet, slices.Concat(branch, []byte{0xc3}), builtins, nil, 5},
		{"the result is gone", callAt(codeAt, 0xe8, 0x48, 0x31, 0xc0, 0x90, 0xc3), tailCall, builtins, nil, 0},
		{"the stack is another", callAt(codeAt, 0xe8, 0x48, 0x83, 0xc4, 8, 0x90, 0xc3), tailCall, builtins, nil, 0},
		{"a word less on the stack: pop rbx", callAt(codeAt, 0xe8, 0x5b, 0x90, 0xc3), tailCall, builtins, nil, 0},
		{"a word more on the stack: push 1", callAt(codeAt, 0xe8, 0x6a, 1, 0x90, 0xc3), tailCall, builtins, nil, 0},
		{"a word more and less: push 1; pop bx", callAt(codeAt, 0xe8, 0x6a, 1, 0x66, 0x5b, 0x90, 0xc3), tailCall,
			builtins, nil, 0},
		{"nothing emulated behind it", callAt(codeAt, 0xe8, 0xc3), tailCall, builtins, nil, 0},
		{"exec() does not come back", callAt(codeAt, 0xe9), tailCall, builtins, nil, 0},
		{"two calls in exec()", slices.Concat(callAt(codeAt, 0xe8, 0x90), callAt(codeAt+6, 0xe8, 0x90, 0xc3)), tailCall,
			builtins, nil, 0},
		{"no call in eval()", callRet, []byte{0x90, 0xc3}, builtins, nil, 0},
		{"no such table", callRet, tailCall, methods(nameOfExec, nameOfEval, fakeBase+publicAt, fakeBase+codeAt),
			nil, 0},
		{"two such tables", callRet, tailCall, builtins, builtins, 0},
		{"a table of other things, too", callRet, tailCall, builtins,
			methods(nameOfEval, nameOfExec, 0, fakeBase+codeAt), 5},
	} {
		t.Run(test.name, test.check)
	}
}

// TestStatementSitesUnsure: none are sites where exec() or eval() may get to PyEval_EvalCode by another way as well.
func TestStatementSitesUnsure(t *testing.T) {
	for _, test := range []statementCase{
		{"exec(): jmp rax", callAt(codeAt, 0xe8, 0x48, 0x85, 0xc0, 0x74, 1, 0xc3, 0xff, 0xe0), tailCall,
			builtins, nil, 0},
		{"exec(): je PyEval_EvalCode", slices.Concat(jumpIfEqual(codeAt), callAt(codeAt+6, 0xe8, 0x90, 0xc3)), tailCall,
			builtins, nil, 0},
		{"exec(): push; je PyEval_EvalCode", slices.Concat([]byte{0x53}, jumpIfEqual(codeAt+1),
			callAt(codeAt+7, 0xe8, 0x90, 0x5b, 0xc3)), tailCall, builtins, nil, 0},
		{"exec(): lea rbx, PyEval_EvalCode; call rbx",
			slices.Concat([]byte{0x48, 0x8d, 0x1d}, rel32(evalCodeAt, 7),
				callAt(codeAt+7, 0xe8, 0x90, 0xff, 0xd3, 0xc3)),
			tailCall, builtins, nil, 0},
		{"exec(): mov ebx, PyEval_EvalCode; call rbx",
			slices.Concat([]byte{0xbb}, elftest.Word32(fakeBase+evalCodeAt),
				callAt(codeAt+5, 0xe8, 0x90, 0xff, 0xd3, 0xc3)),
			tailCall, builtins, nil, 0},
		{"eval(): jmp rax", callRet, slices.Concat(branch, []byte{0xff, 0xe0}), builtins, nil, 0},
		{"eval(): jmp to another function", callRet,
			slices.Concat(branch, []byte{0xe9}, rel32(fakeText+0x140, publicAt-codeAt+12)), builtins, nil, 0},
		{"eval(): je PyEval_EvalCode", callRet, slices.Concat(jumpIfEqual(publicAt), callAt(publicAt+6, 0xe9)),
			builtins, nil, 0},
	} {
		t.Run(test.name, test.check)
	}
}

func (test *statementCase) check(t *testing.T) {
	f := fakePython(0x030b02f0, false, fake("exec", codeAt, 0, test.exec), fake("eval", publicAt, 0, test.eval),
		fake("names", namesAt, 0, []byte("eval\x00\x00\x00\x00exec\x00")), fake("table", tableAt, 0, test.table),
		fake("more", moreAt, 0, test.more))
	f.Frames = []elffile.Span{
		{Start: fakeBase + evalCodeAt, End: fakeBase + evalCodeAt + 2},
		{Start: fakeBase + codeAt, End: fakeBase + codeAt + uint64(len(test.exec))},
		{Start: fakeBase + publicAt, End: fakeBase + publicAt + uint64(len(test.eval))},
	}
	b, err := openFake(f)
	if err != nil {
		t.Fatal(err)
	}
	_, _, first := b.evaluators()
	for range 32 { // maps have another order each time
		if _, _, found := b.evaluators(); found != first {
			t.Fatalf("the functions of the table are found: %v, then %v", first, found)
		}
	}
	all, err := b.Sites()
	if err != nil {
		t.Fatal(err)
	}
	s := all.Statements
	if s.Present() != (test.behind > 0) || s.Present() != s.Behind.Present() || s.Present() != s.Eval.Present() {
		t.Fatalf("%+v", s)
	}
	evalAt := uint64(fakeBase + publicAt)
	if bytes.HasPrefix(test.eval, branch) {
		evalAt += 2
	}
	if s.Present() && (s.Exec.Address != fakeBase+codeAt || s.Behind.Delta != test.behind || s.Eval.Address != evalAt) {
		t.Errorf("%+v", s)
	}
}
