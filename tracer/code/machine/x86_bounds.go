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
		if old, ok := h.atMost[b.value]; n != math.MaxUint64 && (ok && old > n || !ok && len(h.atMost) < maxKnown) {
			h.atMost[b.value] = n
		}
	}
	limit(straight, b.straight)
	limit(taken, b.taken)
}

// maxBetween is how many instructions may lie between a comparison and its jump.
const maxBetween = 8

// bound looks for the comparison that a conditional jump depends on: of an unsigned value with a constant, or of any with zero.
func (t *tracking) bound(i int) (b bound, ok bool) {
	jump := t.graph.nodes[i].Op
	switch jump {
	case x86asm.JA, x86asm.JBE, x86asm.JAE, x86asm.JB, x86asm.JE, x86asm.JNE:
	default:
		return b, false
	}
	if i, ok = t.flags(i); !ok {
		return b, false
	}
	n, h := &t.graph.nodes[i], t.before[i]
	if at := t.atMostWhereZero(n, h); at.kind != 0 && (jump == x86asm.JE || jump == x86asm.JNE) {
		b = bound{Value(at.a), math.MaxUint64, math.MaxUint64}
		return b, b.limit(jump, at.b)
	}
	return t.compare(n, h, jump)
}

// flags returns the instruction by which the flags are set that another goes by.
func (t *tracking) flags(i int) (by int, ok bool) {
	for range maxBetween {
		if len(t.graph.nodes[i].before) != 1 {
			return 0, false
		}
		i = t.graph.nodes[i].before[0]
		switch n := &t.graph.nodes[i]; n.Op {
		case x86asm.MOV, x86asm.LEA, x86asm.PUSH, x86asm.NOP, x86asm.POP: // leave the flags alone
		case x86asm.CMP, x86asm.TEST, x86asm.OR:
			return i, true
		default:
			if !n.setsByte() {
				return 0, false
			}
		}
	}
	return 0, false
}

// compare returns what a jump says that goes by a comparison.
func (t *tracking) compare(n *node, h *holdings, jump x86asm.Op) (b bound, ok bool) {
	limit, ok := n.comparedWith()
	b = bound{t.read(n, h, n.Args[0]), math.MaxUint64, math.MaxUint64}
	return b, ok && b.value != 0 && b.limit(jump, limit)
}

// atMostWhereZero returns the termAtMost that the result of "or" or "test" of bytes is, a term of no kind where it is none.
func (t *tracking) atMostWhereZero(n *node, h *holdings) (x term) {
	if n.Op != x86asm.OR && (n.Op != x86asm.TEST || n.Args[0] != n.Args[1]) {
		return x
	}
	for _, arg := range n.Args[:2] {
		r, _ := arg.(x86asm.Reg)
		if i, ok := number(r); ok && lowByte(r) {
			if x, ok := t.terms.term(h.registers[i]); ok && x.kind == termAtMost {
				return x
			}
		}
	}
	return x
}

// lowByte reports whether a register is the lowest byte of one.
func lowByte(r x86asm.Reg) bool {
	return r >= x86asm.AL && r <= x86asm.BL || r >= x86asm.SPB && r <= x86asm.R15B
}

// setsLowByte reports whether the instruction's first operand is the lowest byte of a register.
func (in *instruction) setsLowByte() bool {
	r, ok := in.Args[0].(x86asm.Reg)
	return ok && lowByte(r)
}

// above returns what is known of the byte that an instruction sets where a value is above a constant, 0 if that is nothing.
func (t *tracking) above(n *node) Value {
	jump, ok := map[x86asm.Op]x86asm.Op{x86asm.SETA: x86asm.JA, x86asm.SETAE: x86asm.JAE}[n.Op]
	if !ok || len(n.before) == 0 {
		return 0
	}
	at := t.graph.nodes[n.before[0]].straight
	by, ok := t.flags(at)
	if !ok || t.graph.nodes[at].addr != n.addr {
		return 0
	}
	b, ok := t.compare(&t.graph.nodes[by], t.before[by], jump)
	if !ok || b.straight == math.MaxUint64 {
		return 0
	}
	return t.terms.of(term{termAtMost, uint64(b.value), b.straight})
}

// comparedWith returns the constant that an instruction compares its first operand with.
func (in *instruction) comparedWith() (limit uint64, ok bool) {
	if in.Op == x86asm.TEST {
		return 0, in.Args[0] == in.Args[1]
	}
	constant, ok := in.Args[1].(x86asm.Imm)
	return uint64(constant), ok && constant >= 0 && in.Op == x86asm.CMP
}

// limit fills in what a jump behind a comparison with a constant says. ok is false where that is nothing.
func (b *bound) limit(jump x86asm.Op, constant uint64) (ok bool) {
	switch {
	case jump == x86asm.JA:
		b.straight = constant
	case jump == x86asm.JBE:
		b.taken = constant
	case jump == x86asm.JAE && constant > 0:
		b.straight = constant - 1
	case jump == x86asm.JB && constant > 0:
		b.taken = constant - 1
	case jump == x86asm.JE:
		b.taken = constant
	case jump == x86asm.JNE:
		b.straight = constant
	default:
		return false
	}
	return true
}
