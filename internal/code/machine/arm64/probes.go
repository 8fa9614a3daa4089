package arm64

import "ipytracer/internal/code/isa"

// emulated reports whether Linux carries out the instruction under a uprobe itself instead of stepping the thread over
// a copy: branches without authentication, adr and adrp (arm_probe_decode_insn in
// arch/arm64/kernel/probes/decode-insn.c). A nop does not count, because Linux emulates it only since 6.13.
func emulated(code word) bool {
	return code.is(0x1f000000, 0x10000000) || // adr, adrp
		code.is(0x7c000000, 0x14000000) || // b, bl
		code.is(0x7e000000, 0x34000000) || code.is(0x7e000000, 0x36000000) || // cbz, cbnz, tbz, tbnz
		code.is(0xff000010, 0x54000000) || // b.cond
		code.is(0xfffffc1f, 0xd61f0000) || // br
		code.is(0xfffffc1f, 0xd63f0000) || // blr
		code.is(0xfffffc1f, 0xd65f0000) // ret
}

// refused reports whether any version of Linux refuses a uprobe on the instruction (aarch64_insn_is_steppable in the
// same file). It is also true if a copy of the instruction would do something else, because the instruction depends on
// its own address or on its neighbours.
func refused(code word) bool {
	switch {
	case emulated(code):
		return false
	case code.is(0xfffff01f, 0xd503201f):
		return !steppedHint(code.bits(11, 5))
	case code.is(0xff000000, 0xd4000000), // exceptions
		code.is(0xfe000000, 0xd6000000),                                  // branches with authentication
		code.is(0xff000000, 0x54000000), code.is(0xff000000, 0x55000000), // bc.cond; retaasppc
		code.is(0xffe00000, 0xd5000000) && !barrier(code): // msr: of system registers, and of the processor's state
		return true
	case code.is(0xfff00000, 0xd5300000): // mrs of DAIF: in a step the interrupt masks have other values
		return code.bits(20, 5) == 0xda11
	case code.is(0x3b000000, 0x18000000), // loads relative to the instruction
		code.is(0x3f000000, 0x08000000) && code.bits(23, 23) == 0, // exclusive loads and stores
		code.is(0x3b200c00, 0x19000400),                           // copies of memory by three instructions
		code.is(0xff800000, 0xf3800000),                           // autiasppc
		code.is(0xffff8000, 0xdac18000):                           // paciasppc and its like
		return true
	}
	return false
}

// steppedHint reports whether Linux steps over hint n (aarch64_insn_is_steppable_hint): a nop, a mark of an entry, or
// the making of a signature. Linux refuses to step over a hint that checks a signature.
func steppedHint(n uint32) bool {
	switch n {
	case 0, 7, 8, 10, 24, 25, 26, 27, 32, 34, 36, 38:
		return true
	}
	return false
}

// barrier reports whether an instruction in the group of msr is a barrier or an operation on caches, and no msr.
func barrier(w word) bool {
	return w.is(0xfffff000, 0xd5033000) || w.is(0xfff80000, 0xd5080000)
}

// maxExclusive is how many instructions are searched backwards for an exclusive load, as Linux does it
// (MAX_ATOMIC_CONTEXT_SIZE in arch/arm64/kernel/probes/decode-insn.c).
const maxExclusive = 128 / size

// exclusive implements the field Unbroken of [isa.Architecture]. An exception between an exclusive load and its store
// would make the store fail, and the code would try again forever.
func exclusive(decode func(addr uint64) (isa.Instruction, bool), addr uint64) bool {
	for back := uint64(size); back <= maxExclusive*size && back <= addr; back += size {
		in, ok := decode(addr - back)
		if !ok {
			return false
		}
		switch in.Exclusive {
		case isa.ExclusiveLoad:
			return true
		case isa.ExclusiveStore:
			return false
		}
	}
	return false
}
