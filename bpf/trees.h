/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The sum of a tree of processes, which follows their meters. Pages that they share since a fork are in forked.h. */
#ifndef IPYTRACER_TREES_H
#define IPYTRACER_TREES_H

static __always_inline __s64 resident_of(struct process *p)
{
	return *(volatile __s64 *)&p->value[METER_ANON] + *(volatile __s64 *)&p->value[METER_FILE] +
	       *(volatile __s64 *)&p->value[METER_SHMEM];
}

#define SHARES_BIT 62
#define SHARES_ALL (1ll << SHARES_BIT) /* inherited: more than any value; adds nothing to its tree */

__u32 trees_exact; /* written by user space before processes are attached: see forked.h */

/* Returns all bits for one value of a meter, and none for another. Without a branch. */
static __always_inline __s64 if_meter(__u64 meter, __u64 wanted)
{
	__s64 other = (__s64)(meter ^ wanted);

	asm volatile("" : "+r"(other));
	return (other - 1) >> 63;
}

static __always_inline __s64 not_below_0(__s64 value)
{
	return value & ~(value >> 63);
}

static __always_inline __s64 beyond_birth(struct process *p, __u32 meter)
{
	return *(volatile __s64 *)&p->value[meter] - *(volatile __s64 *)&p->inherited[meter];
}

/*
 * Returns the bytes that a process is to add to its tree now: memory that it shares with its parent since the fork
 * counts once, with the parent. A process that is being closed adds nothing. With trees_exact that of anonymous memory
 * may be below 0: forked.h adds the copies, and what others keep, to the sum itself. There are no branches: the
 * verifier would walk the code behind for each.
 */
__attribute__((noinline)) __s64 adds(struct process *p, __u32 number)
{
	__u64 meter = AT_MOST(number, METERS - 1);

	if (!p)
		return 0;
	__s64 sums = if_meter(meter, METER_RESIDENT), pages = sums | if_meter(meter, METER_ANON);
	__s64 born = *(volatile __s64 *)&p->inherited[meter], exact = pages & -(__s64) * (volatile __u32 *)&trees_exact;
	__s64 own = (resident_of(p) & sums) | (*(volatile __s64 *)&p->value[meter] & ~sums);

	own = not_below_0(own - born);
	__s64 anon = beyond_birth(p, METER_ANON) & ((born >> SHARES_BIT & 1) - 1);
	anon += not_below_0(beyond_birth(p, METER_FILE) + beyond_birth(p, METER_SHMEM)) & sums;
	own = (own & ~exact) | (anon & exact);
	return own & -(__s64) * (volatile __u32 *)&p->active;
}

#define FOLLOWS 3 /* attempts: where other CPUs are faster each time, they have seen the latest values */

/*
 * Moves a tree's sum after a process's meter. `added` is the process's part of the tree's sum: every CPU that changes
 * it moves the sum by as much. So the sum is that of all `added`, and does not drift, whatever other CPUs do meanwhile.
 * The meter is read again behind the change: of two CPUs that move it at once, the later one leaves the result of both
 * there. Neither static nor inline: the verifier checks it once, and not at every call.
 */
__attribute__((noinline)) int tree_follows(struct process *p, __u32 number)
{
	__u64 meter = AT_MOST(number, METERS - 1);
	struct root *r = p ? root_of(p) : NULL;

	if (!r || !*(volatile __u32 *)&r->shared)
		return 0;
	for (int i = 0; i < FOLLOWS; i++) {
		__s64 was = *(volatile __s64 *)&p->added[meter], now = adds(p, meter);
		if (now == was)
			break;
		if (__sync_val_compare_and_swap(&p->added[meter], was, now) != was)
			continue;
		raise_to(&r->tree_high[meter], fetch_add(&r->tree[meter], now - was) + now - was);
	}
	return 0;
}

#endif
