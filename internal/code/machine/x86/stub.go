package x86

import "ipytracer/internal/code/isa"

// stubLength is how many instructions a stub of the linkage table has up to its jump: ENDBR64 and the jump.
const stubLength = 2

// stub finds a jump through a pointer: that is all that a stub does (System V ABI, section 5.2).
func stub(decode func(addr uint64) (isa.Instruction, bool), addr uint64, more int) (pointer uint64, ok bool) {
	for range stubLength + more {
		in, decoded := decode(addr)
		if !decoded {
			return 0, false
		}
		if pointer, ok := in.Through(); ok && in.Kind == isa.Jump {
			return pointer, true
		}
		addr = in.End()
	}
	return 0, false
}
