package x86

import (
	"encoding/binary"

	"ipytracer/internal/code/isa"
)

// firstBytes are the first bytes of the instructions that [scan] looks for.
var firstBytes = [256]bool{0xe8: true, 0xe9: true, 0x0f: true, 0xff: true, 0x48: true, 0x4c: true}

// scan implements the field Scan of [isa.Architecture].
func scan(addr uint64, code []byte, found func(isa.Reference) bool) {
	for i := 0; i+5 <= len(code); i++ {
		if !firstBytes[code[i]] {
			continue
		}
		size, kind := reference(code[i], code[i+1], code[i+2])
		if size == 0 || i+size > len(code) {
			continue
		}
		at := addr + uint64(i)
		if !found(isa.Reference{At: at, To: relative(at, code[i:], size), Kind: kind}) {
			return
		}
	}
}

// reference returns the length in bytes of an instruction that begins with three bytes, and how it refers to another
// place. The length is 0 if the instruction is none that scan looks for.
func reference(first, second, third byte) (size int, kind isa.ReferenceKind) {
	switch {
	case first == 0xe8 || first == 0xe9:
		return 5, isa.Calls
	case first == 0x0f && second&0xf0 == 0x80:
		return 6, isa.Branches
	case first == 0xff && (second == 0x15 || second == 0x25):
		return 6, isa.Through
	case (first == 0x48 || first == 0x4c) && third&0xc7 == 0x05 && second == 0x8b: // mov of [rip + x]
		return 7, isa.Loads
	case (first == 0x48 || first == 0x4c) && third&0xc7 == 0x05 && second == 0x8d: // lea of [rip + x]
		return 7, isa.Takes
	}
	return 0, 0
}

// relative returns the address that an instruction refers to. The last four of its size bytes are a displacement from
// the next instruction.
func relative(at uint64, code []byte, size int) uint64 {
	return at + uint64(size) + uint64(int64(int32(binary.LittleEndian.Uint32(code[size-4:]))))
}

// stubLength is the number of instructions of a stub of the linkage table: ENDBR64 and the jump.
const stubLength = 2

// stub implements the field Stub of [isa.Architecture]. A stub only jumps through a pointer (System V ABI, section
// 5.2).
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
