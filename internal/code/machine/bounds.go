package machine

import "ipytracer/internal/code/isa"

// limit is an upper limit of a value.
type limit struct {
	value Value
	most  uint64
}

// bound has the limits that hold on each branch of a conditional jump, because of comparisons with constants before it.
type bound struct{ straight, taken []limit }

// apply adds the limits to the values on each branch.
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

// maxBetween is how many instructions are searched from a jump back to its comparison.
const maxBetween = 8

// bound returns the limits that follow from the branches of node i, if it is a conditional jump. It understands
// comparisons of an unsigned value with a constant, and tests for zero.
func (t *tracking) bound(i int) (b bound) {
	n := &t.graph.nodes[i]
	jump := n.Relation
	if n.Kind != isa.Branch || jump == isa.NoRelation {
		return b
	}
	if n.Operands[2].Kind == isa.Constant { // the jump itself compares
		value, with := t.read(n, t.before[i], &n.Operands[1]), uint64(n.Operands[2].Value)
		return bound{straight: limits(value, jump.Otherwise(), with), taken: limits(value, jump, with)}
	}
	if by, ok := t.flags(i); ok {
		b = bound{straight: t.implied(by, jump.Otherwise()), taken: t.implied(by, jump)}
	}
	return b
}

// implied returns the limits that follow if relation r holds between the operands of node by, which set the flags. For
// a chain of conditional comparisons it collects the limits of all.
func (t *tracking) implied(by int, r isa.Relation) (implied []limit) {
	for range maxBetween {
		n, h := &t.graph.nodes[by], t.before[by]
		if n.Kind == isa.CompareIf && n.Else.Has(r) { // r may hold without a comparison
			return implied
		}
		implied = append(implied, t.compared(n, h, r)...)
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
	return implied
}

// compared returns the limit that follows if relation r holds between the operands of n.
func (t *tracking) compared(n *node, h *holdings, r isa.Relation) []limit {
	if at := t.atMostWhereZero(n, h); at.kind != 0 && (r == isa.Equal || r == isa.NotEqual) {
		return limits(Value(at.a), r, at.b)
	}
	if with, ok := comparedWith(&n.Instruction); ok {
		return limits(t.read(n, h, &n.Operands[0]), r, with)
	}
	return nil
}

// limits returns the upper limit of v that follows if relation r holds between v and the constant.
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

// flags returns the node that sets the flags which node i reads.
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

// atMostWhereZero looks for a termAtMost in a byte that an "or" or a "test" reads. If the instruction's result is zero,
// so is that byte, and the term's limit holds. It returns the zero term if there is none.
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

// above returns the value of the byte that n, an [isa.SetByte], sets to whether another value is above a constant: a
// termAtMost. It returns 0 for any other condition.
func (t *tracking) above(n *node) Value {
	if n.Relation != isa.Above && n.Relation != isa.AboveOrEqual || len(n.before) == 0 {
		return 0
	}
	at := t.graph.nodes[n.before[0]].straight
	by, ok := t.flags(at)
	if !ok || t.graph.nodes[at].Addr != n.Addr {
		return 0
	}
	limits := t.implied(by, n.Relation.Otherwise())
	if len(limits) != 1 || t.graph.nodes[by].Kind == isa.CompareIf {
		return 0
	}
	return t.terms.of(term{termAtMost, uint64(limits[0].value), limits[0].most})
}

// comparedWith returns the constant with which an instruction compares its first operand; for a test of an operand with
// itself, 0.
func comparedWith(in *isa.Instruction) (limit uint64, ok bool) {
	if in.Kind == isa.Test {
		return 0, in.Operands[0] == in.Operands[1]
	}
	o := &in.Operands[1]
	compares := in.Kind == isa.Compare || in.Kind == isa.CompareIf
	return uint64(o.Value), o.Kind == isa.Constant && o.Value >= 0 && compares
}
