package machine

import "ipytracer/internal/code/isa"

// kinds are the kinds of operations; others are unknown.
var kinds = map[operation]isa.Kind{
	opNop: isa.Nop, opMark: isa.Nop, opRet: isa.Return, opTrap: isa.Trap, opSystemCall: isa.SystemCall,
	opPush: isa.Push, opPop: isa.Pop, opLeave: isa.Leave, opFrame: isa.Move, opMove: isa.Move, opClear: isa.Clear,
	opMultiply: isa.Multiply, opMystery: isa.Other, opCallRegister: isa.Call, opJumpRegister: isa.Jump,
	opGrow: isa.Other, opConstant: isa.Move, opCompare: isa.Compare, opCall: isa.Call, opJump: isa.Jump,
	opBranch: isa.Branch, opLoadFrom: isa.Move, opAddressOf: isa.Address, opCallThrough: isa.Call,
	opJumpThrough: isa.Jump, opLoad: isa.Move, opStore: isa.Move, opAddress: isa.Address,
}

func decode(code []byte, addr uint64) (in isa.Instruction, ok bool) {
	if len(code) < Size {
		return in, false
	}
	op := operation(code[0])
	kind, ok := kinds[op]
	if !ok || code[1] > 7 {
		return in, false
	}
	in = isa.Instruction{Addr: addr, Len: Size, Kind: kind, MarksEntry: op == opMark, Operands: operands(code, addr)}
	switch kind {
	case isa.Nop, isa.Call, isa.Jump, isa.Branch, isa.Push:
		in.Emulated = in.Operands[0].Kind != isa.InRegister && !in.MarksEntry || kind == isa.Push
	}
	switch kind {
	case isa.Move, isa.Address, isa.Clear, isa.Pop:
		in.Plain, in.Writes = true, in.Operands[0].Base
		if in.Operands[0].Kind != isa.InRegister {
			in.Writes = isa.None
		}
	case isa.Nop, isa.Push, isa.Compare:
		in.Plain = true
	case isa.Branch:
		in.Relation = isa.Relation(code[1])
		in.Condition, in.HasCondition = condition(in.Relation)
	}
	if kind == isa.Compare {
		in.Flags = isa.FlagsSet
	} else if in.Plain {
		in.Flags = isa.FlagsKept
	}
	moves(&in, op)
	return in, true
}

// condition returns when a branch is taken: of the toy's flags, bit 3 is that of equal numbers, and bit 5 that of the
// lesser one.
func condition(r isa.Relation) (taken isa.Condition, ok bool) {
	const equal, below = 1 << 3, 1 << 5
	switch r {
	case isa.Equal:
		return isa.Condition{Mask: equal, Value: equal}, true
	case isa.NotEqual:
		return isa.Condition{Mask: equal}, true
	case isa.Below:
		return isa.Condition{Mask: below, Value: below}, true
	case isa.AboveOrEqual:
		return isa.Condition{Mask: below}, true
	}
	return taken, false
}

// last returns the number of 16 bits that an instruction ends with.
func last(code []byte) int64 { return int64(int16(uint16(code[2]) | uint16(code[3])<<8)) }

func register(n byte) isa.Operand {
	return isa.Operand{Kind: isa.InRegister, Base: isa.Numbered(int(n & 7)), Width: isa.Word}
}

func operands(code []byte, addr uint64) (all [4]isa.Operand) {
	there := int64(addr) + Size + Size*last(code)
	word := isa.Operand{Kind: isa.InMemory, Base: isa.Numbered(int(code[2] & 7)), Width: isa.Word}
	word.Value = isa.Word * int64(int8(code[3]))
	switch operation(code[0]) {
	case opPush, opPop, opCallRegister, opJumpRegister, opClear:
		all[0] = register(code[1])
	case opFrame:
		all[0], all[1] = register(number(FP)), register(number(SP))
	case opMove, opMultiply:
		all[0], all[1] = register(code[1]), register(code[2])
	case opConstant, opCompare:
		all[0], all[1] = register(code[1]), isa.Operand{Kind: isa.Constant, Value: last(code)}
	case opCall, opJump, opBranch:
		all[0] = isa.Operand{Kind: isa.Code, Value: there}
	case opCallThrough, opJumpThrough:
		all[0] = isa.Operand{Kind: isa.AtAddress, Width: isa.Word, Value: there}
	case opLoadFrom, opAddressOf:
		all[0], all[1] = register(code[1]), isa.Operand{Kind: isa.AtAddress, Width: isa.Word, Value: there}
	case opLoad, opAddress:
		all[0], all[1] = register(code[1]), word
	case opStore:
		all[0], all[1] = word, register(code[1])
	case opGrow:
		all[0], all[1] = register(number(SP)), isa.Operand{Kind: isa.Constant, Value: last(code)}
	}
	return all
}

// moves fills in the effects on the stack's and the frame's pointers.
func moves(in *isa.Instruction, op operation) {
	switch op {
	case opPush:
		in.Stack, in.By = isa.StackMoves, isa.Word
		return
	case opPop:
		in.Stack, in.By = isa.StackMoves, -isa.Word
	case opGrow:
		in.Plain, in.Writes = true, SP
		in.Stack, in.By = isa.StackMoves, isa.Word*in.Operands[1].Value
		return
	case opLeave:
		in.Stack, in.By = isa.StackLeave, isa.Word
		return
	case opFrame:
		in.Frame = isa.FrameSet
		return
	}
	switch in.Writes {
	case SP:
		in.Stack = isa.StackLost
	case FP:
		in.Frame = isa.FrameLost
	}
}

// scan looks at every fourth byte: there are no others at which an instruction begins.
func scan(addr uint64, code []byte, found func(isa.Reference) bool) {
	references := map[operation]isa.ReferenceKind{
		opCall: isa.Calls, opJump: isa.Calls, opBranch: isa.Branches,
		opCallThrough: isa.Through, opJumpThrough: isa.Through,
		opLoadFrom: isa.Loads, opAddressOf: isa.Takes,
	}
	for i := int(-addr % Size); i+Size <= len(code); i += Size {
		kind, ok := references[operation(code[i])]
		if !ok {
			continue
		}
		at := addr + uint64(i)
		to := uint64(int64(at) + Size + Size*last(code[i:]))
		if !found(isa.Reference{At: at, To: to, Kind: kind}) {
			return
		}
	}
}

// stub finds a load of the pointer and a jump to where it points: no instruction of the toy's stubs does both.
func stub(decode func(addr uint64) (isa.Instruction, bool), addr uint64, _ int) (pointer uint64, ok bool) {
	load, ok := decode(addr)
	if from := &load.Operands[1]; !ok || load.Kind != isa.Move || !from.Relative() {
		return 0, false
	}
	jump, ok := decode(load.End())
	to, isRegister := jump.ThroughRegister()
	if !ok || jump.Kind != isa.Jump || !isRegister || to != load.Operands[0].Base {
		return 0, false
	}
	return uint64(load.Operands[1].Value), true
}
