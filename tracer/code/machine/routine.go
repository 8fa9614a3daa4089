package machine

import (
	"slices"

	"ipytracer/tracer/code/elffile"
)

// Routine is a function whose control flow and values are known.
type Routine struct {
	code  *Code
	entry uint64
	graph *graph
	track *tracking
}

// Call is a call, or a jump out of a [Routine], in it.
type Call struct {
	Address uint64
	Import  string // the name of the function it is to, where that is called through the linkage table
	Target  uint64 // the function of this file it is to; 0 where it is to one of another file
	// Slot is, for a call through a pointer in a structure, where in the structure that is; -1 where that is not seen.
	Slot     int64
	Indirect bool
	Tail     bool // a jump: it does not come back
	node     int
}

// Place is where a value lies at a [Site]: in a general register, or in a word on the stack.
type Place struct {
	Register uint8 // as the processor numbers them: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15
	OnStack  bool
	Above    int32 // bytes from the stack pointer up, where OnStack
}

// Routine looks at the function that begins at an address. ok is false where its control flow, or its stack, is not known for
// sure, and where too much has been looked at in the file.
func (c *Code) Routine(entry uint64) (r *Routine, ok bool) {
	body, ok := c.image.Fragment(entry)
	if !ok || body.Start != entry || c.work > maxWork {
		return nil, false
	}
	f := newFlow(c.text, entry, body.End-body.Start)
	f.tails = func(target uint64) tail {
		switch {
		case c.image.InPLT(target):
			return tail{kind: tailReturns}
		case c.image.Executable(target):
			return tail{kind: tailFollow, at: target}
		}
		return tail{}
	}
	f.leaves = func(in *instruction) bool {
		_, register := in.throughRegister()
		return register || c.imported(in).Name != ""
	}
	f.limit = maxNodes + 1 // what has more is no graph
	f.explore(entry)
	c.work += len(f.seen) + f.inCallees
	g, ok := newGraph(f, entry)
	if !ok {
		return nil, false
	}
	t, ok := track(g, c.image, maxWork-c.work)
	c.work += t.steps
	return &Routine{code: c, entry: entry, graph: g, track: t}, ok
}

// Entry is the address of the routine's first instruction.
func (r *Routine) Entry() uint64 { return r.entry }

// Has says whether an address is one of the routine's instructions.
func (r *Routine) Has(addr uint64) bool {
	_, ok := slices.BinarySearchFunc(r.graph.nodes, addr, func(n node, addr uint64) int {
		switch {
		case n.addr < addr:
			return -1
		case n.addr > addr:
			return 1
		}
		return 0
	})
	return ok
}

// Argument is one of the first six arguments of the routine itself.
func (r *Routine) Argument(i int) Value {
	return r.track.terms.of(term{kind: termArgument, a: uint64(i)})
}

// Calls returns the calls that the routine makes, in order of address.
func (r *Routine) Calls() (calls []Call) {
	for i := range r.graph.nodes {
		n := &r.graph.nodes[i]
		if !n.calls() && !n.goesAway() || r.track.before[i] == nil {
			continue
		}
		c := Call{Address: n.addr, Tail: n.goesAway(), node: i}
		target, direct := n.target()
		if direct && n.goesAway() && !r.code.image.InPLT(target) {
			continue
		}
		to := r.code.imported(&n.instruction)
		if to.Name == "" && !direct {
			to = r.held(i)
		}
		switch {
		case to.Name != "":
			c.Import, c.Target = to.Name, to.Value
		case direct:
			c.Target = target
		default:
			c.Indirect = true
			if slot, ok := n.throughMember(); ok {
				c.Slot = slot
			} else {
				c.Slot = r.loadedFrom(i)
			}
		}
		calls = append(calls, c)
	}
	return calls
}

// held returns the function that an indirect call takes out of a register which the dynamic linker's pointer to it was loaded into; one
// with no name where that is not known.
func (r *Routine) held(i int) (to elffile.Import) {
	reg, ok := r.graph.nodes[i].throughRegister()
	if !ok {
		return to
	}
	n, general := number(reg)
	if !general {
		return to
	}
	t, ok := r.track.terms.term(r.track.before[i].registers[n])
	if !ok || t.kind != termImport {
		return to
	}
	return r.code.image.Imports[t.a]
}

// loadedFrom returns where in a structure the pointer lies that an indirect call takes out of a register; -1 where that is not
// seen.
func (r *Routine) loadedFrom(i int) int64 {
	reg, ok := r.graph.nodes[i].throughRegister()
	if !ok {
		return -1
	}
	for range maxBetween {
		if len(r.graph.nodes[i].before) != 1 {
			return -1
		}
		i = r.graph.nodes[i].before[0]
		n := &r.graph.nodes[i]
		if n.calls() {
			return -1
		}
		if to, known := n.writes(); !known || to == reg {
			if slot, ok := n.loadsMember(); ok {
				return slot
			}
			return -1
		}
	}
	return -1
}

// Passed is one of the first six arguments that a call passes.
func (r *Routine) Passed(c Call, i int) Value {
	n, _ := number(argumentRegisters[i])
	return r.track.before[c.node].registers[n]
}

// Result is what a call gives back.
func (r *Routine) Result(c Call) Value {
	return r.track.terms.of(term{kind: termResult, a: c.Address})
}

// Product is what the routine has where it has multiplied two values.
func (r *Routine) Product(x, y Value) Value { return r.track.terms.product(x, y) }

// Loaded returns the address in the file that a value was loaded from, where it was.
func (r *Routine) Loaded(v Value) (addr uint64, ok bool) {
	t, ok := r.track.terms.term(v)
	return t.a, ok && t.kind == termLoad
}

// Address returns the address in the file that a value is, where it is one.
func (r *Routine) Address(v Value) (addr uint64, ok bool) {
	t, ok := r.track.terms.term(v)
	return t.a, ok && t.kind == termAddress
}

// Constant returns the number that a value is, where it is one.
func (r *Routine) Constant(v Value) (n uint64, ok bool) {
	t, ok := r.track.terms.term(v)
	return t.a, ok && t.kind == termConstant
}

// AtMost returns a bound of a value where a call is made, by the comparisons on every way there.
func (r *Routine) AtMost(c Call, v Value) (n uint64, ok bool) {
	n, ok = r.track.before[c.node].atMost[v]
	return n, ok
}

// At returns the call itself as a site, and where some values lie there.
func (r *Routine) At(c Call, values ...Value) (Site, []Place, bool) {
	places, ok := r.places(c.node, values)
	return r.site(c.node), places, ok
}

// AtArgument returns the call itself as a site, and where one of the first six arguments lies that it passes. That needs no knowledge of
// the value: by the ABI it is in the argument's own register there.
func (r *Routine) AtArgument(c Call, i int) (Site, Place) {
	n, _ := number(argumentRegisters[i])
	return r.site(c.node), Place{Register: uint8(n)}
}

// Before returns where a value lies at a call on every way to it that counts, see [Routine.Passes]; on the others anything may lie there.
func (r *Routine) Before(c Call, value Value, apart Limits) (p Place, ok bool) {
	if places, ok := r.places(c.node, []Value{value}); ok {
		return places[0], true
	}
	reached := r.reached(make([]bool, len(r.graph.nodes)), apart)
	for i := c.node; len(r.graph.nodes[i].before) > 0; i = r.graph.nodes[i].before[0] {
		if p, ok := r.brought(i, value, reached, apart); ok && r.untouched(i, c.node, p) {
			return p, true
		}
		if len(r.graph.nodes[i].before) != 1 || r.graph.nodes[r.graph.nodes[i].before[0]].jumps() {
			break
		}
	}
	return Place{}, false
}

// brought is the register in which a value is on each of the ways to a node that count. All of them come from jumps.
func (r *Routine) brought(to int, value Value, reached []bool, apart Limits) (p Place, ok bool) {
	for _, b := range r.graph.nodes[to].before {
		if straight, taken := r.onward(b, apart); !reached[b] || straight != to && taken != to {
			continue
		}
		n, h := &r.graph.nodes[b], r.track.before[b]
		if h == nil || !n.jumps() {
			return Place{}, false
		}
		one, lies := h.place(value, n.stack.pushed)
		if !lies || one.OnStack || ok && one != p {
			return Place{}, false
		}
		p, ok = one, true
	}
	return p, ok
}

// untouched says whether no instruction from one on, straight to another, writes a register.
func (r *Routine) untouched(from, to int, p Place) bool {
	for i := from; i != to; i = r.graph.nodes[i].straight {
		if i == none {
			return false
		}
		n := &r.graph.nodes[i]
		reg, known := n.writes()
		if at, general := number(reg); !known || n.jumps() || general && uint8(at) == p.Register {
			return false
		}
	}
	return true
}

// maxBehind bounds how far behind a call a site is looked for, in instructions.
const maxBehind = 24

// Behind returns the first emulated instruction behind a call, which nobody reaches who has not just come back from it, and where
// some values lie there. Calls of other libraries that are not emulated may lie between, as in code that has no PLT.
func (r *Routine) Behind(c Call, values ...Value) (Site, []Place, bool) {
	for i := r.graph.nodes[c.node].straight; i != none && !c.Tail; i = r.graph.nodes[i].straight {
		n := &r.graph.nodes[i]
		if len(n.before) != 1 || n.addr-c.Address > 8*maxBehind {
			break
		}
		if n.emulated() {
			places, ok := r.places(i, values)
			return r.site(i), places, ok
		}
		if n.taken != none || n.calls() && r.code.imported(&n.instruction).Name == "" && r.held(i).Name == "" {
			break
		}
	}
	return Site{}, nil, false
}

// AtOnce returns the very instruction behind a call, which may be dear, if nobody reaches it otherwise, and where some values lie there.
func (r *Routine) AtOnce(c Call, values ...Value) (Site, []Place, bool) {
	i := r.graph.nodes[c.node].straight
	if i == none || c.Tail || len(r.graph.nodes[i].before) != 1 {
		return Site{}, nil, false
	}
	places, ok := r.places(i, values)
	return r.site(i), places, ok
}

// First returns the first emulated instruction that every call of the routine passes once, or its first, and where some values lie
// there.
func (r *Routine) First(values ...Value) (Site, []Place, bool) {
	for i := r.graph.entry; i != none && len(r.graph.nodes[i].before) <= 1; i = r.graph.nodes[i].straight {
		n := &r.graph.nodes[i]
		if places, ok := r.places(i, values); n.emulated() && ok {
			return r.site(i), places, true
		}
		if n.taken != none || n.calls() || n.addr-r.entry > 8*maxPrologue {
			break
		}
	}
	places, ok := r.places(r.graph.entry, values)
	return r.site(r.graph.entry), places, ok && len(r.graph.nodes[r.graph.entry].before) == 0
}

func (r *Routine) site(i int) Site {
	n := &r.graph.nodes[i]
	off, ok := r.code.image.FileOffset(n.addr)
	if !ok {
		return Site{}
	}
	return Site{Delta: int32(n.addr - r.entry), Address: n.addr, FileOffset: off, Pushed: int32(n.stack.pushed), Emulated: n.emulated()}
}

// places looks for values before an instruction, in registers first.
func (r *Routine) places(i int, values []Value) (places []Place, ok bool) {
	h := r.track.before[i]
	if h == nil {
		return nil, false
	}
	for _, v := range values {
		p, ok := h.place(v, r.graph.nodes[i].stack.pushed)
		if !ok {
			return nil, false
		}
		places = append(places, p)
	}
	return places, true
}

func (h *holdings) place(v Value, pushed int64) (Place, bool) {
	if v == 0 {
		return Place{}, false
	}
	if i := slices.Index(h.registers[:], v); i >= 0 {
		return Place{Register: uint8(i)}, true
	}
	best, found := Place{}, false
	for at, held := range h.slots {
		if above := at + pushed; held == v && above >= 0 && above <= maxAbove && (!found || int32(above) < best.Above) {
			best, found = Place{OnStack: true, Above: int32(above)}, true
		}
	}
	return best, found
}

// maxAbove is how far above the stack pointer a word is looked for.
const maxAbove = 256
