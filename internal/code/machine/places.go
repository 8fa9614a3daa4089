package machine

import (
	"slices"

	"ipytracer/internal/code/isa"
)

// Place is where a value lies at a [Site]: in a general register, or in a word on the stack.
type Place struct {
	Register uint8 // as the processor numbers them
	OnStack  bool
	Above    int32 // bytes from the stack pointer up, where OnStack
}

// At returns the call itself as a site, and where some values lie there.
func (r *Routine) At(c Call, values ...Value) (Site, []Place, bool) {
	places, ok := r.places(c.node, values)
	return r.site(c.node), places, ok && !r.graph.nodes[c.node].refused
}

// AtArgument returns the call itself as a site, with the place of one of the first six arguments that it passes. That
// needs no knowledge of the value: by the ABI it is in the argument's own register there.
func (r *Routine) AtArgument(c Call, i int) (site Site, p Place, ok bool) {
	p = Place{Register: uint8(r.graph.arch.Arguments[i].Number())}
	return r.site(c.node), p, !r.graph.nodes[c.node].refused
}

// Before returns where a value lies at a call on every way to it that counts, see [Routine.Passes]; on the others
// anything may lie there.
func (r *Routine) Before(c Call, value Value, apart Limits) (p Place, ok bool) {
	if places, ok := r.places(c.node, []Value{value}); ok {
		return places[0], true
	}
	reached := r.reached(make([]bool, len(r.graph.nodes)), apart)
	for i := c.node; len(r.graph.nodes[i].before) > 0; i = r.graph.nodes[i].before[0] {
		if p, ok := r.brought(i, value, reached, apart); ok && r.untouched(i, c.node, p) {
			return p, true
		}
		if len(r.graph.nodes[i].before) != 1 || r.graph.nodes[r.graph.nodes[i].before[0]].Jumps() {
			break
		}
	}
	return Place{}, false
}

// brought is the register of a value on each of the ways to a node that count. All of them come from jumps.
func (r *Routine) brought(to int, value Value, reached []bool, apart Limits) (p Place, ok bool) {
	for _, b := range r.graph.nodes[to].before {
		if straight, taken := r.onward(b, apart); !reached[b] || straight != to && taken != to {
			continue
		}
		n, h := &r.graph.nodes[b], r.track.before[b]
		if h == nil || !n.Jumps() {
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

// untouched reports whether no instruction from one on, straight to another, writes a register.
func (r *Routine) untouched(from, to int, p Place) bool {
	for i := from; i != to; i = r.graph.nodes[i].straight {
		if i == none {
			return false
		}
		n := &r.graph.nodes[i]
		if n.Jumps() || n.MayWrite(isa.Numbered(int(p.Register)).Set()) {
			return false
		}
	}
	return true
}

// maxBehind bounds how far behind a call a site is looked for, in instructions.
const maxBehind = 24

// Behind returns the first emulated instruction behind a call, if it is reached only by coming back from the call, with
// the places of some values there. Calls of other libraries that are not emulated may lie between, as in code that has
// no PLT.
func (r *Routine) Behind(c Call, values ...Value) (Site, []Place, bool) {
	for i := r.graph.nodes[c.node].straight; i != none && !c.Tail; i = r.graph.nodes[i].straight {
		n := &r.graph.nodes[i]
		if len(n.before) != 1 || n.Addr-c.Address > 8*maxBehind {
			break
		}
		if n.Emulated && !n.refused {
			places, ok := r.places(i, values)
			return r.site(i), places, ok
		}
		if n.taken != none || n.Kind == isa.Call && r.code.imported(&n.Instruction).Name == "" && r.held(i).Name == "" {
			break
		}
	}
	return Site{}, nil, false
}

// AtOnce returns the very instruction behind a call, which may be dear, if it is not reached otherwise, with the places
// of some values there.
func (r *Routine) AtOnce(c Call, values ...Value) (Site, []Place, bool) {
	i := r.graph.nodes[c.node].straight
	if i == none || c.Tail || len(r.graph.nodes[i].before) != 1 {
		return Site{}, nil, false
	}
	places, ok := r.places(i, values)
	return r.site(i), places, ok && !r.graph.nodes[i].refused
}

// First returns the first emulated instruction that every call of the routine passes once, or its first, and where some
// values lie there.
func (r *Routine) First(values ...Value) (Site, []Place, bool) {
	for i := r.graph.entry; i != none && len(r.graph.nodes[i].before) <= 1; i = r.graph.nodes[i].straight {
		n := &r.graph.nodes[i]
		if places, ok := r.places(i, values); n.Emulated && !n.refused && ok {
			return r.site(i), places, true
		}
		if n.taken != none || n.Kind == isa.Call || n.Addr-r.entry > 8*maxPrologue {
			break
		}
	}
	entry := &r.graph.nodes[r.graph.entry]
	places, ok := r.places(r.graph.entry, values)
	return r.site(r.graph.entry), places, ok && len(entry.before) == 0 && !entry.refused
}

func (r *Routine) site(i int) Site {
	n := &r.graph.nodes[i]
	off, ok := r.code.image.FileOffset(n.Addr)
	if !ok {
		return Site{}
	}
	return Site{
		Delta: int32(n.Addr - r.entry), Address: n.Addr, FileOffset: off,
		Pushed: int32(n.stack.pushed), Emulated: n.Emulated,
	}
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
