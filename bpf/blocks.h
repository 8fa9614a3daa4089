/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Meters of blocks: NumPy's, PyTorch's on the CPU, Arrow's, malloc's.
 *
 * A recorded block has a record of its allocation, with its stack, and one of its free. Each leads from one value of
 * the meter to the next. Most of the cost of a block is the walk up the stack, the record and the reading of it, and a
 * program that allocates a hundred thousand small blocks in a second has lines that are not read one by one. So once
 * the budget requires it (GROUP_SMALL_STACKS is stepped down), a block below SAMPLE_OF bytes of any of these but malloc
 * is recorded with a probability of its size in SAMPLE_OF, as a sample that stands for SAMPLE_OF bytes. The others only
 * move the meter. The draw is made as a block is allocated, and its result is kept with the block: so a free is
 * recorded if its allocation was. A process that counts small blocks itself draws their samples, too (counts.h).
 *
 * The meter stays exact, and so does the proof of its peak: blocks without records are streamed as pages are, by those
 * values before a fall of the meter that are the highest of the segment so far.
 */
#ifndef IPYTRACER_BLOCKS_H
#define IPYTRACER_BLOCKS_H

#define TRIES 8 /* to move a meter down from the very value that its maximum has */

/* A move from one block, or none, to another, or none: the process that has them, and the bytes that count. */
struct block_move {
	__u64 from;
	__u64 to;
	__s64 before;
	__s64 after;
	__u64 stack;
	__u32 slot;
	__u32 flags; /* of the change that frees it, see change_flag */
	__u16 was;   /* enum telling and INTERVAL, of the block before */
	__u16 is;    /* enum telling and INTERVAL, of the block after */
	__u32 meter;
};

/* Adds to the credit of records of single small blocks what has accrued since the tick before. */
static __noinline int top_up_small(struct root *r)
{
	if (!r)
		return 0;
	__u64 now = bpf_ktime_get_ns(), before = exchange(&r->small_since, now),
	      passed = now > before ? now - before : 0;
	if (passed > LONGEST_WAIT)
		passed = LONGEST_WAIT;
	__s64 full = budget_full / SMALL_BURST, credit = *(volatile __s64 *)&r->small_credit;
	credit += passed * budget_share / MILLION / SMALL_SHARE;
	r->small_credit = credit < full ? credit : full;
	return 0;
}

/*
 * Reports whether a small block may have its own record. A burst of them would spend at once the credit that the
 * account has saved, on lines that are not read one by one. So their records have an account of their own, which holds
 * a SMALL_BURST of the other and gains a SMALL_SHARE of what the other gains: at 3 %, 8 ms pay for the blocks of a
 * burst, and then for as many a second.
 */
static __always_inline bool tells_small(struct root *r)
{
	if (!budget_share)
		return true;
	__u32 tick = bpf_jiffies64();
	if (*(volatile __u32 *)&r->small_tick != tick && exchange(&r->small_tick, tick) != tick)
		top_up_small(r);
	if (*(volatile __s64 *)&r->small_credit < TOLD_PRICE)
		return false;
	fetch_add(&r->small_credit, -TOLD_PRICE);
	return true;
}

/* Returns the sample that a process says it makes, 0 if it makes none. */
static __always_inline __u32 sample_of(struct process *p, __u32 what)
{
	struct counts *c = page_of(p, what);

	return c ? *(volatile __u64 *)&c->sample & INTERVAL_MOST : 0;
}

/* Returns how a block is recorded that is being allocated: an enum telling, with the INTERVAL of a sample. */
__attribute__((noinline)) int tells_block(__u32 slot, __s64 size, __u32 meter)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;
	__u32 bit = 1u << (meter & 31);

	if (r && meter - METER_NUMPY < COUNTS && size < COUNTED_BELOW) {
		__u32 sample = sample_of(p, meter - METER_NUMPY);
		if (sample)
			return TELL_SAMPLE | sample << INTERVAL_SHIFT;
	}
	if (!r || size >= SAMPLE_OF || (!is_down(r, GROUP_SMALL_STACKS) && tells_small(r)))
		return TELL_BLOCK;
	if (!is_down(r, GROUP_FRAMES) && (bpf_get_prandom_u32() & (SAMPLE_OF - 1)) < size)
		return TELL_SAMPLE;
	if (!(*(volatile __u32 *)&p->untold & bit))
		__sync_fetch_and_or(&p->untold, bit);
	return TELL_NOT;
}

/*
 * Moves a meter down, and returns the value from which it fell. The maximum has that value before the meter falls, so a
 * boundary finds either. Code that raises the meter need not have kept it. Where other CPUs move the meter all the
 * time, the maximum follows the fall.
 */
__attribute__((noinline)) __s64 move_down(struct process *p, __u32 number, __s64 difference)
{
	__u64 meter = AT_MOST(number, METERS - 1);
	struct root *r = p ? root_of(p) : NULL;

	if (!r)
		return 0;
	__s64 from = *(volatile __s64 *)&p->value[meter];
	for (int i = 0; i < TRIES; i++) {
		raise_to(&p->high[meter], from);
		__s64 was = __sync_val_compare_and_swap(&p->value[meter], from, from + difference);
		if (was == from)
			goto moved;
		from = was;
	}
	from = fetch_add(&p->value[meter], difference);
	raise_to(&p->high[meter], from);
moved:
	if (*(volatile __u32 *)&r->shared)
		tree_follows(p, meter);
	return from;
}

/* Moves the meter; a value from which it falls is streamed if nothing in the segment was higher. */
__attribute__((noinline)) int moves_untold(struct process *p, __u32 number, __s64 difference)
{
	__u64 meter = AT_MOST(number, METERS - 1);
	struct root *r = p ? root_of(p) : NULL;

	if (!r || !difference)
		return 0;
	__u64 segment = *(volatile __u64 *)&p->segment;
	__s64 seen = *(volatile __s64 *)&p->value[meter];
	if (difference > 0) {
		move(p, r, meter, difference);
		return 0;
	}
	__u64 told = falls(p, segment, meter, seen, SENT_BYTE);
	__s64 from = move_down(p, meter, difference);
	if (!told && from > seen) /* another thread's block came in between */
		told = unless_sent(p, segment, meter, from, SENT_BYTE);
	/* The meter had both values, and other CPUs rely on the one that is noted as sent. */
	fell(p, told, segment, meter, BOTH_MAX(seen, from));
	return 0;
}

/* Records that the meter moved by m->before, to a value, for the block at m->from. */
__attribute__((noinline)) int tell_of(struct process *p, struct block_move *m, __u64 number, __u64 segment, __s64 value)
{
	struct root *r = p && m ? root_of(p) : NULL;

	if (r)
		send_change(p, r, number, segment, m->flags, value, m->before, m->from, m->stack);
	return 0;
}

/*
 * Moves the meter, and records the free of a block of `before` bytes and the allocation of one of `after` bytes; 0 for
 * none.
 */
__attribute__((noinline)) int moves_told(struct process *p, struct block_move *m, __s64 before, __s64 after)
{
	struct root *r = p && m ? root_of(p) : NULL;

	if (!r)
		return 0;
	__u32 meter = AT_MOST(m->meter, METERS - 1);
	bool apart = before && (!after || m->from != m->to || (m->was | m->is));
	__u64 segment = *(volatile __u64 *)&p->segment, number = fetch_add(&r->stream, 1 + (apart && after)) + 1;
	__s64 difference = m->after - m->before;
	__s64 value = difference < 0 ? move_down(p, meter, difference) + difference : move(p, r, meter, difference);
	__u32 flags = m->flags | meter | (*(volatile __u32 *)&p->untold >> meter & 1) * CHANGE_UNCHAINED;
	if (apart) {
		__u64 stack = m->stack;
		m->flags = flags | (m->was & TELL_SAMPLE) * CHANGE_SAMPLE | (m->was & INTERVAL);
		m->before = -before;
		m->stack = 0;
		tell_of(p, m, number++, segment, value - m->after);
		m->stack = stack;
		before = 0;
	}
	if (after) {
		m->flags = flags | (m->is & TELL_SAMPLE) * CHANGE_SAMPLE | (m->is & INTERVAL);
		m->from = m->to;
		m->before = after - before;
		tell_of(p, m, number, segment, value);
	}
	return 0;
}

/* Moves the meter, and records both blocks, as far as they have records. Uses the move up. */
__attribute__((noinline)) int block_moves(struct block_move *m)
{
	struct process *p = m ? process_at(m->slot) : NULL;

	if (!p)
		return 0;
	__s64 before = m->was == TELL_NOT ? 0 : m->before, after = m->is == TELL_NOT ? 0 : m->after;
	if (!(before | after))
		return moves_untold(p, m->meter, m->after - m->before);
	if (m->before == m->after && before == after && m->from == m->to)
		return 0;
	if (after && !before && m->after < m->before) { /* no block's record has the value from which the meter falls */
		moves_untold(p, m->meter, -m->before);
		m->before = 0;
	}
	return moves_told(p, m, before, after);
}

/*
 * Tries to move the meter by a difference with nothing else to do, and reports whether it has: the meter rises, or
 * falls from a value that is known to be no maximum to keep, see falls().
 */
static __always_inline bool moves_quickly(struct process *p, struct root *r, __u64 number, __s64 difference)
{
	__u64 meter = AT_MOST(number, METERS - 1);

	if (difference >= 0) { /* the next fall or boundary sees the highest value */
		fetch_add(&p->value[meter], difference);
	} else {
		__u64 segment = *(volatile __u64 *)&p->segment, sent = *(volatile __u64 *)&p->sent[meter];
		__s64 seen = *(volatile __s64 *)&p->value[meter];
		if (seen < 0 || seen >> SENT_BITS || *(volatile __s64 *)&p->high[meter] < seen ||
		    sent >> SENT_BITS != (segment & SENT_SEGMENT) || (sent & SENT_VALUE) < (__u64)seen ||
		    !in_segment(p, segment) ||
		    __sync_val_compare_and_swap(&p->value[meter], seen, seen + difference) != seen)
			return false;
	}
	if (*(volatile __u32 *)&r->shared)
		tree_follows(p, meter);
	return true;
}

/* Does the same as block_moves(), with less work for a single block without a record. */
static __always_inline void one_block_moves(struct process *p, struct root *r, struct block_move *m)
{
	bool untold = (!m->before || m->was == TELL_NOT) && (!m->after || m->is == TELL_NOT);

	if (!untold || !moves_quickly(p, r, m->meter, m->after - m->before))
		block_moves(m);
}

#endif
