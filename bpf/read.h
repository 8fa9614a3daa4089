/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reading kernel memory by address, as plain numbers.
 *
 * bpf_rdonly_cast (kernel 6.2) costs nothing at run time and makes each read one load that cannot fault; the
 * helper, on older kernels, is a call. An address that is not mapped reads as 0.
 */
#ifndef IPYTRACER_READ_H
#define IPYTRACER_READ_H

extern void *bpf_rdonly_cast(const void *object, __u32 btf_id) __ksym __weak;

static __always_inline __s64 word_at(__u64 address)
{
	if (have_cast) {
		struct timespec64 *t = bpf_rdonly_cast((void *)address, bpf_core_type_id_kernel(struct timespec64));
		return t->tv_sec;
	}
	__s64 word = 0;
	bpf_probe_read_kernel(&word, sizeof(word), (void *)address);
	return word;
}

static __always_inline __s32 int_at(__u64 address)
{
	if (have_cast) {
		struct refcount_struct *c = bpf_rdonly_cast((void *)address,
							    bpf_core_type_id_kernel(struct refcount_struct));
		return c->refs.counter;
	}
	__s32 word = 0;
	bpf_probe_read_kernel(&word, sizeof(word), (void *)address);
	return word;
}

/* Reports whether a text has a prefix. Without branches: the verifier would follow each, and all code behind it. */
static __always_inline bool starts_with(const char *text, const char *prefix, int n)
{
	__u8 different = 0;

#pragma clang loop unroll(full)
	for (int i = 0; i < n; i++)
		different |= text[i] ^ prefix[i];
	return !different;
}

/*
 * A number of bytes with a bound that the verifier sees where the number is used. From a test in C, the compiler would
 * leave out a bound that it has proven, or test a copy; verifiers before 6.8 follow neither.
 */
#define AT_MOST(number, limit)                                                               \
	({                                                                                   \
		__u64 bounded = (number);                                                    \
		asm volatile("if %0 <= %1 goto +1\n\t%0 = %1" : "+r"(bounded) : "i"(limit)); \
		bounded;                                                                     \
	})

#define FIELD(object, type, field)     word_at((object) + bpf_core_field_offset(struct type, field))
#define INT_FIELD(object, type, field) int_at((object) + bpf_core_field_offset(struct type, field))

#endif
