package machine

import (
	"math"

	"golang.org/x/arch/x86/x86asm"

	"ipytracer/tracer/code/elffile"
)

// holdings is what registers and words of the stack hold before an instruction, and what is known of how large it is.
type holdings struct {
	registers [16]Value // by their numbers
	slots     map[int64]Value
	atMost    map[Value]uint64
}

func (h *holdings) clone() *holdings {
	c := &holdings{registers: h.registers, slots: make(map[int64]Value, len(h.slots)), atMost: make(map[Value]uint64, len(h.atMost))}
	for at, v := range h.slots {
		c.slots[at] = v
	}
	for v, n := range h.atMost {
		c.atMost[v] = n
	}
	return c
}

// meet keeps what holds in both, and says whether that is less.
func (h *holdings) meet(o *holdings) (changed bool) {
	for i, v := range h.registers {
		if v != 0 && v != o.registers[i] {
			h.registers[i], changed = 0, true
		}
	}
	for at, v := range h.slots {
		if o.slots[at] != v {
			delete(h.slots, at)
			changed = true
		}
	}
	for v, n := range h.atMost {
		if other, ok := o.atMost[v]; !ok {
			delete(h.atMost, v)
			changed = true
		} else if other > n {
			h.atMost[v], changed = other, true
		}
	}
	return changed
}

// forget drops the slots that share a byte with [from, to).
func (h *holdings) forget(from, to int64) {
	for at := range h.slots {
		if at < to && from < at+8 {
			delete(h.slots, at)
		}
	}
}

func number(r x86asm.Reg) (int, bool) {
	f, ok := family(r)
	return int(f - x86asm.RAX), ok
}

func (h *holdings) set(r x86asm.Reg, v Value) {
	if i, ok := number(r); ok {
		h.registers[i] = v
	}
}

// tracking follows values through a function.
type tracking struct {
	graph  *graph
	image  *elffile.Image
	terms  terms
	before []*holdings // by node
	steps  int         // instructions that have been gone through
}

// maxKnown bounds how many slots, and how many values' bounds, are known at one place. The rest counts as not known.
const maxKnown = 128

// track works out what is held where before each instruction: forwards from the entry, where ways meet only what holds on both. ok is
// false where that takes more steps than allowed.
func track(g *graph, img *elffile.Image, allowed int) (t *tracking, ok bool) {
	t = &tracking{graph: g, image: img, terms: terms{numbers: map[term]Value{}}, before: make([]*holdings, len(g.nodes))}
	for i := range g.nodes {
		g.slots.escaped = min(g.slots.escaped, g.nodes[i].escape())
	}
	start := &holdings{slots: map[int64]Value{}, atMost: map[Value]uint64{}}
	for i, r := range argumentRegisters {
		start.set(r, t.terms.of(term{kind: termArgument, a: uint64(i)}))
	}
	for _, r := range []x86asm.Reg{x86asm.RBX, x86asm.RBP, x86asm.R12, x86asm.R13, x86asm.R14, x86asm.R15} {
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
		bound, limited := t.bound(queue[0])
		straight, taken := after.clone(), after
		if limited {
			bound.apply(straight, taken)
		}
		arrive(n.straight, straight)
		arrive(n.taken, taken)
	}
	return t, true
}

// step changes what is held as an instruction does. What it does not understand loses everything.
func (t *tracking) step(n *node, h *holdings) {
	top := -n.stack.pushed
	switch {
	case n.returns(), n.goesAway(), n.Op == x86asm.NOP, n.Op == x86asm.CMP, n.Op == x86asm.TEST, n.Op == x86asm.BT:
	case n.calls():
		for i := range h.registers {
			if callClobbers&(1<<i) != 0 {
				h.registers[i] = 0
			}
		}
		h.set(x86asm.RAX, t.terms.of(term{kind: termResult, a: n.addr}))
		h.forget(math.MinInt64, top)
	case n.Op == x86asm.PUSH:
		h.forget(top-8, top)
		t.store(h, top-8, t.read(n, h, n.Args[0]))
	case n.Op == x86asm.POP:
		if r, ok := n.Args[0].(x86asm.Reg); ok {
			h.set(r, h.slots[top])
		}
	case n.conditional():
		switch n.Op {
		case x86asm.LOOP, x86asm.LOOPE, x86asm.LOOPNE:
			h.set(x86asm.RCX, 0)
		}
	case n.Op == x86asm.LEAVE:
		h.set(x86asm.RBP, h.slots[-n.stack.frame])
	case n.Op == x86asm.XCHG && n.Args[0] == n.Args[1]: // padding
	case n.Op == x86asm.MOV:
		t.move(n, h)
	default:
		t.compute(n, h)
	}
}

// compute carries out an instruction that makes a value.
func (t *tracking) compute(n *node, h *holdings) {
	made := func() Value { return t.terms.of(term{kind: termMade, a: n.addr}) }
	switch {
	case n.Op == x86asm.CQO, n.Op == x86asm.CDQ:
		h.set(x86asm.RDX, made())
	case n.Op == x86asm.CDQE:
		h.set(x86asm.RAX, made())
	case n.Op == x86asm.IMUL && n.Args[1] != nil:
		v := made()
		if n.Args[2] == nil && n.DataSize == 64 {
			if p := t.terms.product(t.read(n, h, n.Args[0]), t.read(n, h, n.Args[1])); p != 0 {
				v = p
			}
		}
		h.set(n.Args[0].(x86asm.Reg), v)
	case n.Op == x86asm.IMUL, n.Op == x86asm.MUL:
		h.set(x86asm.RAX, 0)
		h.set(x86asm.RDX, made())
	case n.Op == x86asm.LEA && t.load(n, h) != 0:
		h.set(n.Args[0].(x86asm.Reg), t.load(n, h))
	case n.Op == x86asm.XOR && n.Args[0] == n.Args[1]:
		if r, ok := n.Args[0].(x86asm.Reg); ok && r >= x86asm.EAX && r <= x86asm.R15 {
			h.set(r, t.terms.of(term{kind: termConstant}))
			return
		}
		fallthrough
	default:
		reg, known := n.writes()
		if !known && !n.setsByte() {
			h.registers = [16]Value{}
			clear(h.slots)
			return
		}
		if m, ok := n.Args[0].(x86asm.Mem); ok {
			t.written(n, h, m)
		}
		v := made()
		if n.setsByte() {
			reg, _ = n.Args[0].(x86asm.Reg)
			if above := t.above(n); above != 0 && n.setsLowByte() {
				v = above
			}
		} else if at := t.atMostWhereZero(n, h); at.kind != 0 && n.setsLowByte() {
			v = t.terms.of(at)
		}
		h.set(reg, v)
	}
}

// setsByte says whether the instruction writes a flag into its operand and nothing else.
func (in *instruction) setsByte() bool { return in.Op >= x86asm.SETA && in.Op <= x86asm.SETS }

// move carries out mov.
func (t *tracking) move(n *node, h *holdings) {
	v := t.read(n, h, n.Args[1])
	switch to := n.Args[0].(type) {
	case x86asm.Reg:
		// A write of one or two bytes leaves the rest of the register as it was; one of four makes the rest zero.
		_, constant := n.Args[1].(x86asm.Imm)
		whole := to >= x86asm.RAX && to <= x86asm.R15
		if v == 0 {
			v = t.load(n, h)
		}
		if v == 0 || !whole && (!constant || to < x86asm.EAX || to > x86asm.R15L) {
			v = t.terms.of(term{kind: termMade, a: n.addr})
		}
		h.set(to, v)
	case x86asm.Mem:
		at, ok := n.stack.slot(to)
		t.written(n, h, to)
		if ok && n.MemBytes == 8 {
			t.store(h, at, v)
		}
	}
}

// load returns the value of what mov or lea takes from an address in the file, or of that address.
func (t *tracking) load(n *node, h *holdings) Value {
	m, ok := n.Args[1].(x86asm.Mem)
	if !ok || m.Index != 0 || m.Segment != 0 {
		return 0
	}
	at := n.end() + uint64(m.Disp)
	if m.Base != x86asm.RIP {
		i, general := number(m.Base)
		if !general {
			return 0
		}
		base, known := t.terms.term(h.registers[i])
		if !known || base.kind != termAddress {
			return 0
		}
		at = base.a + uint64(m.Disp)
	}
	if n.Op == x86asm.LEA {
		return t.terms.of(term{kind: termAddress, a: at})
	}
	if to, imported := t.image.Imports[at]; imported {
		if to.Value == 0 {
			return t.terms.of(term{kind: termImport, a: at})
		}
		return t.terms.of(term{kind: termAddress, a: to.Value})
	}
	return t.terms.of(term{termLoad, at, n.addr})
}

func (t *tracking) store(h *holdings, at int64, v Value) {
	if v != 0 && at < 0 && at+8 <= t.graph.slots.escaped && len(h.slots) < maxKnown {
		h.slots[at] = v
	}
}

// read returns the value of an operand of eight bytes, or of a constant.
func (t *tracking) read(n *node, h *holdings, arg x86asm.Arg) Value {
	switch a := arg.(type) {
	case x86asm.Imm:
		return t.terms.of(term{kind: termConstant, a: uint64(a)})
	case x86asm.Reg:
		if i, ok := number(a); ok && a >= x86asm.RAX && a <= x86asm.R15 {
			return h.registers[i]
		}
	case x86asm.Mem:
		if at, ok := n.stack.slot(a); ok && n.MemBytes == 8 {
			return h.slots[at]
		}
	}
	return 0
}

// written drops the slots that a store to m may change.
func (t *tracking) written(n *node, h *holdings, m x86asm.Mem) {
	size := int64(n.MemBytes)
	if size == 0 {
		size = 64
	}
	if at, ok := n.stack.slot(m); ok {
		h.forget(at, at+size)
		return
	}
	_, base := n.stack.pointer(m.Base)
	_, index := n.stack.pointer(m.Index)
	if base || index {
		clear(h.slots)
	}
}
