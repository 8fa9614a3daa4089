package machine

import (
	"math"

	"golang.org/x/arch/x86/x86asm"
)

// bound is what a conditional jump behind a comparison with a constant says of a value on each of its two ways.
type bound struct {
	value           Value
	straight, taken uint64 // at most; no limit: math.MaxUint64
}

func (b bound) apply(straight, taken *holdings) {
	limit := func(h *holdings, n uint64) {
		if old, ok := h.atMost[b.value]; n != math.MaxUint64 && (!ok || old > n) {
			h.atMost[b.value] = n
		}
	}
	limit(straight, b.straight)
	limit(taken, b.taken)
}

// maxBetween is how many instructions may lie between a comparison and its jump.
const maxBetween = 8

// bound looks for the comparison that an unsigned conditional jump depends on.
func (t *tracking) bound(i int) (b bound, ok bool) {
	jump := &t.graph.nodes[i]
	switch jump.Op {
	case x86asm.JA, x86asm.JBE, x86asm.JAE, x86asm.JB:
	default:
		return b, false
	}
	for range maxBetween {
		if len(t.graph.nodes[i].before) != 1 {
			return b, false
		}
		i = t.graph.nodes[i].before[0]
		n := &t.graph.nodes[i]
		switch n.Op {
		case x86asm.MOV, x86asm.LEA, x86asm.PUSH, x86asm.NOP, x86asm.POP: // leave the flags alone
			continue
		case x86asm.CMP:
		default:
			return b, false
		}
		limit, constant := n.Args[1].(x86asm.Imm)
		b.value = t.read(n, t.before[i], n.Args[0])
		if !constant || limit <= 0 || b.value == 0 {
			return b, false
		}
		b.straight, b.taken = math.MaxUint64, math.MaxUint64
		switch jump.Op {
		case x86asm.JA:
			b.straight = uint64(limit)
		case x86asm.JBE:
			b.taken = uint64(limit)
		case x86asm.JAE:
			b.straight = uint64(limit) - 1
		case x86asm.JB:
			b.taken = uint64(limit) - 1
		}
		return b, true
	}
	return b, false
}
