package elffile

import "debug/elf"

// processor has the facts about a processor that unwinding needs.
type processor struct {
	// The DWARF numbers of the frame pointer, the stack pointer and the return address.
	bp, sp, ra uint64
	// linked: a call leaves the return address in a register, and the called function stores it anywhere. On other
	// processors a call stores the return address directly below the frame's address.
	linked bool
	// signed: the return address may have a signature in its highest bits.
	signed bool
	// userBits is the number of bits of an address in a process.
	userBits uint
}

// processors has the facts about each known processor. x86-64: System V ABI, AMD64, figure 3.36; 47 bits with page
// tables of four levels (Documentation/arch/x86/x86_64/mm.rst). arm64: DWARF for the Arm 64-bit Architecture, section
// 4.1; 48 bits unless a process asks for more (Documentation/arch/arm64/memory.rst).
var processors = map[elf.Machine]*processor{
	elf.EM_X86_64:  {bp: 6, sp: 7, ra: 16, userBits: 47},
	elf.EM_AARCH64: {bp: 29, sp: 31, ra: 30, linked: true, signed: true, userBits: 48},
}

// returnAddress is the offset from the frame's address at which a call stores the return address, on a processor that
// stores it in memory.
const returnAddress = -8

// code returns a return address without its signature.
func (p *processor) code(word uint64) uint64 {
	if !p.signed {
		return word
	}
	return word & (1<<p.userBits - 1)
}

// frameRecord is the size in bytes of arm64's frame record: the caller's frame pointer, and behind it the return
// address (Procedure Call Standard for the Arm 64-bit Architecture, 6.4.6).
const frameRecord = 16

// above moves the frame's address from the beginning of the frame record to its end, and returns any other row
// unchanged. Libffi's ffi_call_SYSV has such a row: its record lies in a part of its caller's frame that has no fixed
// size.
func (p *processor) above(r row) row {
	if p.linked && r.cfaRegister == p.bp && !r.cfaDeref && r.bp == (kept{kind: keptAt}) &&
		r.ra == (kept{kind: keptAt, offset: frameRecord / 2}) {
		r.cfaOffset += frameRecord
		r.bp.offset -= frameRecord
		r.ra.offset -= frameRecord
	}
	return r
}
