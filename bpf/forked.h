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

#define LEAST_COPY (128ll << 10) /* bytes between two samples, on average */

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
 * Now and then a copied page is recorded, as a sample of all since the sample before: its address says who made what is
 * copied. The distance is drawn, so no pattern of a program can avoid it.
 */
__attribute__((noinline)) int copy_sample(__u32 slot, __u64 address, __s64 copied)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;
	__s64 at = p ? *(volatile __s64 *)&p->copy_at : 0;

	if (!r || copied < at)
		return 0;
	__s64 next = copied + LEAST_COPY / 2 + ((__u64)bpf_get_prandom_u32() * LEAST_COPY >> 32);
	if (__sync_val_compare_and_swap(&p->copy_at, at, next) != at)
		return 0;
	__s64 bytes = copied - exchange(&p->copy_from, copied);
	if (bytes > 0)
		send_change(p, r, next_change(r), *(volatile __u64 *)&p->segment,
			    METER_COPIED | CHANGE_BLOCK | CHANGE_SAMPLE, copied, bytes,
			    address & ~(__u64)(page_size - 1), 0);
	return 0;
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
	copy_sample(slot, address, move(p, r, METER_COPIED, page_size));
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
