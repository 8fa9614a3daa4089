/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The memory that an instruction of x86-64 works on: enough of it is decoded to know the address, mostly to the byte,
 * always to a few. Nothing is executed, and any bytes may be there: they are a target's.
 */
#ifndef IPYTRACER_OPERAND_H
#define IPYTRACER_OPERAND_H

/* The bytes of an instruction that were not decoded, the next one lowest. */
struct code_bytes {
	__u64 low;
	__u64 high;
	__u64 at; /* address of the next one */
};

static __always_inline __u8 next_byte(struct code_bytes *c)
{
	__u8 byte = c->low;

	c->low = c->low >> 8 | c->high << 56;
	c->high >>= 8;
	c->at++;
	return byte;
}

static __always_inline __s64 next_displacement(struct code_bytes *c, __u32 mode, __u32 unit)
{
	__s64 wide = (__s32)c->low, narrow = (__s8)c->low * (__s64)unit;

	c->at += mode == 2 ? 4 : mode;
	return mode == 2 ? wide : mode ? narrow : 0;
}

/* Returns a general register. Its bound must be where the verifier of Linux 6.1 sees it. */
static __always_inline __u64 general_register(__u64 *all, __u64 number)
{
	asm volatile("" : "+r"(number));
	return REGISTER(all, number);
}

/* What comes before ModRM. Its bits for registers are those above the three that ModRM has. */
struct prefixes {
	__u32 base;
	__u32 index;
	__u32 unit; /* of a displacement of one byte */
	__u32 opcode;
	__u32 is_plain; /* the opcode has one byte */
};

/* Decodes up to the opcode. Returns false for what has no address in general registers. */
static __always_inline bool decode_prefixes(struct code_bytes *c, struct prefixes *x)
{
	__u8 byte = next_byte(c), map = 1;

#pragma clang loop unroll(full)
	for (int i = 0; i < 3; i++) {
		if (byte == 0x66 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e || byte == 0x3e)
			byte = next_byte(c);
	}
	x->unit = 1;
	if (byte == 0xc5 || byte == 0xc4 || byte == 0x62) { /* VEX and EVEX: bits are inverted */
		__u8 first = next_byte(c), extends = byte == 0xc5 ? 0 : ~first;
		x->base = extends >> 2 & 8;
		x->index = extends >> 3 & 8;
		map = byte == 0xc5 ? 1 : first & 7;
		if (byte != 0xc5)
			next_byte(c);
		if (byte == 0x62)
			x->unit = 16u << (next_byte(c) >> 5 & 3);
		x->opcode = next_byte(c);
		return map != 2 || ((x->opcode & 0xfc) != 0x90 && (x->opcode & 0xfc) != 0xa0); /* gathers, scatters */
	}
	if ((byte & 0xf0) == 0x40) { /* REX */
		x->base = (__u32)byte << 3 & 8;
		x->index = (__u32)byte << 2 & 8;
		byte = next_byte(c);
	}
	x->is_plain = byte != 0x0f;
	if (!x->is_plain) {
		byte = next_byte(c);
		if (byte == 0x38 || byte == 0x3a)
			byte = next_byte(c);
	}
	x->opcode = byte;
	return true;
}

/* Returns the address that ModRM, and what follows it, names; 0 for a register. */
static __always_inline __u64 decode_modrm(struct code_bytes *c, struct prefixes *x, __u64 *all)
{
	__u8 modrm = next_byte(c), mode = modrm >> 6, base = modrm & 7;
	__u64 address = 0;

	if (mode == 3)
		return 0;
	if (base == 4) {
		__u8 sib = next_byte(c);
		__u32 index = (sib >> 3 & 7) | x->index;
		if (index != 4)
			address = general_register(all, index) << (sib >> 6);
		base = sib & 7;
	} else if (base == 5 && !mode) { /* it counts from the next instruction, a few bytes on */
		__s64 by = next_displacement(c, 2, 1);
		return c->at + by;
	}
	if (base == 5 && !mode)
		mode = 2;
	else
		address += general_register(all, base | x->base);
	return address + next_displacement(c, mode, x->unit);
}

/*
 * Returns the address of the memory that the present instruction works on, 0 if that is not known. Where it copies, it
 * is the destination. Where the instruction cannot be read, its own page is the one.
 */
static __always_inline __u64 operand_at(struct pt_regs *regs)
{
	struct code_bytes code = { .at = PT_REGS_IP(regs) };
	struct prefixes x = {};
	REGISTERS_OF(regs, all);
	__u64 bytes[2] = {};

	if (READ(bytes, code.at) && READ(bytes[0], code.at))
		return code.at;
	code.low = bytes[0];
	code.high = bytes[1];
	if (!decode_prefixes(&code, &x))
		return 0;
	if (x.is_plain) {
		switch (x.opcode) {
		case 0xa4 ... 0xa5: /* movs */
		case 0xaa ... 0xab: /* stos */
			return regs->di;
		case 0xa6 ... 0xa7: /* cmps */
		case 0xac ... 0xad: /* lods */
			return regs->si;
		case 0x50 ... 0x57: /* push */
		case 0x68:
		case 0x6a:
		case 0xe8: /* call */
			return regs->sp - 8;
		case 0x58 ... 0x5f: /* pop */
		case 0xc3:	    /* ret */
			return regs->sp;
		}
	}
	return decode_modrm(&code, &x, all);
}

#endif
