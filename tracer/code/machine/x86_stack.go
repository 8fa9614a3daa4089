package machine

import "golang.org/x/arch/x86/x86asm"

// stack follows the stack pointer through straight-line code.
type stack struct {
	pushed int64 // rsp at the function's entry minus rsp now
	known  bool
	frame  int64 // the same for rbp, where framed
	framed bool
}

// same says whether two paths meet with their stacks alike.
func (s stack) same(o stack) bool {
	return s.pushed == o.pushed && s.known == o.known && s.framed == o.framed && (!s.framed || s.frame == o.frame)
}

// step updates the state for one instruction that is not a jump. Calls leave rsp as it was.
func (s *stack) step(in *instruction) {
	switch in.Op {
	case x86asm.PUSH, x86asm.PUSHFQ:
		s.pushed += 8
		return
	case x86asm.POP, x86asm.POPFQ:
		s.pushed -= 8
	case x86asm.LEAVE:
		s.pushed, s.known = s.frame-8, s.known && s.framed
		s.framed = false
		return
	case x86asm.RET, x86asm.CALL:
		return
	}
	r, _ := in.Args[0].(x86asm.Reg)
	switch r {
	case x86asm.RSP, x86asm.ESP:
		s.stackPointer(in)
	case x86asm.RBP, x86asm.EBP:
		s.framePointer(in)
	}
}

func (s *stack) stackPointer(in *instruction) {
	switch in.Op {
	case x86asm.CMP, x86asm.TEST:
	case x86asm.SUB, x86asm.ADD:
		imm, ok := in.Args[1].(x86asm.Imm)
		if in.Op == x86asm.ADD {
			imm = -imm
		}
		s.pushed, s.known = s.pushed+int64(imm), s.known && ok
	case x86asm.LEA:
		m, ok := in.Args[1].(x86asm.Mem)
		switch {
		case ok && m.Index == 0 && m.Base == x86asm.RSP:
			s.pushed -= m.Disp
		case ok && m.Index == 0 && m.Base == x86asm.RBP && s.framed:
			s.pushed, s.known = s.frame-m.Disp, true
		default:
			s.known = false
		}
	case x86asm.MOV:
		if in.Args[1] == x86asm.RBP && s.framed {
			s.pushed, s.known = s.frame, true
			return
		}
		s.known = false
	default:
		s.known = false
	}
}

func (s *stack) framePointer(in *instruction) {
	switch in.Op {
	case x86asm.CMP, x86asm.TEST, x86asm.PUSH:
	case x86asm.MOV:
		s.framed = in.Args[1] == x86asm.RSP && s.known
		s.frame = s.pushed
	default:
		s.framed = false
	}
}
