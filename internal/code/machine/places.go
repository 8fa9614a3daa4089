package machine

import (
	"slices"

	"ipytracer/internal/code/isa"
)

// Place is where a value lies at a [Site]: in a general register, or in a word on the stack.
type Place struct {
	Register uint8 // the processor's own number
	OnStack  bool
	Above    int32 // if OnStack: the distance in bytes from the stack pointer up
}

// At returns the call itself as a site, and the places of the values there. ok is false if the call takes no probe or
// some value is not there.
func (r *Routine) At(c Call, values ...Value) (site Site, places []Place, ok bool) {
	places, ok = r.places(c.node, values)
	return r.site(c.node), places, ok && !r.graph.nodes[c.node].refused
}

// AtArgument returns the call itself as a site, and the register of its argument i, from 0 to 5, by the ABI. The
// argument's value need not be known.
func (r *Routine) AtArgument(c Call, i int) (site Site, p Place, ok bool) {
	p = Place{Register: uint8(r.graph.arch.Arguments[i].Number())}
	return r.site(c.node), p, !r.graph.nodes[c.node].refused
}

// Before returns the place where a value lies at a call, whatever path was taken to the call. Paths that do not count
// (apart, see [Routine.Passes]) may have another value in that place.
func (r *Routine) Before(c Call, value Value, apart Limits) (p Place, ok bool) {
	if places, ok := r.places(c.node, []Value{value}); ok {
		return places[0], true
	}
	reached := r.reached(make([]bool, len(r.graph.nodes)), apart)
	for i := c.node; len(r.graph.nodes[i].before) > 0; i = r.graph.nodes[i].before[0] {
		if p, ok := r.inRegisterOnArrival(i, value, reached, apart); ok && r.untouched(i, c.node, p) {
			return p, true
		}
		before := r.graph.nodes[i].before
		if len(before) != 1 || r.graph.nodes[before[0]].Jumps() {
			break
		}
	}
	return Place{}, false
}

// inRegisterOnArrival returns the register that holds a value on all paths to node to that count. ok is false if the
// paths have the value in different places, or one of them does not come from a jump.
func (r *Routine) inRegisterOnArrival(to int, value Value, reached []bool, apart Limits) (p Place, ok bool) {
	for _, b := range r.graph.nodes[to].before {
		if straight, taken := r.onward(b, apart); !reached[b] || straight != to && taken != to {
			continue
		}
		n, h := &r.graph.nodes[b], r.track.before[b]
		if h == nil || !n.Jumps() {
			return Place{}, false
		}
		here, found := h.place(value, n.stack.pushed)
		if !found || here.OnStack || ok && here != p {
			return Place{}, false
		}
		p, ok = here, true
	}
	return p, ok
}

// untouched reports whether control goes straight from one node to another, and no instruction on the way writes
// register p.
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

// maxBehind is how many instructions behind a call a site is looked for.
const maxBehind = 24

// usualLength turns a number of instructions into a generous number of bytes.
const usualLength = 8

// Behind returns the first emulated instruction behind a call as a site, and the places of the values there. ok is
// false if control may also come to the site without a return from the call. Between the call and the site there may be
// calls of other libraries that are not emulated, as in code without a PLT.
func (r *Routine) Behind(c Call, values ...Value) (site Site, places []Place, ok bool) {
	for i := r.graph.nodes[c.node].straight; i != none && !c.Tail; i = r.graph.nodes[i].straight {
		n := &r.graph.nodes[i]
		if len(n.before) != 1 || n.Addr-c.Address > usualLength*maxBehind {
			break
		}
		if n.Emulated && !n.refused {
			places, ok := r.places(i, values)
			return r.site(i), places, ok
		}
		imported := r.code.imported(&n.Instruction).Name != "" || r.importedInRegister(i).Name != ""
		if n.taken != none || n.Kind == isa.Call && !imported {
			break
		}
	}
	return Site{}, nil, false
}

// AtOnce returns the instruction directly behind a call as a site, and the places of the values there. Linux may have
// to step that instruction, which is costly. ok is false if control may also come there without a return from the call.
func (r *Routine) AtOnce(c Call, values ...Value) (site Site, places []Place, ok bool) {
	i := r.graph.nodes[c.node].straight
	if i == none || c.Tail || len(r.graph.nodes[i].before) != 1 {
		return Site{}, nil, false
	}
	places, ok = r.places(i, values)
	return r.site(i), places, ok && !r.graph.nodes[i].refused
}

// First returns the first emulated instruction that every call of the routine passes once, or else the routine's first
// instruction, and the places of the values there. ok is false if that is no site, or some value is not there.
func (r *Routine) First(values ...Value) (site Site, places []Place, ok bool) {
	for i := r.graph.entry; i != none && len(r.graph.nodes[i].before) <= 1; i = r.graph.nodes[i].straight {
		n := &r.graph.nodes[i]
		if places, ok := r.places(i, values); n.Emulated && !n.refused && ok {
			return r.site(i), places, true
		}
		if n.taken != none || n.Kind == isa.Call || n.Addr-r.entry > usualLength*maxPrologue {
			break
		}
	}
	entry := &r.graph.nodes[r.graph.entry]
	places, ok = r.places(r.graph.entry, values)
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

// places returns the place of each value before node i. ok is false if a value is nowhere.
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

// place returns where v lies, in a register if it can, else in the lowest word of the stack that holds it. pushed is
// the distance from the stack pointer up to where it was at entry.
func (h *holdings) place(v Value, pushed int64) (p Place, ok bool) {
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

// maxAbove is the largest distance of a word from the stack pointer, in bytes.
const maxAbove = 256
