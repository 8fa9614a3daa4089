package machine

import "golang.org/x/arch/x86/x86asm"

// locations is a set of places that hold a value: general registers, the constant 0, spill slots.
type locations uint64

const (
	zero      locations = 1 << 16
	firstSlot locations = 1 << 17
	maxSlots            = 64 - 17
	anywhere            = ^locations(0)
)

// general returns the location of a general register, 0 for any other.
func general(r x86asm.Reg) locations {
	if r, ok := family(r); ok {
		return 1 << (r - x86asm.RAX)
	}
	return 0
}

// returned is where a function leaves its result.
var returned = general(x86asm.RAX)

// callClobbers are the registers that a call does not preserve: System V ABI for x86-64, figure 3.4.
var callClobbers = general(x86asm.RAX) | general(x86asm.RCX) | general(x86asm.RDX) | general(x86asm.RSI) | general(x86asm.RDI) |
	general(x86asm.R8) | general(x86asm.R9) | general(x86asm.R10) | general(x86asm.R11)

// effect is what an instruction does to the values that locations hold.
type effect struct {
	kills            locations // hold something else afterwards
	source, copiedTo locations // copiedTo, if any, holds the value of source afterwards
}

// preimage returns the locations whose value, before the instruction, is the one that a location of after
// holds afterwards.
func (e effect) preimage(after locations) locations {
	before := after &^ e.kills
	if after&e.copiedTo != 0 {
		before |= e.source
	}
	return before
}

// findResults works out for each node which locations hold the function's result: backwards from the returns,
// where it is rax, and at a fork only what holds it both ways.
func (g *graph) findResults() {
	g.findSlots()
	effects := make([]effect, len(g.nodes))
	for i := range g.nodes {
		g.nodes[i].result = anywhere
		effects[i] = g.effect(&g.nodes[i])
	}
	for changed := true; changed; {
		changed = false
		for i := len(g.nodes) - 1; i >= 0; i-- {
			n := &g.nodes[i]
			after := anywhere
			n.next(func(j int) { after &= g.nodes[j].result })
			result := effects[i].preimage(after)
			if n.exit != 0 {
				result = n.exit
			}
			changed = changed || result != n.result
			n.result = result
		}
	}
}

// effect describes an instruction. What it does not understand loses every value.
func (g *graph) effect(n *node) effect {
	top := -n.stack.pushed
	switch {
	case n.Op == x86asm.RET, n.Op == x86asm.JMP:
		return effect{}
	case n.Op == x86asm.CALL:
		return effect{kills: callClobbers | g.slots.within(-maxFrame, top)}
	case n.Op == x86asm.PUSH:
		return effect{kills: g.slots.within(top-8, top)}
	case n.conditional():
		return effect{kills: general(x86asm.RCX)} // loop counts rcx down
	case n.Op == x86asm.LEAVE:
		return effect{kills: general(x86asm.RBP)}
	}
	reg, known := n.writes()
	if !known {
		return effect{kills: anywhere &^ zero}
	}
	e := effect{kills: general(reg)}
	if m, ok := n.Args[0].(x86asm.Mem); ok && n.Op != x86asm.CMP && n.Op != x86asm.TEST {
		e.kills |= g.written(n, m)
	}
	e.source, e.copiedTo = g.copied(n)
	e.kills |= e.copiedTo
	return e
}

// maxFrame is more than any stack frame.
const maxFrame = 1 << 32

// written returns the slots that a store to m may change. Other memory than the stack has no slots: their
// addresses were never handed out.
func (g *graph) written(n *node, m x86asm.Mem) locations {
	size := int64(n.MemBytes)
	if size == 0 {
		size = 64
	}
	at, ok := n.stack.slot(m)
	if ok {
		return g.slots.within(at, at+size)
	}
	_, base := n.stack.pointer(m.Base)
	_, index := n.stack.pointer(m.Index)
	if base || index {
		return g.slots.within(-maxFrame, 0)
	}
	return 0
}

// copied returns from where to where an instruction copies eight bytes, if that is all it does.
func (g *graph) copied(n *node) (from, to locations) {
	place := func(arg x86asm.Arg) locations {
		switch a := arg.(type) {
		case x86asm.Reg:
			if a >= x86asm.RAX && a <= x86asm.R15 {
				return general(a)
			}
		case x86asm.Mem:
			if at, ok := n.stack.slot(a); ok && n.MemBytes == 8 {
				return g.slots.bit(at)
			}
		}
		return 0
	}
	dst, _ := n.Args[0].(x86asm.Reg)
	whole := dst >= x86asm.EAX && dst <= x86asm.R15 // writing 32 bits clears the upper half
	switch {
	case n.Op == x86asm.XOR && whole && n.Args[0] == n.Args[1]:
		return zero, general(dst)
	case n.Op == x86asm.MOV && whole && n.Args[1] == x86asm.Imm(0):
		return zero, general(dst)
	case n.Op == x86asm.MOV:
		if from, to = place(n.Args[1]), place(n.Args[0]); from != 0 && to != 0 {
			return from, to
		}
	}
	return 0, 0
}
