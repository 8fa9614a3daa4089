/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cpu.mapped, read from the mm itself.
 *
 * mm->data_vm changes only while one thread has mmap_lock for writing, and mmap_lock:mmap_lock_released fires before
 * the lock is released. munmap, brk and mremap have turned it into a reader's lock by then: other threads read beside
 * them, but change nothing. So a value that is read there is the releasing thread's own, or is left for the thread that
 * changed it.
 */
#ifndef IPYTRACER_MAPPED_H
#define IPYTRACER_MAPPED_H

static __always_inline long lock_of(__u64 mm)
{
	return word_at(mm + bpf_core_field_offset(struct mm_struct, mmap_lock) +
		       bpf_core_field_offset(struct rw_semaphore, count));
}

/*
 * Reports whether another thread made the change of cpu.mapped that is seen now, as this thread releases the lock of an
 * address space. That thread holds the lock as a reader, as this one does, but has written: it will release the lock,
 * too.
 */
static __always_inline bool change_of_another(__u64 mm)
{
	if (!bpf_core_field_exists(((struct rw_semaphore *)0)->count) || lock_of(mm) & RWSEM_WRITER_LOCKED)
		return false;
	if (FIELD(bpf_get_current_task(), task_struct, mm) != mm)
		return true;
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	__u64 call = SYSCALL_NUMBER(regs);
	return call != NR_MUNMAP && call != NR_BRK && call != NR_MREMAP;
}

/*
 * Moves cpu.mapped to the mm's value. Called with mmap_lock held, or by the process itself at a boundary. Returns the
 * difference.
 */
static __always_inline __s64 mapped_changed(struct process *p, struct root *r, __u64 mm, bool at_release)
{
	__u64 segment = *(volatile __u64 *)&p->segment;
	__s64 now = mapped_bytes(mm);
	__s64 seen = *(volatile __s64 *)&p->value[METER_MAPPED];

	if (now == seen || (at_release && change_of_another(mm)))
		return 0;
	__u64 number = now < seen ? falls(p, segment, METER_MAPPED, seen, SENT_UNIT) : 0;
	if (__sync_val_compare_and_swap(&p->value[METER_MAPPED], seen, now) == seen)
		tree_follows(p, METER_MAPPED);
	fell(p, number, segment, METER_MAPPED, seen);
	return now - seen;
}

/* Does the same for a slot. */
__attribute__((noinline)) int mapped_refreshed(__u32 slot)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (!r || !p->mm)
		return 0;
	/* A change under way will be seen by its own thread, and belongs behind the boundary. */
	if (p->value[METER_MAPPED] && bpf_core_field_exists(((struct rw_semaphore *)0)->count) && lock_of(p->mm))
		return 0;
	mapped_changed(p, r, p->mm, false);
	return 0;
}

/* Updates all of a process's page meters, at a boundary. Its mm must be alive. */
static __always_inline void refresh(__u32 slot)
{
	if (percpu_rss) {
		whole_counter(slot, MM_FILEPAGES);
		whole_counter(slot, MM_ANONPAGES);
		whole_counter(slot, MM_SHMEMPAGES);
	} else {
		held_changed(slot, NR_MM_COUNTERS);
	}
	mapped_refreshed(slot);
}

/*
 * Reads how many pages of a process are in swap, behind refresh(). Since kernel 6.2 it does so only where they may have
 * moved: at the process's beginning, or if some have gone since.
 */
__attribute__((noinline)) int read_swapped(__u32 slot, __u32 begins)
{
	struct process *p = process_at(slot);

	if (!p || !p->mm)
		return 0;
	if (!percpu_rss)
		p->swapped = p->counter[MM_SWAPENTS];
	else if (begins || *(volatile __u64 *)&p->swaps)
		fetch_add(&p->swapped, counter_moved(slot, MM_SWAPENTS));
	if (p->swapped)
		p->swaps = 1;
	return 0;
}

#endif
