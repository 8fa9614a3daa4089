package arm64

import (
	"encoding/binary"

	"ipytracer/internal/code/isa"
)

// scan is the Scan of [Architecture]. Where a page is made for several places the instructions need not lie together,
// nor even in the order in which they run: a register is taken to hold an address until other code writes it, further
// down. Functions and the ways through them are not looked at.
func scan(addr uint64, code []byte, found func(isa.Reference) bool) {
	var known isa.Addresses
	for i := int(-addr % size); i+size <= len(code); i += size {
		encoded := word(binary.LittleEndian.Uint32(code[i:]))
		if !known.Any() && !refers(encoded) {
			continue
		}
		var in isa.Instruction
		in.Addr, in.Len = addr+uint64(i), size
		if !fill(&in, encoded) {
			continue
		}
		if r, ok := reference(&known, &in); ok && !page(encoded) && !found(r) {
			return
		}
		known.Step(&in, clobbered)
	}
}

// refers reports whether an instruction may refer to a place by itself: a branch, adr, adrp, a load from beside it.
func refers(w word) bool { return emulated(w) || w.is(0x3b000000, 0x18000000) }

// page reports whether an instruction makes the address of a page, and so refers to no place yet: adrp.
func page(w word) bool { return w.is(0x9f000000, 0x90000000) }

// reference returns the place that an instruction refers to.
func reference(known *isa.Addresses, in *isa.Instruction) (r isa.Reference, ok bool) {
	r.At = in.Addr
	switch in.Kind {
	case isa.Call, isa.Jump, isa.Branch:
		if in.Kind == isa.Branch {
			r.Kind = isa.Branches
		}
		r.To, ok = in.Target()
		return r, ok
	case isa.Move:
		r.Kind = isa.Loads
		if !in.Operands[0].Whole() {
			return r, false
		}
		r.To, ok = known.Of(&in.Operands[1])
		return r, ok
	case isa.Address:
		r.Kind = isa.Takes
		r.To, ok = known.Of(&in.Operands[1])
		return r, ok
	}
	return r, false
}
