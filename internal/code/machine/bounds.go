package machine

import "ipytracer/internal/code/isa"

// limit is an upper limit of a value.
type limit struct {
	value Value
	most  uint64
}

// bound is the knowledge about values on the two ways of a conditional jump behind comparisons with constants.
type bound struct{ straight, taken []limit }

func (b bound) apply(straight, taken *holdings) {
	restrict := func(h *holdings, limits []limit) {
		for _, l := range limits {
			if old, ok := h.atMost[l.value]; ok && old > l.most || !ok && len(h.atMost) < maxKnown {
				h.atMost[l.value] = l.most
			}
		}
	}
	restrict(straight, b.straight)
	restrict(taken, b.taken)
}

// maxBetween is how many instructions may lie between a comparison and its jump.
const maxBetween = 8

// bound looks for the comparisons that a conditional jump depends on: of an unsigned value with a constant, or of any
// with zero.
func (t *tracking) bound(i int) (b bound) {
	n := &t.graph.nodes[i]
	jump := n.Relation
	if n.Kind != isa.Branch || jump == isa.NoRelation {
		return b
	}
	if n.Operands[2].Kind == isa.Constant { // it compares by itself
		value, with := t.read(n, t.before[i], &n.Operands[1]), uint64(n.Operands[2].Value)
		return bound{straight: limits(value, jump.Otherwise(), with), taken: limits(value, jump, with)}
	}
	if by, ok := t.flags(i); ok {
		b = bound{straight: t.implied(by, jump.Otherwise()), taken: t.implied(by, jump)}
	}
	return b
}

// implied returns the limits of values that follow from a relation between the operands of the instruction that set the
// flags.
func (t *tracking) implied(by int, r isa.Relation) (all []limit) {
	for range maxBetween {
		n, h := &t.graph.nodes[by], t.before[by]
		if n.Kind == isa.CompareIf && n.Else.Has(r) { // it may have compared nothing
			return all
		}
		all = append(all, t.compared(n, h, r)...)
		if n.Kind != isa.CompareIf {
			break
		}
		var ok bool
		if r = n.Relation; r == isa.NoRelation {
			break
		}
		if by, ok = t.flags(by); !ok {
			break
		}
	}
	return all
}

// compared returns the limit of a value where an instruction's comparison comes out so.
func (t *tracking) compared(n *node, h *holdings, r isa.Relation) []limit {
	if at := t.atMostWhereZero(n, h); at.kind != 0 && (r == isa.Equal || r == isa.NotEqual) {
		return limits(Value(at.a), r, at.b)
	}
	if with, ok := comparedWith(&n.Instruction); ok {
		return limits(t.read(n, h, &n.Operands[0]), r, with)
	}
	return nil
}

// limits returns the upper limit of a value in a relation with a constant.
func limits(v Value, r isa.Relation, constant uint64) []limit {
	switch {
	case v == 0:
	case r == isa.BelowOrEqual, r == isa.Equal:
		return []limit{{v, constant}}
	case r == isa.Below && constant > 0:
		return []limit{{v, constant - 1}}
	}
	return nil
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
	l := t.implied(by, n.Relation.Otherwise())
	if len(l) != 1 || t.graph.nodes[by].Kind == isa.CompareIf {
		return 0
	}
	return t.terms.of(term{termAtMost, uint64(l[0].value), l[0].most})
}

// comparedWith returns the constant that an instruction compares its first operand with.
func comparedWith(in *isa.Instruction) (limit uint64, ok bool) {
	if in.Kind == isa.Test {
		return 0, in.Operands[0] == in.Operands[1]
	}
	o := &in.Operands[1]
	compares := in.Kind == isa.Compare || in.Kind == isa.CompareIf
	return uint64(o.Value), o.Kind == isa.Constant && o.Value >= 0 && compares
}
