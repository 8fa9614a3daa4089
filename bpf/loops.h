/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Loops that the verifier walks once: bpf_loop (kernel 5.17), or on older kernels bpf_for_each_map_elem (5.13) over an
 * array of which only the indices matter. The one that is not used is dead code, which the verifier never sees.
 *
 * A step is `static __always_inline long step(__u32 i, context)`, because the depth of calls is limited; it returns 1
 * to end the loop. REPEATED(step, context) declares it.
 */
#ifndef IPYTRACER_LOOPS_H
#define IPYTRACER_LOOPS_H

#define MOST_TICKS (1 << 16)

/* Where there is bpf_loop, user space makes it an array of one entry. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_TICKS);
	__type(key, __u32);
	__type(value, __u64);
} ticks SEC(".maps");

struct ticking {
	void *context;
	__u32 times;
	__u32 padding;
};

#define REPEATED(step, type)                                                                     \
	static long step##_tick(void *map, const __u32 *i, const void *value, struct ticking *t) \
	{                                                                                        \
		if (*i >= t->times)                                                              \
			return 1;                                                                \
		return step(*i, (type)t->context);                                               \
	}

/* Calls a step for 0 … n - 1, at most MOST_TICKS times. */
#define REPEAT(n, step, pointer)                                                         \
	do {                                                                             \
		if (have_loop) {                                                         \
			bpf_loop(n, step, pointer, 0);                                   \
		} else {                                                                 \
			struct ticking ticking = { .context = (pointer), .times = (n) }; \
			bpf_for_each_map_elem(&ticks, step##_tick, &ticking, 0);         \
		}                                                                        \
	} while (0)

/*
 * REPEATED for a step of REPEAT_SLOTS, which calls it for each slot in use: with less on the stack, which is scarce
 * where boundaries are drawn.
 */
#define REPEATED_SLOTS(step, type)                                                             \
	static long step##_tick(void *map, const __u32 *slot, const void *value, type context) \
	{                                                                                      \
		return *slot >= used_slots ? 1 : step(*slot, context);                         \
	}

#define REPEAT_SLOTS(step, pointer)                                             \
	do {                                                                    \
		if (have_loop)                                                  \
			bpf_loop(used_slots, step, pointer, 0);                 \
		else                                                            \
			bpf_for_each_map_elem(&ticks, step##_tick, pointer, 0); \
	} while (0)

#endif
