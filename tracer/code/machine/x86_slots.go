package machine

import (
	"math"

	"golang.org/x/arch/x86/x86asm"
)

// slotTable is the function's spill slots: eight bytes on the stack that only the function itself can reach.
// A slot is named by its distance from the stack pointer at entry, which is negative.
type slotTable struct {
	// escaped is the lowest stack address that the function hands out. An object lies above its address, so
	// what is below belongs to the function alone.
	escaped int64
	offsets []int64 // the slots that are copied to or from; offsets[i] is bit firstSlot+i of locations
}

// findSlots fills g.slots.
func (g *graph) findSlots() {
	for i := range g.nodes {
		g.slots.escaped = min(g.slots.escaped, g.nodes[i].escape())
	}
	for i := range g.nodes {
		n := &g.nodes[i]
		for _, arg := range n.Args[:2] {
			m, ok := arg.(x86asm.Mem)
			if !ok || n.Op != x86asm.MOV || n.MemBytes != 8 || len(g.slots.offsets) == maxSlots {
				continue
			}
			if at, ok := n.stack.slot(m); ok && at+8 <= g.slots.escaped && g.slots.bit(at) == 0 {
				g.slots.offsets = append(g.slots.offsets, at)
			}
		}
	}
}

// bit returns the location of the slot at an offset, 0 where it is none.
func (t *slotTable) bit(at int64) locations {
	for i, o := range t.offsets {
		if o == at {
			return firstSlot << i
		}
	}
	return 0
}

// within returns the slots that share a byte with [from, to).
func (t *slotTable) within(from, to int64) (l locations) {
	for i, o := range t.offsets {
		if o < to && from < o+8 {
			l |= firstSlot << i
		}
	}
	return l
}

// pointer says whether a register holds a stack address that is known, and which.
func (s *stack) pointer(r x86asm.Reg) (at int64, ok bool) {
	switch r, _ := family(r); {
	case r == x86asm.RSP:
		return -s.pushed, true
	case r == x86asm.RBP && s.framed:
		return -s.frame, true
	}
	return 0, false
}

// slot returns the stack offset of a memory operand. ok is false for other memory, and for a place on the
// stack that an index chooses.
func (s *stack) slot(m x86asm.Mem) (at int64, ok bool) {
	at, ok = s.pointer(m.Base)
	return at + m.Disp, ok && m.Index == 0 && m.Segment == 0
}

// everything stands for the address of the whole stack.
const everything = math.MinInt64

// escape returns the lowest stack offset whose address the instruction puts where it may be used to write: 0
// for none, everything where that cannot be told.
func (n *node) escape() int64 {
	switch n.Op {
	case x86asm.CALL, x86asm.CMP, x86asm.TEST, x86asm.LEAVE, x86asm.RET:
		return 0
	case x86asm.LEA:
		return n.escapeAddress()
	case x86asm.MOV:
		r, _ := n.Args[1].(x86asm.Reg)
		at, ok := n.stack.pointer(r)
		if !ok || n.Args[0] == x86asm.RSP || n.Args[0] == x86asm.RBP && r == x86asm.RSP {
			return 0 // type stack follows these
		}
		return at
	}
	_, known := n.writes()
	for i, arg := range n.Args {
		r, _ := arg.(x86asm.Reg)
		f, _ := family(r)
		if i == 0 && (n.Op == x86asm.POP || known && n.Op != x86asm.PUSH && f == x86asm.RSP) {
			continue
		}
		if _, ok := n.stack.pointer(r); ok {
			return everything
		}
	}
	return 0
}

// escapeAddress is escape for lea.
func (n *node) escapeAddress() int64 {
	m, _ := n.Args[1].(x86asm.Mem)
	_, base := n.stack.pointer(m.Base)
	_, index := n.stack.pointer(m.Index)
	if n.Args[0] == x86asm.RSP || !base && !index {
		return 0
	}
	if at, ok := n.stack.slot(m); ok {
		return min(at, 0)
	}
	return everything
}
