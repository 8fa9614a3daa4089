/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Moving a meter: its maximum is kept before it falls, and what must be streamed is sent. */
#ifndef IPYTRACER_MOVES_H
#define IPYTRACER_MOVES_H

/*
 * Reports whether a value as high has been sent in a segment. If not, notes that it will be. Segment and value are one
 * word: a note of a segment that is over never replaces one of the next segment, which happened when two CPUs wrote a
 * pair at once.
 */
static __always_inline bool sent_before(__u64 *sent, __u64 segment, __u64 value, __u64 unit)
{
	__u64 was = *(volatile __u64 *)sent, now = segment << SENT_BITS | value / unit;

	if (value % unit || value / unit >> SENT_BITS)
		return false; /* it cannot be compared with others: sent, and not noted */
	if (was >> SENT_BITS == now >> SENT_BITS && was >= now)
		return true;
	/* Where another CPU is faster, too much is sent, never too little. */
	__sync_val_compare_and_swap(sent, was, now);
	return false;
}

/* Returns the number of the change to send for a value from which a meter falls, 0 where it need not be sent. */
__attribute__((noinline)) __u64 unless_sent(struct process *p, __u64 segment, __u32 number, __s64 from, __u32 unit)
{
	__u64 meter = AT_MOST(number, METERS - 1);
	struct root *r = p ? root_of(p) : NULL;

	if (!r || (sent_before(&p->sent[meter], segment, from, unit) && in_segment(p, segment)))
		return 0;
	return next_change(r);
}

/*
 * Keeps the value from which a meter is about to fall: only now is that value a maximum that must be kept. While a
 * meter rises nothing needs to be done for its maximum: the next fall or boundary sees the highest value. It is kept
 * before the value changes: a boundary in between finds either the value or the maximum. Meters that move page by page
 * are streamed only here, and only if the value is the highest of the segment so far: nothing else can be a window's
 * peak. While a boundary is being drawn all values are streamed: one side has had higher ones, the other not. Returns
 * the number of the change to send, or 0.
 */
static __always_inline __u64 falls(struct process *p, __u64 segment, __u32 meter, __s64 from, __u32 unit)
{
	raise_to(&p->high[meter], from);
	return unless_sent(p, segment, meter, from, unit);
}

/* Sends the value from which a meter was to fall, whether or not it fell: the meter had that value. */
__attribute__((noinline)) int fell(struct process *p, __u64 number, __u64 segment, __u32 meter, __s64 from)
{
	struct root *r = p && number ? root_of(p) : NULL;

	if (r)
		send_change(p, r, number, segment, meter, from, 0, 0, 0);
	return 0;
}

/* Moves a meter by a difference and returns the new value. The caller streams every such change. */
static __always_inline __s64 move(struct process *p, struct root *r, __u32 meter, __s64 difference)
{
	__s64 value = fetch_add(&p->value[meter], difference) + difference;

	raise_to(&p->high[meter], value);
	if (*(volatile __u32 *)&r->shared)
		tree_follows(p, meter);
	return value;
}

/*
 * Updates a process's maxima and its resident total from its values. Like the other functions that are neither static
 * nor inline it takes numbers only: the verifier then looks at it once and not at every call.
 */
__attribute__((noinline)) int settle(__u32 slot)
{
	struct process *p = process_at(slot);

	if (!p)
		return 0;
	p->value[METER_RESIDENT] = resident_of(p);
	for (int m = 0; m < METERS; m++)
		raise_to(&p->high[m], p->value[m]);
	return 0;
}

#endif
