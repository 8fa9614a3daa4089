/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The large blocks of a process that counts malloc's blocks itself (counts.h): the library calls a function for
 * each, behind the page's count, so that their lines are known. A hit moves no meter, it only sends records.
 *
 * A value from which the page fell since the last boundary is sent in front of the block's own record: the block was
 * live then, if it goes now. All that the process says is bounded as the page is.
 */
#ifndef IPYTRACER_HEAPTOLD_H
#define IPYTRACER_HEAPTOLD_H

/* Reports whether blocks are recorded. Then both the allocation and the free of a block are. */
static __always_inline bool tells_blocks(__u32 slot)
{
	return !is_shed(GROUP_BLOCKS, slot) && walks_stacks(slot);
}

/*
 * Returns the value of the meter for a record. While a boundary is drawn, that is the value of the boundary before:
 * none that belongs to another segment.
 */
__attribute__((noinline)) __s64 heap_page_value(__u32 slot)
{
	struct process *p = process_at(slot);
	struct counts *c = p ? page_of(p, COUNTS_HEAP) : NULL;

	if (!c)
		return 0;
	__u64 segment = *(volatile __u64 *)&p->segment;
	__u64 most = *(volatile __u64 *)&c->peak, now = *(volatile __u64 *)&c->current;
	if (!is_plausible(p, most) || !is_plausible(p, now) || !in_segment(p, segment))
		return *(volatile __s64 *)&p->told[METER_HEAP];
	if (most > now)
		fell(p, unless_sent(p, segment, METER_HEAP, most, SENT_BYTE), segment, METER_HEAP, most);
	return now;
}

/* Sends the records of a block that has gone, and of one that was made. */
__attribute__((noinline)) int heap_records(struct process *p, struct block_move *m, __s64 value)
{
	struct root *r = p && m ? root_of(p) : NULL;

	if (!r)
		return 0;
	__u64 segment = *(volatile __u64 *)&p->segment, stack = m->stack;
	__s64 before = m->before, after = m->after;
	__u64 number = fetch_add(&r->stream, !!before + !!after) + 1;
	m->flags = CHANGE_BLOCK | METER_HEAP | CHANGE_UNCHAINED;
	if (before) {
		m->before = -before;
		m->stack = 0;
		tell_of(p, m, number++, segment, value);
	}
	if (after) {
		m->from = m->to;
		m->before = after;
		m->stack = stack;
		tell_of(p, m, number, segment, value);
	}
	return 0;
}

/*
 * A call of the library's function: (old block, its size, new block, its size). Called by heap_leave, which walks
 * stacks, too: so the verifier has the walk once less.
 */
static __noinline int heap_told(struct pt_regs *regs, __u32 slot)
{
	struct block_move m = {
		.from = PT_REGS_PARM1(regs),
		.before = PT_REGS_PARM2(regs),
		.to = PT_REGS_PARM3(regs),
		.after = PT_REGS_PARM4(regs),
		.slot = slot,
		.meter = METER_HEAP,
	};
	struct process *p = process_at(slot);

	if (!spend(regs, GROUP_HEAP, slot, 0) || !p || !p->pages[COUNTS_HEAP] || !is_plausible(p, m.before) ||
	    !is_plausible(p, m.after) || !tells_blocks(slot))
		return 0;
	__s64 value = heap_page_value(slot);
	if (m.after && spend(NULL, GROUP_BLOCKS, slot, 0)) {
		__u64 from = start_watch();
		m.stack = walk_stack(slot);
		pay_for(GROUP_BLOCKS, slot, from);
	}
	heap_records(p, &m, value);
	return 0;
}

#endif
