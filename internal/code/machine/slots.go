package machine

import (
	"math"

	"ipytracer/internal/code/isa"
)

// slotTable has the function's spill slots: words on the stack that only the function itself can reach. A slot is
// identified by its offset from the stack pointer at entry, which is negative.
type slotTable struct {
	// escaped is the lowest stack offset whose address the function hands out. An object extends upwards from its
	// address, so everything below escaped belongs to the function alone.
	escaped int64
	offsets []int64   // the slots that are copied to or from; offsets[i] is location first<<i
	first   locations // the first bit behind those of the registers
	room    int       // the number of bits for slots
}

// newSlotTable returns a table without slots. The highest bit of [locations] is no slot but the constant 0.
func newSlotTable(a *isa.Architecture) slotTable {
	return slotTable{first: 1 << a.Count, room: 63 - a.Count}
}

// findSlots fills g.slots.
func (g *graph) findSlots() {
	for i := range g.nodes {
		g.slots.escaped = min(g.slots.escaped, g.escape(&g.nodes[i]))
	}
	for i := range g.nodes {
		n := &g.nodes[i]
		for o := range n.Operands {
			m := &n.Operands[o]
			copies := n.Kind == isa.Move || n.Kind == isa.Pair
			if !m.Memory() || !copies || m.Width != isa.Word || len(g.slots.offsets) == g.slots.room {
				continue
			}
			if at, ok := g.slot(n, m); ok && at+isa.Word <= g.slots.escaped && g.slots.bit(at) == 0 {
				g.slots.offsets = append(g.slots.offsets, at)
			}
		}
	}
}

// bit returns the location of the slot at an offset; 0 where there is no slot.
func (t *slotTable) bit(at int64) locations {
	for i, o := range t.offsets {
		if o == at {
			return t.first << i
		}
	}
	return 0
}

// within returns the slots that share a byte with [from, to).
func (t *slotTable) within(from, to int64) (l locations) {
	for i, o := range t.offsets {
		if o < to && from < o+isa.Word {
			l |= t.first << i
		}
	}
	return l
}

// pointer returns the stack address that a register holds before an instruction, as an offset. ok is false if the
// register is not known to hold one.
func (g *graph) pointer(n *node, r isa.Register) (at int64, ok bool) {
	switch {
	case r == isa.None:
	case r == g.arch.StackPointer:
		return -n.stack.pushed, true
	case r == g.arch.FramePointer && n.stack.framed:
		return -n.stack.frame, true
	}
	return 0, false
}

// slot returns the stack offset of an operand. ok is false if the operand is not on the stack, or its address also
// depends on an index.
func (g *graph) slot(n *node, m *isa.Operand) (at int64, ok bool) {
	if m.Kind != isa.InMemory || m.Index != isa.None || m.Apart {
		return 0, false
	}
	at, ok = g.pointer(n, m.Base)
	return at + m.Value, ok
}

// ofStack reports whether the address of an operand in memory is computed from a known stack address.
func (g *graph) ofStack(n *node, m *isa.Operand) bool {
	if m.Kind != isa.InMemory {
		return false
	}
	_, base := g.pointer(n, m.Base)
	_, index := g.pointer(n, m.Index)
	return base || index
}

// everything is the offset that escape returns if any word of the stack may have been handed out.
const everything = math.MinInt64

// escape returns the lowest stack offset whose address an instruction hands out: it copies the address to where other
// code may find it and write there. escape returns 0 if the instruction hands out no address, and everything if the
// offset is not known.
func (g *graph) escape(n *node) int64 {
	switch n.Kind {
	case isa.Call, isa.Compare, isa.CompareIf, isa.Test, isa.Leave, isa.Return:
		return 0
	case isa.Address:
		return g.escapeAddress(n)
	case isa.Move:
		return g.escapeMove(n, &n.Operands[0], &n.Operands[1])
	case isa.Pair:
		return min(g.escapeMove(n, &n.Operands[0], &n.Operands[1]), g.escapeMove(n, &n.Operands[2], &n.Operands[3]))
	}
	for i := range n.Operands {
		o, r := &n.Operands[i], n.Operands[i].Base
		followed := n.Kind == isa.Pop || n.Plain && n.Kind != isa.Push && r == g.arch.StackPointer
		if o.Kind != isa.InRegister || i == 0 && followed {
			continue
		}
		if _, ok := g.pointer(n, r); ok {
			return everything
		}
	}
	return 0
}

// escapeMove does what escape does, for a copy of a register.
func (g *graph) escapeMove(n *node, dst, src *isa.Operand) int64 {
	if src.Kind != isa.InRegister {
		return 0
	}
	at, ok := g.pointer(n, src.Base)
	setsStack := dst.Whole() && dst.Base == g.arch.StackPointer
	setsFrame := dst.Whole() && dst.Base == g.arch.FramePointer && src.Whole() && src.Base == g.arch.StackPointer
	if !ok || setsStack || setsFrame {
		return 0 // the type stack follows this change of the stack or frame pointer
	}
	return at
}

// escapeAddress does what escape does, for an instruction that makes an address.
func (g *graph) escapeAddress(n *node) int64 {
	dst, m := &n.Operands[0], &n.Operands[1]
	if dst.Whole() && dst.Base == g.arch.StackPointer || n.Frame == isa.FrameSet || !g.ofStack(n, m) {
		return 0 // the type stack follows this change of the stack or frame pointer
	}
	if at, ok := g.slot(n, m); ok {
		return min(at, 0)
	}
	return everything
}
