/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cpu.resident, page by page: the code that touched memory first, and the addresses that ceased to be resident.
 *
 * A hit for each page runs anyway (rss_stat). Now and then one of these pages is recorded, with its address and the
 * stack, as a sample of all pages of its kind since the sample before. The distance is drawn, so no pattern of a
 * program can avoid it. Samples earn time, a TOUCH_SHARE of the budget's, as time passes: the distance doubles where
 * that is used up, and begins anew after a pause. So the samples add up to all that became resident.
 *
 * Linux names no address here. For a page that the program touched itself it is the operand of the instruction that
 * runs (operand_at). For one that the kernel touched for it, it is in the memory that the system call was
 * given, at a drawn place. Pages without an address have no sample: mlock, drivers.
 *
 * Where pages go, the system call says which addresses (munmap, madvise, brk, mmap to a given address). One record is
 * sent for a range, and none where nothing was touched since the last one. mremap moves pages and is in mappings.h.
 * Pages that the kernel takes back by itself (swap, truncated files) are not seen to go.
 */
#ifndef IPYTRACER_TOUCHED_H
#define IPYTRACER_TOUCHED_H

#define LEAST_TOUCH    (128ll << 10) /* bytes between two samples */
#define MOST_TOUCH     (1ll << 30)
#define TOUCH_SHARE    8	    /* samples take a part of so many of the budget's share of the time */
#define TOUCH_USUAL    30000	    /* millionths of the time, where there is no budget */
#define TOUCH_BURST    2000000	    /* ns that samples may take at once, after a time without any */
#define LONGEST_TOUCH  20000	    /* ns; any more of a sample is time in which the thread did not run */
#define LONGEST_EARNED (1ull << 40) /* ns */
#define NEAR_STACK     (1ull << 20) /* bytes on both sides of the stack pointer: no file is there */
#define BREAK_AWAY     (1ull << 36) /* bytes behind the end of the heap: nothing else is there */

/* Returns an address of the page that the thread that runs has just touched, 0 if it is not known. */
static __always_inline __u64 touched_address(__u32 member)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	__u32 call = SYSCALL_NUMBER(regs);
	__u64 start = 0, size = 0;

	switch (call) {
	case NO_SYSCALL:
		start = operand_at(regs);
		if (member == MM_FILEPAGES && (!start || start - PT_REGS_SP(regs) + NEAR_STACK < 2 * NEAR_STACK))
			return PT_REGS_IP(regs); /* the page has the instruction itself, and can be read by now */
		return start;
	case NR_READ:
	case NR_PREAD64:
	case NR_RECVFROM:
		start = PT_REGS_PARM2_SYSCALL(regs);
		size = PT_REGS_PARM3_SYSCALL(regs);
		break;
	case NR_MADVISE:
	case NR_GETRANDOM:
		start = PT_REGS_PARM1_SYSCALL(regs);
		size = PT_REGS_PARM2_SYSCALL(regs);
		break;
	}
	if (!size)
		return 0;
	__u64 drawn = (__u64)bpf_get_prandom_u32() * (whole_pages(size) >> 12) >> 32;
	return start + (drawn << 12);
}

/*
 * Returns the address of the page to record. One page fault may map many pages of a file, one after the other, and of
 * these each sample gets a page of its own.
 */
__attribute__((noinline)) __u64 sampled_page(__u32 slot, __u32 member)
{
	struct process *p = process_at(slot);
	__u64 address = touched_address(member) & ~(__u64)(page_size - 1);

	if (!p || !address)
		return 0;
	__u64 again = p->touched_page == address ? p->touched_again + page_size : 0;
	p->touched_page = address;
	p->touched_again = again;
	return address + again;
}

/*
 * Sets when the next page of a kind is sampled, and returns how many bytes the present sample stands for; 0: none is
 * due. The first page of a process only begins the count.
 */
__attribute__((noinline)) __s64 next_touch(__u32 slot, __u32 member)
{
	struct process *p = process_at(slot);
	__u64 part = AT_MOST(part_of(meter_of(member)), RESIDENT_PARTS - 1);

	if (!p)
		return 0;
	__s64 at = *(volatile __s64 *)&p->touch_at[part], value = *(volatile __s64 *)&p->value[METER_ANON + part];
	__s64 interval = p->touch_interval, before = p->touch_gap[part];
	if (value < at)
		return 0;
	if (interval < LEAST_TOUCH)
		interval = LEAST_TOUCH;
	__s64 gap = interval / 2 + ((__u64)bpf_get_prandom_u32() * (__u64)interval >> 32);
	if (__sync_val_compare_and_swap(&p->touch_at[part], at, value + gap) != at)
		return 0;
	p->touch_gap[part] = gap;
	return before ? before + value - at : 0;
}

/*
 * Pays for a sample, and sets the distance between samples. As time passes samples earn a credit, up to a burst. Where
 * it is used up, the distance grows until samples cost no more than they earn. After a pause in which all of a burst
 * was earned, the distance is the least again: a storm before, an import, says nothing of the cell that follows.
 */
__attribute__((noinline)) int pay_for_touch(__u32 slot, __u64 from)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (!r)
		return 0;
	__u64 now = bpf_ktime_get_ns(), cost = now - from, passed = now - p->touch_paid,
	      share = (budget_share ? budget_share : TOUCH_USUAL) / TOUCH_SHARE;
	__s64 interval = p->touch_interval < LEAST_TOUCH ? LEAST_TOUCH : p->touch_interval;
	pay(r, GROUP_SMALL_STACKS, cost > LONGEST_WALK ? LONGEST_WALK : cost);
	__s64 earned = (passed < LONGEST_EARNED ? passed : LONGEST_EARNED) * share / MILLION;
	__s64 credit = p->touch_credit + earned, spent = cost > LONGEST_TOUCH ? LONGEST_TOUCH : cost;
	credit = (credit > TOUCH_BURST ? TOUCH_BURST : credit) - spent;
	if (credit < 0 && spent > earned && interval < MOST_TOUCH)
		interval *= 2;
	else if (credit == TOUCH_BURST - spent)
		interval = LEAST_TOUCH;
	else if (credit > TOUCH_BURST / 2 && interval > LEAST_TOUCH)
		interval /= 2;
	p->touch_credit = credit;
	p->touch_paid = now;
	p->touch_interval = interval;
	return 0;
}

/* Records the page that the thread that runs has just touched, as a sample. */
__attribute__((noinline)) int touch_sample(__u32 slot, __u32 member)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;
	__u64 from = bpf_ktime_get_ns();

	if (!r || FIELD(bpf_get_current_task(), task_struct, mm) != p->mm)
		return 0;
	__s64 bytes = next_touch(slot, member);
	if (bytes <= 0 || !walks_stacks(slot))
		return 0;
	__u64 address = sampled_page(slot, member), segment = *(volatile __u64 *)&p->segment;
	if (!address)
		return 0;
	__u64 stack = walk_stack(slot);
	p->gone_size = 0;
	send_change(p, r, next_change(r), segment, METER_RESIDENT | CHANGE_BLOCK | CHANGE_SAMPLE, resident_of(p), bytes,
		    address, stack);
	pay_for_touch(slot, from);
	return 0;
}

/*
 * Records the range of pages that a system call of the thread that runs gives back, unless nothing was touched since.
 * Where a page of a file goes in a page fault, its copy comes: nothing more is resident.
 */
__attribute__((noinline)) int pages_gone(__u32 slot, __u32 member, __s64 bytes)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (!r || !p->touch_paid || FIELD(bpf_get_current_task(), task_struct, mm) != p->mm)
		return 0;
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	__u64 start = PT_REGS_PARM1_SYSCALL(regs), size = whole_pages(PT_REGS_PARM2_SYSCALL(regs));
	switch ((__u32)SYSCALL_NUMBER(regs)) {
	case NR_BRK:
		start = whole_pages(start);
		size = BREAK_AWAY;
		break;
	case NR_MUNMAP:
	case NR_MADVISE:
		break;
	case NR_MMAP:
		if (PT_REGS_PARM4_SYSCALL(regs) & MAP_FIXED)
			break;
		return 0;
	case NO_SYSCALL:
		if (member == MM_FILEPAGES)
			fetch_add(&p->touch_at[part_of(METER_ANON)], bytes);
		return 0;
	default:
		return 0;
	}
	if ((p->gone_size == size && p->gone_from == start) || size >> USER_BITS)
		return 0;
	p->gone_size = size;
	p->gone_from = start;
	send_change(p, r, next_change(r), *(volatile __u64 *)&p->segment, METER_RESIDENT | CHANGE_BLOCK, resident_of(p),
		    -(__s64)size, start, 0);
	return 0;
}

/* Takes in that so many more bytes of a process are resident: pages of files, or others. */
static __always_inline void touched(struct process *p, __u32 slot, __u32 member, __s64 bytes)
{
	__u32 meter = meter_of(member);

	if (bytes > 0) {
		if (*(volatile __s64 *)&p->value[meter] >= *(volatile __s64 *)&p->touch_at[part_of(meter)])
			touch_sample(slot, member);
	} else if (bytes < 0) {
		pages_gone(slot, member, -bytes);
	}
}

#endif
