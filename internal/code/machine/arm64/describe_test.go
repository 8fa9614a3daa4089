package arm64

import (
	"fmt"
	"strings"

	"ipytracer/internal/code/isa"
)

var kindNames = map[isa.Kind]string{
	isa.Other: "other", isa.Nop: "nop", isa.Return: "return", isa.Call: "call", isa.Jump: "jump", isa.Branch: "branch",
	isa.Trap: "trap", isa.SystemCall: "system call", isa.Compare: "compare", isa.CompareIf: "compare if",
	isa.Test: "test", isa.Move: "move", isa.Pair: "pair", isa.Address: "address", isa.Clear: "clear",
	isa.Multiply: "multiply", isa.Insert: "insert",
}

// describe writes an instruction as text: what there is to know of it, in short.
func describe(in isa.Instruction, ok bool) string {
	if !ok {
		return "unknown"
	}
	out := []string{kindNames[in.Kind]}
	for i := range in.Operands {
		if o := operand(&in.Operands[i]); o != "" {
			out = append(out, o)
		}
	}
	add := func(holds bool, format string, args ...any) {
		if holds {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	add(in.Emulated, "cheap")
	add(in.Refused, "refused")
	add(in.MarksEntry, "mark")
	add(!in.Plain && in.Kind == isa.Other, "writes anything")
	add(in.Writes != isa.None, "writes %s", name(in.Writes))
	for r := range in.Also.All {
		add(true, "and %s", name(r))
	}
	add(in.Relation != isa.NoRelation, "relation %d", in.Relation)
	add(in.Kind == isa.CompareIf, "else %#x", in.Else)
	add(in.Stack == isa.StackMoves, "pushes %d", in.By)
	add(in.Stack == isa.StackFrame, "stack at frame%+d", in.By)
	add(in.Stack == isa.StackLost, "stack lost")
	add(in.Frame == isa.FrameSet, "frame at stack%+d", in.FrameBy)
	add(in.Frame == isa.FrameLost, "frame lost")
	add(in.Exclusive != isa.NotExclusive, "exclusive %d", in.Exclusive)
	add(in.Plain && in.Flags == isa.FlagsLost, "flags lost")
	return strings.Join(out, ", ")
}

func name(r isa.Register) string {
	if r == stackPointer {
		return "sp"
	}
	return fmt.Sprintf("x%d", r.Number())
}

func operand(o *isa.Operand) string {
	switch o.Kind {
	case isa.InRegister:
		return fmt.Sprintf("%s:%d", name(o.Base), o.Width)
	case isa.InMemory:
		index := ""
		if o.Index != isa.None {
			index = "+" + name(o.Index)
		}
		return fmt.Sprintf("[%s%+d%s]:%d", name(o.Base), o.Value, index, o.Width)
	case isa.AtAddress:
		return fmt.Sprintf("at %#x", o.Value)
	case isa.Constant:
		return fmt.Sprintf("%d", o.Value)
	case isa.Code:
		return fmt.Sprintf("to %#x", o.Value)
	case isa.Elsewhere:
		return "elsewhere"
	}
	return ""
}
