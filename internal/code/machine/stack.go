package machine

import "ipytracer/internal/code/isa"

// stack is the state of the stack pointer and the frame pointer at a place in a function. The unit is bytes.
type stack struct {
	pushed int64 // the stack pointer at the function's entry minus the stack pointer here, if known
	known  bool
	frame  int64 // the stack pointer at the function's entry minus the frame pointer here, if framed
	framed bool
}

// same reports whether two states are equal.
func (s stack) same(other stack) bool {
	sameFrame := s.framed == other.framed && (!s.framed || s.frame == other.frame)
	return s.pushed == other.pushed && s.known == other.known && sameFrame
}

// step updates the state for one instruction that is not a jump. Calls leave the stack pointer as it was.
func (s *stack) step(in *isa.Instruction) {
	switch in.Stack {
	case isa.StackMoves:
		s.pushed += in.By
	case isa.StackFrame:
		if s.known = s.framed; s.framed {
			s.pushed = s.frame - in.By
		}
	case isa.StackLeave:
		s.pushed, s.known, s.framed = s.frame-in.By, s.known && s.framed, false
	case isa.StackLost:
		s.known = false
	}
	switch in.Frame {
	case isa.FrameSet:
		s.frame, s.framed = s.pushed-in.FrameBy, s.known
	case isa.FrameLost:
		s.framed = false
	}
}
