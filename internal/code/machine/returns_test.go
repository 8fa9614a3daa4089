package machine

import (
	"slices"
	"testing"

	"ipytracer/internal/code/machine/x86"
)

// returnSite is a site at which a function returns, as a test wants it.
type returnSite struct {
	at        int
	register  Register
	pushed    int32
	emulated  bool
	condition Condition
}

// returnTest is a function, and the sites at which it returns.
type returnTest struct {
	name       string
	code, cold []byte
	want       []returnSite
}

func returnTests() []returnTest {
	return slices.Concat(copyReturnTests(), flowReturnTests(), spillReturnTests(), coldReturnTests())
}

// atReturn wants one site: the return instruction itself, where the result is in RAX.
func atReturn(at int) []returnSite { return []returnSite{{at, RAX, 0, false, Condition{}}} }

// copyReturnTests are about results that are copied between registers or set to zero.
func copyReturnTests() []returnTest {
	type site = returnSite
	call, ret := callCode(), atReturn
	return []returnTest{
		{"copy chain: mov rbx, rax; jne; mov rbp, rbx; mov rax, rbp",
			returnCode(0x48, 0x89, 0xc3, 0x75, 0, 0x48, 0x89, 0xdd, 0x48, 0x89, 0xe8), nil,
			[]site{{8, RBX, 40, true, Condition{}}}},
		{"a call keeps rbx: mov rbx, rax; jne; call; mov rax, rbx",
			returnCode(slices.Concat([]byte{0x48, 0x89, 0xc3, 0x75, 0}, call, []byte{0x48, 0x89, 0xd8})...), nil,
			[]site{{10, RBX, 40, true, Condition{}}}},
		{"a call clobbers rax", returnCode(slices.Concat([]byte{0x90}, call)...), nil, ret(16)},
		{"a call clobbers rcx", returnCode(slices.Concat([]byte{0x90}, call, []byte{0x48, 0x89, 0xc8})...), nil,
			ret(19)},
		{"half a copy: mov eax, ebx", returnCode(0x90, 0x89, 0xd8), nil, ret(13)},
		{"popped before it is copied", []byte{0x53, 0x90, 0x5b, 0x48, 0x89, 0xd8, 0xc3}, nil, ret(6)},
		{"copied before it is popped", []byte{0x53, 0x90, 0x48, 0x89, 0xd8, 0x5b, 0xc3}, nil,
			[]site{{1, RBX, 8, true, Condition{}}}},
		{"zero: nop; xor eax, eax", returnCode(0x90, 0x31, 0xc0), nil, []site{{5, Zero, 40, true, Condition{}}}},
		{"zero: nop; mov eax, 0", returnCode(0x90, 0xb8, 0, 0, 0, 0), nil, []site{{5, Zero, 40, true, Condition{}}}},
		{"not zero: nop; xor eax, ebx", returnCode(0x90, 0x31, 0xd8), nil, ret(13)},
		{"zero copied: nop; xor ebx, ebx; call; mov rax, rbx",
			returnCode(slices.Concat([]byte{0x90, 0x31, 0xdb}, call, []byte{0x48, 0x89, 0xd8})...), nil,
			[]site{{8, RBX, 40, true, Condition{}}}},
	}
}

// flowReturnTests are about loops, jumps and several return instructions.
func flowReturnTests() []returnTest {
	type site = returnSite
	call, ret := callCode(), atReturn
	return []returnTest{
		{"loop: nop; jne back: only the way out of it is gone once",
			returnCode(slices.Concat(call, []byte{0x90, 0x75, 0xfd})...), nil,
			[]site{{11, RAX, 40, true, Condition{Mask: 0x40, Value: 0x40}}}},
		{"loop: nop; jg back: none is", returnCode(slices.Concat(call, []byte{0x90, 0x7f, 0xfd})...), nil, ret(18)},
		{"after a loop: nop; jne; nop", returnCode(0x90, 0x75, 0xfd, 0x90), nil,
			[]site{{8, RAX, 40, true, Condition{}}}},
		{"two rets share a jump: push; jne; pop; ret; pop; ret", []byte{0x53, 0x75, 2, 0x5b, 0xc3, 0x5b, 0xc3}, nil,
			[]site{{1, RAX, 8, true, Condition{}}}},
		{"two rets: je; nop; ret; cmove eax; ret", []byte{0x74, 2, 0x90, 0xc3, 0x0f, 0x44, 0xc3, 0xc3}, nil,
			[]site{{2, RAX, 0, true, Condition{}}, {7, RAX, 0, false, Condition{}}}},
		{"an edge: call; je to the ret; call; nop",
			returnCode(slices.Concat(call, []byte{0x74, 6}, call, []byte{0x90})...), nil,
			[]site{{10, RAX, 40, true, Condition{Mask: 0x40, Value: 0x40}}, {17, RAX, 40, true, Condition{}}}},
		{"an edge: jns over", returnCode(slices.Concat(call, []byte{0x79, 6}, call, []byte{0x90})...), nil,
			[]site{{10, RAX, 40, true, Condition{Mask: 0x80, Value: 0}}, {17, RAX, 40, true, Condition{}}}},
		{"an edge that depends on two flags: jg",
			returnCode(slices.Concat(call, []byte{0x7f, 6}, call, []byte{0x90})...), nil, ret(23)},
		{"two registers: je; nop; mov rax, rbx; jmp; nop; mov rax, rbp",
			returnCode(0x74, 6, 0x90, 0x48, 0x89, 0xd8, 0xeb, 4, 0x90, 0x48, 0x89, 0xe8), nil,
			[]site{{11, RAX, 40, true, Condition{}}, {13, RBP, 40, true, Condition{}}}},
	}
}

// spillReturnTests are about results in the stack frame, and about frames of other shapes.
func spillReturnTests() []returnTest {
	type site = returnSite
	call, ret := callCode(), atReturn
	return []returnTest{
		{"spilled: nop; mov [rsp+8], rax; call; mov rax, [rsp+8]",
			returnCode(slices.Concat([]byte{0x90, 0x48, 0x89, 0x44, 0x24, 8}, call,
				[]byte{0x48, 0x8b, 0x44, 0x24, 8})...), nil,
			[]site{{5, RAX, 40, true, Condition{}}}},
		{"spilled below what lea rdi, [rsp+16] hands out",
			returnCode(slices.Concat([]byte{0x48, 0x8d, 0x7c, 0x24, 16, 0x90, 0x48, 0x89, 0x44, 0x24, 8}, call,
				[]byte{0x48, 0x8b, 0x44, 0x24, 8})...), nil,
			[]site{{10, RAX, 40, true, Condition{}}}},
		{"spilled into what lea rdi, [rsp] hands out",
			returnCode(slices.Concat([]byte{0x48, 0x8d, 0x3c, 0x24, 0x90, 0x48, 0x89, 0x44, 0x24, 8}, call,
				[]byte{0x48, 0x8b, 0x44, 0x24, 8})...), nil, ret(30)},
		{"spilled into what mov rdi, rsp hands out",
			returnCode(slices.Concat([]byte{0x48, 0x89, 0xe7, 0x90, 0x48, 0x89, 0x44, 0x24, 8}, call,
				[]byte{0x48, 0x8b, 0x44, 0x24, 8})...), nil, ret(29)},
		{"spilled and overwritten: movl [rsp+12]",
			returnCode(0x90, 0x48, 0x89, 0x44, 0x24, 8, 0xc7, 0x44, 0x24, 12, 1, 0, 0, 0, 0x48, 0x8b, 0x44, 0x24, 8),
			nil, ret(29)},
		{"rep movsb: nothing is sure", returnCode(0x90, 0xf3, 0xa4), nil, ret(13)},
		{"frame pointer: push rbp; mov rbp, rsp; push rbx; nop; lea rsp, [rbp-8]; pop; pop; ret",
			[]byte{0x55, 0x48, 0x89, 0xe5, 0x53, 0x90, 0x48, 0x8d, 0x65, 0xf8, 0x5b, 0x5d, 0xc3}, nil,
			[]site{{5, RAX, 16, true, Condition{}}}},
		{"stack unknown for a while: and rsp", []byte{0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xf0, 0x90, 0xc9, 0xc3},
			nil, ret(10)},
		{"paths meet with other stacks: je; push; push; nop", []byte{0x74, 1, 0x53, 0x53, 0x90, 0x5b, 0xc3}, nil,
			ret(6)},
		{"a way that never returns: je ud2; nop; ret", []byte{0x90, 0x74, 1, 0xc3, 0x0f, 0x0b}, nil,
			[]site{{1, RAX, 0, true, Condition{}}}},
	}
}

// coldReturnTests are about functions in two parts.
func coldReturnTests() []returnTest {
	type site = returnSite
	call := callCode()
	return []returnTest{
		{"cold fragment that comes back: call; je cold; call; nop",
			returnCode(slices.Concat(call, []byte{0x0f, 0x84}, rel32(coldAt, 16), call, []byte{0x90})...),
			slices.Concat([]byte{0x31, 0xc0, 0xe9}, rel32(codeAt+22, coldAt-codeAt+7)),
			[]site{{21, RAX, 40, true, Condition{}}, {coldAt + 2 - codeAt, RAX, 40, true, Condition{}}}},
		{"cold fragment with its own ret",
			returnCode(slices.Concat(call, []byte{0x0f, 0x84}, rel32(coldAt, 16), call, []byte{0x90})...),
			[]byte{0x48, 0x83, 0xc4, 0x20, 0x5b, 0xc3},
			[]site{{21, RAX, 40, true, Condition{}}, {coldAt + 5 - codeAt, RAX, 0, false, Condition{}}}},
	}
}

// callCode is a call of the next instruction.
func callCode() []byte { return []byte{0xe8, 0, 0, 0, 0} }

// returnCode is hand-written code with a frame: push rbx, sub rsp 32 before, add rsp 32, pop rbx, ret after.
func returnCode(body ...byte) []byte {
	return slices.Concat([]byte{0x53, 0x48, 0x83, 0xec, 0x20}, body, []byte{0x48, 0x83, 0xc4, 0x20, 0x5b, 0xc3})
}
func TestReturnSites(t *testing.T) {
	for _, test := range returnTests() {
		text := fakeFunction(t, test.code, test.cold)
		sites, _ := text.Returns("PyOS_setsig")
		var got []returnSite
		for _, s := range sites {
			got = append(got, returnSite{int(s.Delta), s.Result, s.Pushed, s.Emulated, s.Condition})
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

func TestConditionOfABranch(t *testing.T) {
	for _, test := range []struct {
		c     Condition
		flags uint64
		want  bool
	}{
		{Condition{}, 0x246, true},
		{Condition{Mask: 0x40, Value: 0x40}, 0x246, true},
		{Condition{Mask: 0x40, Value: 0x40}, 0x202, false},
		{Condition{Mask: 0x40, Value: 0x40}.Otherwise(), 0x202, true},
		{Condition{Mask: 0x80, Value: 0}.Otherwise(), 0x246, false},
	} {
		if got := test.c.Holds(test.flags); got != test.want {
			t.Errorf("%+v.Holds(%#x) = %v", test.c, test.flags, got)
		}
	}
	if r := x86.Architecture.Results; r[RAX].Name != "rax" || r[R15].Name != "r15" || r[Zero].Name != "0" {
		t.Error("names of registers")
	}
}
