package machine

import "ipytracer/internal/code/isa"

// locations is a set of places that hold a value. The lowest bits are general registers, the highest bit is the
// constant 0, and the bits between are spill slots (see [slotTable]).
type locations uint64

const (
	zero     locations = 1 << 63
	anywhere           = ^locations(0)
)

// general returns the location of a general register, 0 for none.
func general(r isa.Register) locations { return locations(r.Set()) }

// returned returns the location in which functions return their results.
func (g *graph) returned() locations { return general(g.arch.Result) }

// effect is an instruction's effect on the values that locations hold.
type effect struct {
	kills            locations // lose what they held
	source, copiedTo locations // copiedTo receives the value of source; 0 if nothing is copied
	// otherSource and otherCopiedTo are the source and the destination of a second copy.
	otherSource, otherCopiedTo locations
}

// preimage returns the locations that must hold a value before the instruction so that the locations in after hold it
// afterwards.
func (e effect) preimage(after locations) locations {
	before := after &^ e.kills
	if after&e.copiedTo != 0 {
		before |= e.source
	}
	if after&e.otherCopiedTo != 0 {
		before |= e.otherSource
	}
	return before
}

// findResults sets the field result of each node: the locations that hold the function's result there. It goes
// backwards from the returns, where the result is in its register. At a fork it keeps only the locations that hold the
// result on both paths.
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

// effect returns the effect of an instruction. An unknown instruction kills every location.
func (g *graph) effect(n *node) effect {
	top := -n.stack.pushed
	switch n.Kind {
	case isa.Return, isa.Jump:
		return effect{}
	case isa.Call:
		return effect{kills: locations(g.arch.Clobbered) | g.slots.within(-maxFrame, top)}
	case isa.Push:
		return effect{kills: g.slots.within(top-isa.Word, top)}
	case isa.Branch:
		return effect{kills: general(g.arch.Counter)}
	case isa.Leave:
		return effect{kills: general(g.arch.FramePointer)}
	}
	if !n.Plain {
		return effect{kills: anywhere &^ zero}
	}
	e := effect{kills: general(n.Writes) | locations(n.Also)}
	if m := &n.Operands[0]; m.Memory() && !n.Compares() {
		e.kills |= g.written(n, m)
	}
	e.source, e.copiedTo = g.copied(n, &n.Operands[0], &n.Operands[1])
	e.kills |= e.copiedTo
	if n.Kind == isa.Pair {
		g.addSecondCopy(n, &e)
	}
	return e
}

// addSecondCopy adds to e the second copy of an [isa.Pair].
func (g *graph) addSecondCopy(n *node, e *effect) {
	if m := &n.Operands[2]; m.Memory() {
		e.kills |= g.written(n, m)
	}
	from, to := g.copied(n, &n.Operands[2], &n.Operands[3])
	e.kills |= to
	e.otherSource, e.otherCopiedTo = from, to
}

// maxFrame is more than any stack frame.
const maxFrame = 1 << 32

// written returns the slots that a store to m may change. A store to memory other than the stack changes none, because
// the function has handed out the address of no slot.
func (g *graph) written(n *node, m *isa.Operand) locations {
	if at, ok := g.slot(n, m); ok {
		return g.slots.within(at, at+written(m))
	}
	if g.ofStack(n, m) {
		return g.slots.within(-maxFrame, 0)
	}
	return 0
}

// maxStore is more bytes than any instruction stores.
const maxStore = 64

// written returns the largest number of bytes that a store to an operand writes.
func written(m *isa.Operand) int64 {
	if m.Width == 0 {
		return maxStore
	}
	return int64(m.Width)
}

// copied returns the locations of operands src and dst if the instruction copies eight bytes from src to dst. It
// returns 0 and 0 if it does anything else.
func (g *graph) copied(n *node, dst, src *isa.Operand) (from, to locations) {
	switch {
	case n.Kind == isa.Clear:
		return zero, general(dst.Base)
	case n.Kind != isa.Move && n.Kind != isa.Pair:
	case dst.Fills() && src.Kind == isa.Constant && src.Value == 0:
		return zero, general(dst.Base)
	default:
		if from, to = g.location(n, src), g.location(n, dst); from != 0 && to != 0 {
			return from, to
		}
	}
	return 0, 0
}

// location returns the location of an operand that is a whole register or a slot of the stack; 0 for any other.
func (g *graph) location(n *node, o *isa.Operand) locations {
	if o.Whole() {
		return general(o.Base)
	}
	if at, ok := g.slot(n, o); ok && o.Width == isa.Word {
		return g.slots.bit(at)
	}
	return 0
}

// Register is the place of a function's result at a [ReturnSite].
type Register = isa.Result

// Returned is the register that functions return in.
const Returned = isa.Returned

// Condition is the state of the processor's flags in which a hit counts.
type Condition = isa.Condition

// resultRegister chooses one of the locations that hold a result: zero if it can, else the architecture's first choice.
// ok is false if the result is in none that a site may name.
func (g *graph) resultRegister(l locations) (r Register, ok bool) {
	best, found := Register(0), false
	for r, place := range g.arch.Results {
		switch {
		case place.Register == isa.None && l&zero != 0:
			return Register(r), true
		case !found && l&general(place.Register) != 0:
			best, found = Register(r), true
		}
	}
	return best, found
}
