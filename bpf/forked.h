/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Anonymous pages that several processes map since a fork: who copies them.
 *
 * A write to such a page puts a copy into its place. The counters stay as they are: one page goes, another comes. The
 * page fault itself is seen before it is handled: a write to a page that is there makes a copy if another process maps
 * the page, too, and lets the process keep it if not.
 *
 * A tree has each copy of a process that has not forked itself: it shares with its parent only, and has the less from
 * it. So the process adds at most its own pages. What others copy may be gone with their children, and is not added.
 */
#ifndef IPYTRACER_FORKED_H
#define IPYTRACER_FORKED_H

/* A process has one page less from its parent. Where another CPU is faster each time, the tree has a page too few. */
static __always_inline void shares_less(struct process *p, __u32 meter)
{
	for (int i = 0; i < FOLLOWS; i++) {
		__s64 was = *(volatile __s64 *)&p->inherited[meter];
		if (was < page_size || __sync_val_compare_and_swap(&p->inherited[meter], was, was - page_size) == was)
			break;
	}
	tree_follows(p, meter);
}

/*
 * The thread that runs has had a page fault: a write to a page that is there. Two threads may write to a page at once:
 * the page that was the last one to be copied is not copied again.
 */
__attribute__((noinline)) int page_written(__u64 address)
{
	__u64 mm = FIELD(bpf_get_current_task(), task_struct, mm);
	__u32 slot = mm ? slot_of(mm) : NO_SLOT;
	struct process *p = slot == NO_SLOT ? NULL : process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (!r)
		return 0;
	__u64 page = will_copy(mm, address), copy = page * 0x9e3779b97f4a7c15ull ^ address / page_size;
	if (!page || exchange(&p->last_copy, copy) == copy)
		return 0;
	move(p, r, METER_COPIED, page_size);
	if (*(volatile __u32 *)&p->has_forked)
		return 0;
	shares_less(p, METER_ANON);
	shares_less(p, METER_RESIDENT);
	return 0;
}

static __always_inline int page_fault(struct bpf_raw_tracepoint_args *ctx)
{
	if ((ctx->args[2] & FAULT_WRITES) != FAULT_WRITES || ctx->args[2] & FAULT_REFUSED || ran_before(AT_PAGE_FAULT))
		return 0;
	return page_written(ctx->args[0]);
}

/* page_fault_user(address, registers, error code) */
SEC("raw_tp/page_fault_user")
int user_faults(struct bpf_raw_tracepoint_args *ctx)
{
	return page_fault(ctx);
}

/* The same for the kernel: read() writes into the process's memory. */
SEC("raw_tp/page_fault_kernel")
int kernel_faults(struct bpf_raw_tracepoint_args *ctx)
{
	return page_fault(ctx);
}

#endif
