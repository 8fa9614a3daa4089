package arm64

import "ipytracer/internal/code/isa"

// stubLength is the number of instructions of the longest stub of the linkage table: bti, adrp, ldr, add, br.
const stubLength = 5

// stub implements the field Stub of [isa.Architecture]. A stub loads a pointer and branches through it (ELF for the Arm
// 64-bit Architecture, section 9.4).
func stub(decode func(addr uint64) (isa.Instruction, bool), addr uint64, more int) (pointer uint64, ok bool) {
	var known isa.Addresses
	loaded := map[isa.Register]uint64{} // the address from which a register was loaded
	for range stubLength + more {
		in, decoded := decode(addr)
		if !decoded {
			return 0, false
		}
		if to, through := in.ThroughRegister(); through && in.Kind == isa.Jump {
			pointer, ok = loaded[to]
			return pointer, ok
		}
		if !in.Plain {
			return 0, false
		}
		from, isKnown := known.Of(&in.Operands[1])
		delete(loaded, in.Writes)
		if isKnown && in.Kind == isa.Move && in.Operands[0].Whole() {
			loaded[in.Writes] = from
		}
		known.Step(&in, clobbered)
		addr = in.End()
	}
	return 0, false
}
