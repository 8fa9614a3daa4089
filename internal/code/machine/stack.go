package machine

import "ipytracer/internal/code/isa"

// stack follows the stack pointer through straight-line code.
type stack struct {
	pushed int64 // the stack pointer at the function's entry minus that now
	known  bool
	frame  int64 // the same for the frame pointer, where framed
	framed bool
}

// same reports whether two paths meet with their stacks alike.
func (s stack) same(o stack) bool {
	return s.pushed == o.pushed && s.known == o.known && s.framed == o.framed && (!s.framed || s.frame == o.frame)
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
