package machine

import (
	"math"

	"ipytracer/tracer/code/isa"
)

// bound is the knowledge about a value on the two ways of a conditional jump behind a comparison with a constant.
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

// bound looks for the comparison that a conditional jump depends on: of an unsigned value with a constant, or of any
// with zero.
func (t *tracking) bound(i int) (b bound, ok bool) {
	jump := t.graph.nodes[i].Relation
	if t.graph.nodes[i].Kind != isa.Branch || jump == isa.NoRelation {
		return b, false
	}
	if i, ok = t.flags(i); !ok {
		return b, false
	}
	n, h := &t.graph.nodes[i], t.before[i]
	if at := t.atMostWhereZero(n, h); at.kind != 0 && (jump == isa.Equal || jump == isa.NotEqual) {
		b = bound{Value(at.a), math.MaxUint64, math.MaxUint64}
		return b, b.limit(jump, at.b)
	}
	return t.compare(n, h, jump)
}

// flags returns the instruction that sets the flags for another.
func (t *tracking) flags(i int) (by int, ok bool) {
	for range maxBetween {
		if len(t.graph.nodes[i].before) != 1 {
			return 0, false
		}
		i = t.graph.nodes[i].before[0]
		switch t.graph.nodes[i].Flags {
		case isa.FlagsSet:
			return i, true
		case isa.FlagsLost:
			return 0, false
		}
	}
	return 0, false
}

// compare returns the bounds of a jump that goes by a comparison.
func (t *tracking) compare(n *node, h *holdings, jump isa.Relation) (b bound, ok bool) {
	limit, ok := comparedWith(&n.Instruction)
	b = bound{t.read(n, h, &n.Operands[0]), math.MaxUint64, math.MaxUint64}
	return b, ok && b.value != 0 && b.limit(jump, limit)
}

// atMostWhereZero returns the termAtMost that the result of "or" or "test" of bytes is, a term of no kind where it is
// none.
func (t *tracking) atMostWhereZero(n *node, h *holdings) (x term) {
	if n.Kind != isa.Or && (n.Kind != isa.Test || n.Operands[0] != n.Operands[1]) {
		return x
	}
	for i := range n.Operands[:2] {
		if o := &n.Operands[i]; o.LowByte() {
			if x, ok := t.terms.term(h.in(o.Base)); ok && x.kind == termAtMost {
				return x
			}
		}
	}
	return x
}

// above returns the value of a byte that an instruction sets where another value is above a constant, 0 if that is not
// known.
func (t *tracking) above(n *node) Value {
	if n.Relation != isa.Above && n.Relation != isa.AboveOrEqual || len(n.before) == 0 {
		return 0
	}
	at := t.graph.nodes[n.before[0]].straight
	by, ok := t.flags(at)
	if !ok || t.graph.nodes[at].Addr != n.Addr {
		return 0
	}
	b, ok := t.compare(&t.graph.nodes[by], t.before[by], n.Relation)
	if !ok || b.straight == math.MaxUint64 {
		return 0
	}
	return t.terms.of(term{termAtMost, uint64(b.value), b.straight})
}

// comparedWith returns the constant that an instruction compares its first operand with.
func comparedWith(in *isa.Instruction) (limit uint64, ok bool) {
	if in.Kind == isa.Test {
		return 0, in.Operands[0] == in.Operands[1]
	}
	o := &in.Operands[1]
	return uint64(o.Value), o.Kind == isa.Constant && o.Value >= 0 && in.Kind == isa.Compare
}

// limit fills in the bounds of a jump behind a comparison with a constant. ok is false where there are none.
func (b *bound) limit(jump isa.Relation, constant uint64) (ok bool) {
	switch {
	case jump == isa.Above:
		b.straight = constant
	case jump == isa.BelowOrEqual:
		b.taken = constant
	case jump == isa.AboveOrEqual && constant > 0:
		b.straight = constant - 1
	case jump == isa.Below && constant > 0:
		b.taken = constant - 1
	case jump == isa.Equal:
		b.taken = constant
	case jump == isa.NotEqual:
		b.straight = constant
	default:
		return false
	}
	return true
}
