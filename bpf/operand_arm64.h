/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The memory that an instruction of arm64 works on: enough of it is decoded to know the address, mostly to the byte,
 * always to a few. Nothing is executed, and any bytes may be there: they are a target's.
 */
#ifndef IPYTRACER_OPERAND_H
#define IPYTRACER_OPERAND_H

/* Returns a number of so many bits from a bit on, with its sign. */
static __always_inline __s64 signed_bits(__u32 instruction, __u32 from, __u32 bits)
{
	return (__s64)((__u64)instruction << (64 - from - bits)) >> (64 - bits);
}

/*
 * Returns the address of the memory that the present instruction works on, 0 if that is not known: Arm Architecture
 * Reference Manual, C4.1, loads and stores. Where the instruction cannot be read, its own page is the one.
 */
static __always_inline __u64 operand_at(struct pt_regs *regs)
{
	__u64 at = PT_REGS_IP(regs);
	__u32 i = 0;

	if (READ(i, at))
		return at;
	if ((i & 0xffffffe0) == 0xd50b7420) /* dc zva */
		return REGISTER(regs, i & 31);
	if ((i & 0x0a000000) != 0x08000000)
		return 0;
	__u64 base = REGISTER(regs, i >> 5 & 31);
	bool is_vector = i >> 26 & 1;
	__u32 scale = is_vector && i >> 23 & 1 ? 4 : i >> 30;
	if ((i & 0x3b000000) == 0x39000000)
		return base + ((__u64)(i >> 10 & 0xfff) << scale);
	if ((i & 0x3b200c00) == 0x38200800) {
		__u64 index = REGISTER(regs, i >> 16 & 31), option = i >> 13 & 7;
		if (option == 2)
			index = (__u32)index;
		else if (option == 6)
			index = (__s64)(__s32)index;
		return base + (index << (i >> 12 & 1 ? scale : 0));
	}
	if ((i & 0x3b200c00) == 0x38000000 || (i & 0x3b200c00) == 0x38000c00)
		return base + signed_bits(i, 12, 9);
	if ((i & 0x3a000000) == 0x28000000 && (i >> 23 & 3) != 1) {
		__u32 pair = is_vector ? 2 + (i >> 30) : 2 + (i >> 31);
		return base + (signed_bits(i, 15, 7) << pair);
	}
	return base; /* with an update behind, exclusive, atomic, of several structures */
}

#endif
