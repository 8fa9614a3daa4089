package arm64

import (
	"encoding/binary"

	"ipytracer/internal/code/isa"
)

// scan implements the field Scan of [isa.Architecture]. It reads code in order of address, and knows neither functions
// nor paths. An adrp may serve several later instructions, which need not follow it closely. So scan assumes that a
// register holds an address until an instruction further down writes the register.
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
		if r, ok := reference(&known, &in); ok && !isADRP(encoded) && !found(r) {
			return
		}
		known.Step(&in, clobbered)
	}
}

// refers reports whether an instruction may refer to another place without a register: a branch, adr, adrp or a load
// relative to the instruction.
func refers(w word) bool { return emulated(w) || w.is(0x3b000000, 0x18000000) }

// isADRP reports whether an instruction is adrp. That makes the address of a page, and refers to no place yet.
func isADRP(w word) bool { return w.is(0x9f000000, 0x90000000) }

// reference returns the reference that an instruction makes, given the addresses that registers are known to hold.
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
