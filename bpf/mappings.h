/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cpu.mapped, range by range: the addresses that became private writable memory or ceased to be, and the code that
 * requested it.
 *
 * The total is not kept here (see meters.h); this explains it. When the mmap lock is released and mm->data_vm has
 * changed, the thread that holds the lock is in the system call that changed it: its registers at the entry to the
 * kernel give the call and its arguments. munmap, mprotect, brk, and mmap and mremap to a given address are fully known
 * from these, for every caller, under the lock: ranges are recorded in the order in which the address space changed.
 *
 * Where mmap and mremap choose the address it is their result. That is seen behind the system call in the C library's
 * function (package memory), with the arguments still in their registers. malloc gets there as well. No other call can
 * have the address by then, so the order is the same. (A tracepoint on the way out of system calls would slow every
 * call of every process down.)
 *
 * A change with CHANGE_BLOCK means: all of [address, address + size) counts from now on, or, with a negative size,
 * nothing of it does. Some bytes may have counted before. Not recorded: memory without a call of its own (the program
 * itself, which exec maps); calls of mmap that do not pass the C library; an mprotect of which only a part was new; an
 * mremap to another place with the same size.
 *
 * A refused request (ENOMEM) is recorded at the same two places. Where brk and mprotect are refused, malloc requests
 * the memory from mmap.
 */
#ifndef IPYTRACER_MAPPINGS_H
#define IPYTRACER_MAPPINGS_H

/* linux/mman.h and the files that it includes */
#define PROT_WRITE	    2
#define MAP_TYPE	    0xf
#define MAP_PRIVATE	    2
#define MAP_FIXED	    0x10
#define MAP_ANONYMOUS	    0x20
#define MAP_GROWSDOWN	    0x100
#define MAP_HUGETLB	    0x40000
#define MAP_FIXED_NOREPLACE 0x100000
#define MAP_HUGE_SHIFT	    26
#define MAP_HUGE_MASK	    0x3f
#define MREMAP_MAYMOVE	    1
#define MREMAP_FIXED	    2
#define MREMAP_DONTUNMAP    4

#define MAX_ERROR 4095 /* results above -MAX_ERROR are failures */
#define NO_MEMORY 12   /* ENOMEM */

/*
 * Bytes that CPython maps for frames, and gives back, again and again where calls go deep: DATA_STACK_CHUNK_SIZE in
 * Python/pystate.c, from 3.11 on. Their stacks are of no interest.
 */
#define FRAMES_SIZE 16384

/* Reports whether the interpreter itself calls mmap: then one of the uppermost words of the stack is in its code. */
static __always_inline bool called_by_interpreter(struct pt_regs *regs, __u32 slot)
{
	struct python *py = python_at(slot);
	__u64 words[4] = {};
	bool found = false;

	if (!py || READ_CALLERS(words, regs))
		return false;
	for (int i = 0; i < 4; i++)
		found |= CODE_ADDRESS(words[i]) - py->text < py->text_size;
	return found;
}

/* How a range is recorded: bit 0: with the stack that requested it. The rest are flags of the change. */
enum range_record { RANGE_PLAIN, RANGE_WALKS, RANGE_REMAPPED = CHANGE_CALLER * CALLER_REMAPPED };

/* Records a range that was mapped or unmapped. */
__attribute__((noinline)) int range_moves(__u32 slot, __u64 address, __s64 size, __u32 how)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (!r || !size)
		return 0;
	/*
	 * Threads that call malloc grow their heaps page by page: that is paid from the budget of small blocks' stacks.
	 */
	__u32 group = size < SMALL_STACK ? GROUP_SMALL_STACKS : GROUP_MAPPING;
	__u64 stack = 0, segment = *(volatile __u64 *)&p->segment;
	if (size > 0 && how & RANGE_WALKS && !is_down(r, group)) {
		__u64 from = start_watch();
		stack = walk_stack(slot);
		pay_for(group, slot, from);
	}
	send_change(p, r, next_change(r), segment, METER_MAPPED | CHANGE_BLOCK | (how & RANGE_REMAPPED),
		    p->value[METER_MAPPED], size, address, stack);
	return 0;
}

/* Reports whether a mapping of mmap counts. */
static __always_inline bool counts(__u64 protection, __u64 flags)
{
	return protection & PROT_WRITE && (flags & MAP_TYPE) == MAP_PRIVATE && !(flags & MAP_GROWSDOWN);
}

static __always_inline void break_moves(__u32 slot, struct process *p, bool walks)
{
	__u64 end = heap_end(p->mm), before = exchange(&p->heap_end, end);

	if (walks)
		range_moves(slot, end > before ? before : end, end - before, RANGE_WALKS);
}

/* Records the ranges of an mremap that has changed the address space; the new one only if its address is known. */
static __always_inline void range_resized(__u32 slot, struct pt_regs *regs)
{
	__u64 address = PT_REGS_PARM1_SYSCALL(regs), flags = PT_REGS_PARM4_SYSCALL(regs);

	if (!(flags & MREMAP_DONTUNMAP))
		range_moves(slot, address, -whole_pages(PT_REGS_PARM2_SYSCALL(regs)), RANGE_REMAPPED);
	if (flags & MREMAP_FIXED) {
		range_moves(slot, PT_REGS_PARM5_SYSCALL(regs), whole_pages(PT_REGS_PARM3_SYSCALL(regs)),
			    RANGE_WALKS | RANGE_REMAPPED);
	} else if (!(flags & MREMAP_MAYMOVE)) {
		range_moves(slot, address, whole_pages(PT_REGS_PARM3_SYSCALL(regs)), RANGE_WALKS | RANGE_REMAPPED);
	} else {
		__u32 tid = (__u32)bpf_get_current_pid_tgid();
		__u64 mark = SYSCALL_MARK(regs);
		if (bpf_map_update_elem(&resized, &tid, &mark, BPF_ANY))
			lose(LOSS_MAPPING);
	}
}

/* Records the range that the thread that runs has changed, while it still holds the lock. */
static __noinline int range_changed(__u32 slot, __s64 change)
{
	struct process *p = process_at(slot);
	bool walks = walks_stacks(slot);

	if (!p || FIELD(bpf_get_current_task(), task_struct, mm) != p->mm)
		return 0;
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	__s64 size = whole_pages(PT_REGS_PARM2_SYSCALL(regs));
	__u64 call = SYSCALL_NUMBER(regs);
	if (call == NR_BRK) {
		break_moves(slot, p, walks);
		return 0;
	}
	if (!walks)
		return 0;
	switch (call) {
	case NR_MUNMAP:
		if (change < 0)
			range_moves(slot, PT_REGS_PARM1_SYSCALL(regs), -size, RANGE_PLAIN);
		break;
	case NR_MPROTECT:
	case NR_PKEY_MPROTECT:
		if (change < 0 || change == size)
			range_moves(slot, PT_REGS_PARM1_SYSCALL(regs), change < 0 ? -size : size, RANGE_WALKS);
		break;
	case NR_MMAP:
		if (PT_REGS_PARM4_SYSCALL(regs) & (MAP_FIXED | MAP_FIXED_NOREPLACE))
			range_moves(slot, PT_REGS_PARM1_SYSCALL(regs),
				    counts(PT_REGS_PARM3_SYSCALL(regs), PT_REGS_PARM4_SYSCALL(regs)) ? size : -size,
				    RANGE_WALKS);
		break;
	case NR_MREMAP:
		range_resized(slot, regs);
		break;
	}
	return 0;
}

static __always_inline bool call_failed(__u64 result)
{
	return result >= (__u64)-MAX_ERROR;
}

/*
 * Records that a system call was refused memory that would have counted: there is none, or a limit forbids it
 * (RLIMIT_DATA). malloc tries again, in other ways, before it fails, and may even find the memory.
 */
__attribute__((noinline)) int mapping_refused(__u32 slot, __s64 size)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;
	__u64 stack = 0;

	if (!r || !walks_stacks(slot))
		return 0;
	if (!is_down(r, GROUP_MAPPING)) {
		__u64 from = start_watch();
		stack = walk_stack(slot);
		pay_for(GROUP_MAPPING, slot, from);
	}
	refused(slot, METER_MAPPED, p->value[METER_MAPPED], size, 0, stack);
	return 0;
}

/* Behind the system call in mmap(address, size, protection, flags, …). */
SEC("uprobe")
int mmap_returned(struct pt_regs *regs)
{
	__u32 slot = current_slot();
	__u64 flags = PT_REGS_PARM4_SYSCALL(regs), size = whole_pages(PT_REGS_PARM2_SYSCALL(regs));

	if (slot != NO_SLOT && SYSCALL_RESULT(regs) == (__u64)-NO_MEMORY &&
	    counts(PT_REGS_PARM3_SYSCALL(regs), flags) && !(flags & MAP_HUGETLB))
		return mapping_refused(slot, size);
	if (slot == NO_SLOT || call_failed(SYSCALL_RESULT(regs)) || !counts(PT_REGS_PARM3_SYSCALL(regs), flags) ||
	    flags & (MAP_FIXED | MAP_FIXED_NOREPLACE) || !walks_stacks(slot))
		return 0;
	if (flags & MAP_HUGETLB) {
		__u64 shift = flags >> MAP_HUGE_SHIFT & MAP_HUGE_MASK, page = 1ull << (shift ? shift : HUGE_PAGE_SHIFT);
		size = (size + page - 1) & ~(page - 1);
	}
	range_moves(slot, SYSCALL_RESULT(regs), size,
		    size != FRAMES_SIZE || !called_by_interpreter(regs, slot) ? RANGE_WALKS : RANGE_PLAIN);
	return 0;
}

/* Behind the system call in mremap(address, size, new size, flags, …). */
SEC("uprobe")
int mremap_returned(struct pt_regs *regs)
{
	__u32 slot = current_slot(), tid = (__u32)bpf_get_current_pid_tgid();
	__u64 *before = slot == NO_SLOT ? NULL : bpf_map_lookup_elem(&resized, &tid);

	if (!before && slot != NO_SLOT && SYSCALL_RESULT(regs) == (__u64)-NO_MEMORY)
		return mapping_refused(slot, whole_pages(PT_REGS_PARM3_SYSCALL(regs)) -
						     whole_pages(PT_REGS_PARM2_SYSCALL(regs)));
	if (!before)
		return 0;
	bool same = *before == SYSCALL_MARK(regs);
	bpf_map_delete_elem(&resized, &tid);
	if (same && !call_failed(SYSCALL_RESULT(regs)))
		range_moves(slot, SYSCALL_RESULT(regs), whole_pages(PT_REGS_PARM3_SYSCALL(regs)),
			    RANGE_WALKS | RANGE_REMAPPED);
	return 0;
}

#endif
