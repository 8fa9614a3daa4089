package native

import "debug/elf"

// processor is what unwinding has to know of a processor.
type processor struct {
	// The DWARF numbers of the registers for which there are rules: the frame pointer, the stack pointer and the return
	// address.
	bp, sp, ra uint64
	// linked: a call leaves the return address in a register, and the called function stores it where it likes. Else a
	// call stores the return address right below the frame's address.
	linked bool
	// signed: the return address may have a signature in its highest bits. Call frame instructions say whether it has.
	signed bool
	// userBits is how many bits addresses of a process have.
	userBits uint
}

// processors are the processors whose files are read. x86-64: System V ABI, AMD64, figure 3.36; 47 bits with page
// tables of four levels (Documentation/arch/x86/x86_64/mm.rst). arm64: DWARF for the Arm 64-bit Architecture, section
// 4.1; 48 bits unless a process asks for more (Documentation/arch/arm64/memory.rst).
var processors = map[elf.Machine]*processor{
	elf.EM_X86_64:  {bp: 6, sp: 7, ra: 16, userBits: 47},
	elf.EM_AARCH64: {bp: 29, sp: 31, ra: 30, linked: true, signed: true, userBits: 48},
}

// returnAddress is the offset from the frame's address at which a call stores the return address, on a processor that
// stores it in memory.
const returnAddress = -8

// code returns the address of code in a word that was kept as a return address.
func (p *processor) code(word uint64) uint64 {
	if !p.signed {
		return word
	}
	return word & (1<<p.userBits - 1)
}

// frameRecord is the size of arm64's frame record: the caller's frame pointer, and behind it the return address
// (Procedure Call Standard for the Arm 64-bit Architecture, 6.4.6).
const frameRecord = 16

// above returns a row in which the frame's address lies above the frame record, where the record lies at that address.
// Libffi's ffi_call_SYSV has its record in a part of its caller's frame that has no fixed size. So the caller's frame
// is found from the frame pointer, and not from this address.
func (p *processor) above(r row) row {
	if p.linked && r.cfaRegister == p.bp && !r.cfaDeref && r.bp == (kept{kind: keptAt}) &&
		r.ra == (kept{kind: keptAt, offset: frameRecord / 2}) {
		r.cfaOffset += frameRecord
		r.bp.offset -= frameRecord
		r.ra.offset -= frameRecord
	}
	return r
}
