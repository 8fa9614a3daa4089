package machine

import (
	"math"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/isa"
)

// holdings are the values in registers and in words of the stack before an instruction, with the values' known upper
// limits.
type holdings struct {
	registers [isa.MaxRegisters]Value // by their numbers
	slots     map[int64]Value         // by offset from the stack pointer at entry
	atMost    map[Value]uint64
}

func (h *holdings) clone() *holdings {
	c := &holdings{
		registers: h.registers,
		slots:     make(map[int64]Value, len(h.slots)),
		atMost:    make(map[Value]uint64, len(h.atMost)),
	}
	for at, v := range h.slots {
		c.slots[at] = v
	}
	for v, n := range h.atMost {
		c.atMost[v] = n
	}
	return c
}

// meet keeps in h only what is also true in other: equal contents, and the weaker of two limits. It reports whether h
// changed.
func (h *holdings) meet(other *holdings) (changed bool) {
	for i, v := range h.registers {
		if v != 0 && v != other.registers[i] {
			h.registers[i], changed = 0, true
		}
	}
	for at, v := range h.slots {
		if other.slots[at] != v {
			delete(h.slots, at)
			changed = true
		}
	}
	for v, limit := range h.atMost {
		if otherLimit, ok := other.atMost[v]; !ok {
			delete(h.atMost, v)
			changed = true
		} else if otherLimit > limit {
			h.atMost[v], changed = otherLimit, true
		}
	}
	return changed
}

// forget drops the slots that share a byte with [from, to).
func (h *holdings) forget(from, to int64) {
	for at := range h.slots {
		if at < to && from < at+isa.Word {
			delete(h.slots, at)
		}
	}
}

// in returns the contents of a register.
func (h *holdings) in(r isa.Register) Value {
	if r == isa.None {
		return 0
	}
	return h.registers[r.Number()]
}

func (h *holdings) set(r isa.Register, v Value) {
	if r != isa.None {
		h.registers[r.Number()] = v
	}
}

// tracking follows values through a function.
type tracking struct {
	graph  *graph
	image  *elffile.Image
	terms  terms
	before []*holdings // by node
	steps  int         // instructions carried out so far
}

// maxKnown is how many slots, and how many limits of values, are kept for one instruction. Others count as unknown.
const maxKnown = 128

// track works out the contents of registers and of the stack before each instruction. It goes forwards from the entry.
// Where paths meet, it keeps only what is true on both. ok is false if that takes more steps than allowed.
func track(g *graph, img *elffile.Image, allowed int) (t *tracking, ok bool) {
	t = &tracking{
		graph: g, image: img, terms: terms{numbers: map[term]Value{}}, before: make([]*holdings, len(g.nodes)),
	}
	for i := range g.nodes {
		g.slots.escaped = min(g.slots.escaped, g.escape(&g.nodes[i]))
	}
	start := &holdings{slots: map[int64]Value{}, atMost: map[Value]uint64{}}
	for i, r := range g.arch.Arguments {
		start.set(r, t.terms.of(term{kind: termArgument, a: uint64(i)}))
	}
	for r := range g.arch.Preserved.All {
		start.set(r, t.terms.of(term{kind: termEntry, a: uint64(r)}))
	}
	t.before[g.entry] = start
	for queue := []int{g.entry}; len(queue) > 0; queue = queue[1:] {
		if t.steps++; t.steps > allowed {
			return t, false
		}
		n := &g.nodes[queue[0]]
		after := t.before[queue[0]].clone()
		t.step(n, after)
		arrive := func(next int, h *holdings) {
			if next == none {
				return
			}
			if t.before[next] == nil {
				t.before[next] = h
				queue = append(queue, next)
			} else if t.before[next].meet(h) {
				queue = append(queue, next)
			}
		}
		straight, taken := after.clone(), after
		t.bound(queue[0]).apply(straight, taken)
		arrive(n.straight, straight)
		arrive(n.taken, taken)
	}
	return t, true
}

// step changes the holdings as an instruction does. An instruction that it does not understand loses everything.
func (t *tracking) step(n *node, h *holdings) {
	top := -n.stack.pushed
	arch := t.graph.arch
	switch n.Kind {
	case isa.Return, isa.Jump, isa.Nop, isa.Compare, isa.CompareIf, isa.Test, isa.TestBit:
	case isa.Call:
		for r := range arch.Clobbered.All {
			h.set(r, 0)
		}
		h.set(arch.Result, t.terms.of(term{kind: termResult, a: n.Addr}))
		h.forget(math.MinInt64, top)
	case isa.Push:
		h.forget(top-isa.Word, top)
		t.store(h, top-isa.Word, t.read(n, h, &n.Operands[0]))
	case isa.Pop:
		if n.Operands[0].Kind == isa.InRegister {
			h.set(n.Operands[0].Base, h.slots[top])
		}
	case isa.Branch:
		h.set(n.Loses, 0)
	case isa.Leave:
		h.set(arch.FramePointer, h.slots[-n.stack.frame])
	case isa.Move:
		t.move(n, h, &n.Operands[0], &n.Operands[1])
		t.lose(h, n.Also)
	case isa.Pair:
		t.pair(n, h)
	default:
		t.compute(n, h)
	}
}

// lose makes the contents of registers unknown.
func (t *tracking) lose(h *holdings, registers isa.Registers) {
	for r := range registers.All {
		h.set(r, 0)
	}
}

// pair carries out an [isa.Pair]: two copies at once.
func (t *tracking) pair(n *node, h *holdings) {
	t.lose(h, n.Also)
	first, second := &n.Operands[0], &n.Operands[2]
	if first.Memory() { // the two words do not overlap, so the order does not matter
		t.move(n, h, first, &n.Operands[1])
		t.move(n, h, second, &n.Operands[3])
		return
	}
	before := h.clone()
	t.move(n, h, first, &n.Operands[1])
	t.move(n, before, second, &n.Operands[3])
	if second.Kind == isa.InRegister {
		h.set(second.Base, before.in(second.Base))
	}
}

// insert returns the value that an [isa.Insert] leaves in its register.
func (t *tracking) insert(n *node, h *holdings) Value {
	x, ok := t.terms.term(h.in(n.Writes))
	if !ok || x.kind != termConstant || n.Operands[2].Kind != isa.Constant {
		return t.terms.of(term{kind: termMade, a: n.Addr})
	}
	mask := uint64(n.Operands[2].Value)
	return t.terms.of(term{kind: termConstant, a: x.a&^mask | uint64(n.Operands[1].Value)&mask})
}

// compute carries out an instruction that makes a value.
func (t *tracking) compute(n *node, h *holdings) {
	made := func() Value { return t.terms.of(term{kind: termMade, a: n.Addr}) }
	dst := n.Operands[0].Base
	defer t.lose(h, n.Also)
	switch {
	case n.Kind == isa.Convert:
		h.set(n.Makes, made())
	case n.Kind == isa.Multiply && n.Makes != isa.None:
		h.set(n.Loses, 0)
		h.set(n.Makes, made())
	case n.Kind == isa.Multiply:
		v := made()
		if p := t.product(n, h); p != 0 {
			v = p
		}
		h.set(dst, v)
	case n.Kind == isa.Insert:
		h.set(n.Writes, t.insert(n, h))
	case n.Kind == isa.Address && t.load(n, h, &n.Operands[1]) != 0:
		h.set(dst, t.load(n, h, &n.Operands[1]))
	case n.Kind == isa.Clear:
		h.set(dst, t.terms.of(term{kind: termConstant}))
	case n.Kind == isa.Exchange && n.Operands[0] == n.Operands[1]: // padding
	case n.Kind == isa.SetByte:
		t.written(n, h, &n.Operands[0])
		v := made()
		if above := t.above(n); above != 0 && n.Operands[0].LowByte() {
			v = above
		}
		h.set(destination(n), v)
	case !n.Plain:
		h.registers = [isa.MaxRegisters]Value{}
		clear(h.slots)
	default:
		t.written(n, h, &n.Operands[0])
		v := made()
		if at := t.atMostWhereZero(n, h); at.kind != 0 && n.Operands[0].LowByte() {
			v = t.terms.of(at)
		}
		h.set(n.Writes, v)
	}
}

// product returns the value that an [isa.Multiply] makes from two registers; 0 if a factor is anything else.
func (t *tracking) product(n *node, h *holdings) Value {
	x, y := &n.Operands[0], &n.Operands[1]
	switch third := &n.Operands[2]; {
	case !x.Whole():
		return 0
	case third.Kind == isa.InRegister: // the first operand is only the destination
		x, y = y, third
	case third.Kind != isa.NoOperand:
		return 0
	}
	return t.terms.product(t.read(n, h, x), t.read(n, h, y))
}

// destination returns the register of the first operand, or None if that is in memory.
func destination(n *node) isa.Register {
	if n.Operands[0].Kind == isa.InRegister {
		return n.Operands[0].Base
	}
	return isa.None
}

// move carries out a copy between two of an instruction's operands.
func (t *tracking) move(n *node, h *holdings, to, from *isa.Operand) {
	v := t.read(n, h, from)
	if to.Memory() {
		at, ok := t.graph.slot(n, to)
		t.written(n, h, to)
		if ok && to.Width == isa.Word {
			t.store(h, at, v)
		}
		return
	}
	// A write of one or two bytes leaves the rest of the register as it was. A write of four makes the rest zero.
	if v == 0 {
		v = t.load(n, h, from)
	}
	if v == 0 || !to.Whole() && !(to.Fills() && from.Kind == isa.Constant) {
		v = t.terms.of(term{termMade, n.Addr, uint64(to.Base)})
	}
	if to.Kind == isa.InRegister {
		h.set(to.Base, v)
	}
}

// load returns the value that an instruction reads at m, if m is at a known address in the file, or else 0. For an
// [isa.Address], which reads nothing, load returns the address.
func (t *tracking) load(n *node, h *holdings, m *isa.Operand) Value {
	if !m.Memory() || m.Index != isa.None || m.Apart {
		return 0
	}
	at := uint64(m.Value)
	if !m.Relative() {
		base, known := t.terms.term(h.in(m.Base))
		if !known || base.kind != termAddress {
			return 0
		}
		at += base.a
	}
	if n.Kind == isa.Address {
		return t.terms.of(term{kind: termAddress, a: at})
	}
	if to, imported := t.image.Imports[at]; imported {
		if to.Value == 0 {
			return t.terms.of(term{kind: termImport, a: at})
		}
		return t.terms.of(term{kind: termAddress, a: to.Value})
	}
	return t.terms.of(term{termLoad, at, n.Addr})
}

// store puts v in the slot at an offset, if only the function itself can reach the slot.
func (t *tracking) store(h *holdings, at int64, v Value) {
	if v != 0 && at < 0 && at+isa.Word <= t.graph.slots.escaped && len(h.slots) < maxKnown {
		h.slots[at] = v
	}
}

// read returns the value of an operand that is a constant, a whole register or a word of the stack; 0 for any other.
func (t *tracking) read(n *node, h *holdings, o *isa.Operand) Value {
	switch {
	case o.Kind == isa.Constant:
		return t.terms.of(term{kind: termConstant, a: uint64(o.Value)})
	case o.Whole():
		return h.in(o.Base)
	case o.Memory() && o.Width == isa.Word:
		if at, ok := t.graph.slot(n, o); ok {
			return h.slots[at]
		}
	}
	return 0
}

// written forgets the slots that an instruction may change if it writes operand m.
func (t *tracking) written(n *node, h *holdings, m *isa.Operand) {
	if at, ok := t.graph.slot(n, m); ok {
		h.forget(at, at+written(m))
	} else if t.graph.ofStack(n, m) {
		clear(h.slots)
	}
}
