package arm64

import "ipytracer/internal/code/isa"

// emulated reports whether the kernel carries out the instruction under a uprobe itself instead of stepping the thread
// over a copy. Source: arch/arm64/kernel/probes/decode-insn.c, arm_probe_decode_insn: branches, without
// authentication, and adr and adrp. A nop does not count: kernels emulate it only since 6.13.
func emulated(code word) bool {
	return code.is(0x1f000000, 0x10000000) || // adr, adrp
		code.is(0x7c000000, 0x14000000) || // b, bl
		code.is(0x7e000000, 0x34000000) || code.is(0x7e000000, 0x36000000) || // cbz, cbnz, tbz, tbnz
		code.is(0xff000010, 0x54000000) || // b.cond
		code.is(0xfffffc1f, 0xd61f0000) || // br
		code.is(0xfffffc1f, 0xd63f0000) || // blr
		code.is(0xfffffc1f, 0xd65f0000) // ret
}

// refused reports whether Linux refuses a uprobe on an instruction (aarch64_insn_is_steppable in the same file). It
// also does so for an instruction whose copy, when it is stepped over, does something else: such an instruction depends
// on its own address, or on the instructions beside it. Instructions that only older Linux refuses are refused, too.
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
	case code.is(0xfff00000, 0xd5300000): // mrs: the flags that mask interrupts are others in a step
		return code.bits(20, 5) == 0xda11
	case code.is(0x3b000000, 0x18000000), // loads from beside the code
		code.is(0x3f000000, 0x08000000) && code.bits(23, 23) == 0, // exclusive ones
		code.is(0x3b200c00, 0x19000400),                           // copies in three parts
		code.is(0xff800000, 0xf3800000),                           // autiasppc
		code.is(0xffff8000, 0xdac18000):                           // paciasppc and its like
		return true
	}
	return false
}

// steppedHint reports whether Linux steps over a hint (aarch64_insn_is_steppable_hint): marks of entries, signatures
// and nop. Linux refuses to step over a hint that checks a signature.
func steppedHint(n uint32) bool {
	switch n {
	case 0, 7, 8, 10, 24, 25, 26, 27, 32, 34, 36, 38:
		return true
	}
	return false
}

// barrier reports whether an instruction of the group of msr is no msr, but a barrier or an operation on caches.
func barrier(w word) bool {
	return w.is(0xfffff000, 0xd5033000) || w.is(0xfff80000, 0xd5080000)
}

// maxExclusive bounds the instructions between an exclusive load and its store, as MAX_ATOMIC_CONTEXT_SIZE does
// (arch/arm64/kernel/probes/decode-insn.c).
const maxExclusive = 128 / size

// exclusive is the Unbroken of [Architecture]. A load and a store that are to be one may have no exception in between:
// the store would fail, and the code would try again forever.
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
