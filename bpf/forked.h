/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Anonymous pages that several processes map since a fork: who copies them, and what a tree of processes holds.
 *
 * A write to such a page puts a copy into its place. The counters stay as they are: one page goes, another comes. The
 * page fault itself is seen (exceptions:page_fault_user, page_fault_kernel), before it is handled: a write to a page
 * that is there makes a copy if another process maps the page, too, and lets the process keep it if not.
 *
 * The memory of a tree is that of its processes, less what the children were born with, plus the copies (the old page
 * stays with another process), plus the pages that one process gives back while another one keeps them. For the latter
 * the pages of a range are looked at before munmap, brk, mmap or mremap unmaps it, and those of a process that ends.
 * Each of the four parts is moved at its own event. So a page counts once, whoever maps it in the end. Once a tree is a
 * single process again, its sum is that process's.
 *
 * Where page tables are not known (pagetables.h), a tree's sum is a lower bound.
 */
#ifndef IPYTRACER_FORKED_H
#define IPYTRACER_FORKED_H

#define FAULT_WRITES  3	   /* in a page fault's error code: a write to a page that is there */
#define FAULT_REFUSED 0x28 /* for another reason: reserved bits, protection keys */
#define MAP_FIXED     0x10

/* A range that a thread is about to unmap, by tid: its pages that other processes keep. */
struct kept {
	__s64 bytes;
	__s64 before; /* anonymous memory of the process */
	__u32 slot;
	__u32 alone; /* as in struct root */
};
struct MAP(BPF_MAP_TYPE_HASH, __u32, struct kept, 4096, 0) keeping SEC(".maps");

/* Processes of trees that have ended, and have not unmapped their memory yet, by mm. */
struct ending {
	__u32 root;
	__u32 alone; /* as in struct root */
};
struct MAP(BPF_MAP_TYPE_HASH, __u64, struct ending, MAX_PROCESSES, 0) endings SEC(".maps");
__u32 ending_now; /* entries there */

/* Moves a tree's anonymous memory by pages that come or go without a counter of a process. */
__attribute__((noinline)) int tree_keeps(__u32 root, __s64 bytes)
{
	struct root *r = bpf_map_lookup_elem(&roots, &root);

	if (!r || !bytes)
		return 0;
	raise_to(&r->tree_high[METER_ANON], fetch_add(&r->tree[METER_ANON], bytes) + bytes);
	raise_to(&r->tree_high[METER_RESIDENT], fetch_add(&r->tree[METER_RESIDENT], bytes) + bytes);
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

	if (!r || !*(volatile __u32 *)&r->shared)
		return 0;
	__u64 page = will_copy(mm, address), copy = page * 0x9e3779b97f4a7c15ull ^ address >> PAGE_SHIFT;
	if (!page || exchange(&p->last_copy, copy) == copy)
		return 0;
	fetch_add(&p->copied, page_size);
	fetch_add(&p->value[METER_COPIED], page_size);
	tree_follows(p, METER_COPIED);
	if (r->processes > 1)
		tree_keeps(p->root, page_size);
	return 0;
}

static __always_inline int page_fault(struct bpf_raw_tracepoint_args *ctx)
{
	if ((ctx->args[2] & FAULT_WRITES) != FAULT_WRITES || ctx->args[2] & FAULT_REFUSED || !trees_exact)
		return 0;
	if (ran_before(AT_PAGE_FAULT))
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

/* Finds the range that the system call of the thread that runs is going to unmap. */
static __always_inline bool unmaps(__u64 mm, __u64 *from, __u64 *to)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	__u64 first = PT_REGS_PARM1_SYSCALL(regs), second = PT_REGS_PARM2_SYSCALL(regs);

	switch ((__u32)SYSCALL_NUMBER(regs)) {
	case NR_MUNMAP:
		break;
	case NR_MMAP:
		if (!(PT_REGS_PARM4_SYSCALL(regs) & MAP_FIXED))
			return false;
		break;
	case NR_BRK:
		*from = whole_pages(first);
		*to = heap_end(mm);
		return first && *from < *to;
	case NR_MREMAP:
		*from = first + whole_pages(PT_REGS_PARM3_SYSCALL(regs));
		*to = first + whole_pages(second);
		return *from < *to;
	default:
		return false;
	}
	*from = first;
	*to = first + whole_pages(second);
	return *from < *to;
}

/* Looks at all pages of a process. */
__attribute__((noinline)) int look_at_all(__u32 slot)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (!r)
		return 0;
	__s64 pages = shared_pages(p->mm, 0, 1ull << (table_levels == 5 ? 56 : 47), r->ending);
	if (pages >= 0)
		p->stays = pages * page_size;
	return 0;
}

/* Looks at the pages that the thread that runs is going to unmap. */
__attribute__((noinline)) int range_unmaps(__u64 mm, __u32 slot)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;
	__u64 from = 0, to = 0;
	__u32 tid = bpf_get_current_pid_tgid();

	if (!r || r->processes < 2)
		return 0;
	if (FIELD(bpf_get_current_task(), task_struct, mm) != mm) {
		/* Its own thread has left the memory, and unmaps all of it: it executes a program, or ends before 6.16.
		 */
		if (bpf_get_current_pid_tgid() >> 32 == p->tgid && p->stays < 0)
			look_at_all(slot);
		return 0;
	}
	if (!unmaps(mm, &from, &to))
		return 0;
	struct kept k = { .before = p->value[METER_ANON], .slot = slot, .alone = r->alone };
	if (bpf_map_lookup_elem(&keeping, &tid))
		return 0; /* the lock is only downgraded */
	k.bytes = shared_pages(mm, from, to, r->ending) * page_size;
	if (k.bytes > 0)
		bpf_map_update_elem(&keeping, &tid, &k, BPF_NOEXIST);
	return 0;
}

/* mmap_lock_acquire_returned(mm, …) */
SEC("raw_tp/mmap_lock_acquire_returned")
int locked(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 mm = ctx->args[0];
	__u32 slot = trees_exact ? slot_of(mm) : NO_SLOT;

	return slot == NO_SLOT ? 0 : range_unmaps(mm, slot);
}

/*
 * The thread that runs has unmapped its range: the counters have fallen by all its pages. What others keep is added
 * only now. Before, the tree would have had a maximum that it never reached.
 */
__attribute__((noinline)) int range_unmapped(__u32 slot)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;
	__u32 tid = bpf_get_current_pid_tgid();
	struct kept *k = r ? bpf_map_lookup_elem(&keeping, &tid) : NULL;

	if (!k)
		return 0;
	struct kept was = *k;
	if (bpf_map_delete_elem(&keeping, &tid) || was.slot != slot || was.alone != r->alone)
		return 0;
	__s64 fallen = not_below_0(was.before - *(volatile __s64 *)&p->value[METER_ANON]);
	if (was.bytes > fallen) /* the call has failed, or other threads have taken memory meanwhile */
		was.bytes = fallen;
	fetch_add(&p->kept, was.bytes);
	tree_keeps(p->root, was.bytes);
	return 0;
}

/*
 * Looks at all pages of a process that ends, if its tree has several others; before Linux 6.16 range_unmaps() has done
 * so. Without a look, what it was born with and has neither copied nor given back stays with others.
 */
__attribute__((noinline)) int look_at_last(__u32 slot, __u64 task)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (!trees_exact || !r || r->processes < 3 || !p->mm || FIELD(task, task_struct, mm) != p->mm)
		return 0;
	look_at_all(slot);
	__u64 mm = p->mm;
	struct ending e = { .root = p->root, .alone = r->alone };
	if (p->value[METER_ANON] > 0 && !bpf_map_update_elem(&endings, &mm, &e, BPF_NOEXIST)) {
		fetch_add(&r->ending, 1);
		fetch_add(&ending_now, 1);
	}
	return 0;
}

/* A counter of anonymous pages, with all its shares. */
struct total {
	__u64 shares;
	__s64 pages;
};

static __always_inline long add_share(__u32 cpu, struct total *t)
{
	if (cpu >= MAX_CPUS)
		return 1;
	t->pages += int_at(t->shares + cpu_offset[cpu]);
	return 0;
}
REPEATED(add_share, struct total *)

/* The memory of a process that has ended becomes less. Once it is gone, no page is mapped there. */
__attribute__((noinline)) int memory_goes(__u64 mm)
{
	struct ending *there = bpf_map_lookup_elem(&endings, &mm);
	__u64 counter = mm + rss_offset + MM_ANONPAGES * bpf_core_type_size(struct percpu_counter);
	struct total t = {};

	if (!there)
		return 0;
	struct ending e = *there;
	t.shares = shares_of(counter);
	t.pages = count_at(counter);
	REPEAT(cpus, add_share, &t);
	if (t.pages > 0 || bpf_map_delete_elem(&endings, &mm))
		return 0;
	fetch_add(&ending_now, -1);
	struct root *r = bpf_map_lookup_elem(&roots, &e.root);
	if (r && r->alone == e.alone)
		fetch_add(&r->ending, -1);
	return 0;
}

/* A process that is alone shares nothing: whatever a tree's sum was off by is gone. */
static __always_inline long left_alone(__u32 slot, __u32 *root)
{
	struct process *p = process_at(slot);
	struct root *r = bpf_map_lookup_elem(&roots, root);

	if (!r || !p || !p->active || p->root != *root)
		return 0;
	for (__u32 m = METER_RESIDENT; m <= METER_SHMEM; m++) {
		p->inherited[m] = 0;
		tree_follows(p, m);
		__s64 sum = *(volatile __s64 *)&r->tree[m];
		__sync_val_compare_and_swap(&r->tree[m], sum, *(volatile __s64 *)&p->added[m]);
	}
	return 1;
}
REPEATED_SLOTS(left_alone, __u32 *)

/* Takes a process out of its tree, but for the pages that others keep. */
__attribute__((noinline)) int leave_tree(__u32 slot)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (!r)
		return 0;
	__u32 root = p->root;
	__s64 born = p->inherited[METER_ANON];
	__u32 before = fetch_add(&r->processes, -1);
	if (!trees_exact)
		return 0;
	if (born >= SHARES_ALL)
		born = 0;
	__s64 stays = p->stays;
	if (stays < 0)
		stays = not_below_0(born - p->copied - p->kept);
	tree_keeps(root, stays - born);
	if (before != 2)
		return 0;
	fetch_add(&r->alone, 1);
	exchange(&r->ending, 0);
	REPEAT_SLOTS(left_alone, &root);
	return 0;
}

#endif
