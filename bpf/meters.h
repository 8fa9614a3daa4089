/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cpu.resident and cpu.mapped, read from the mm itself.
 *
 * Resident: since kernel 6.2 mm->rss_stat[] are per-CPU counters; the exact value is count plus every CPU's
 * share. kmem:rss_stat fires after each update with (mm, member). count is read before the shares, so a share
 * that another CPU folds into count in between is missed, not counted twice, and that CPU's own event follows.
 * Before 6.2 the counter is one atomic, and each thread holds back up to 66 faults: see held_changed().
 *
 * Mapped: mm->data_vm changes only under mmap_lock held for writing, and mmap_lock:mmap_lock_released fires
 * before the lock is let go, so what is read there is a value that no other thread is changing.
 */
#ifndef IPYTRACER_METERS_H
#define IPYTRACER_METERS_H

/* Pages of one kind, where percpu_rss. */
static __always_inline __s64 pages(__u64 mm, __u32 member)
{
	__u64 counter = mm + rss_offset + (member & 3) * bpf_core_type_size(struct percpu_counter);
	__s64 sum = word_at(counter + bpf_core_field_offset(struct percpu_counter, count));
	__u64 shares = word_at(counter + bpf_core_field_offset(struct percpu_counter, counters));
	for (__u32 cpu = 0; cpu < cpus && cpu < MAX_CPUS; cpu++)
		sum += int_at(shares + cpu_offset[cpu & (MAX_CPUS - 1)]);
	return sum < 0 ? 0 : sum;
}

static __always_inline __s64 mapped_bytes(__u64 mm)
{
	return word_at(mm + bpf_core_field_offset(struct mm_struct, data_vm)) * PAGE;
}

static __always_inline __u64 whole_pages(__u64 size)
{
	return (size + PAGE - 1) & ~(__u64)(PAGE - 1);
}

/* Where what brk() has made ends. */
static __always_inline __u64 heap_end(__u64 mm)
{
	return whole_pages(FIELD(mm, mm_struct, brk));
}

static __always_inline __u32 meter_of(__u32 member)
{
	return member == MM_ANONPAGES ? METER_ANON : member == MM_FILEPAGES ? METER_FILE : METER_SHMEM;
}

/*
 * One try to move a meter of pages to a value. False if another CPU was faster. Neither static nor inline, and without
 * a loop, so that every verifier gets through it quickly and its stack is small.
 */
__attribute__((noinline)) int part_moves(__u32 slot, __u32 number, __s64 now)
{
	__u64 meter = AT_MOST(number, METERS - 1);
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (!r)
		return true;
	__u64 segment = *(volatile __u64 *)&p->segment;
	__s64 seen = *(volatile __s64 *)&p->value[meter], total = resident_of(p);
	if (now == seen)
		return true;
	if (now < seen) {
		fell(p, r, falls(p, r, segment, meter, seen), segment, meter, seen);
		fell(p, r, falls(p, r, segment, METER_RESIDENT, total), segment, METER_RESIDENT, total);
	}
	if (__sync_val_compare_and_swap(&p->value[meter], seen, now) != seen)
		return false;
	tree_moves(p, r, meter, seen, now);
	tree_moves(p, r, METER_RESIDENT, total, total - seen + now);
	return true;
}

static __always_inline void part_is(__u32 slot, __u32 meter, __s64 pages)
{
	__s64 now = pages < 0 ? 0 : pages * PAGE;

#pragma clang loop unroll(full)
	for (int i = 0; i < 4; i++) {
		if (part_moves(slot, meter, now))
			return;
	}
}

/* What the threads of a process hold back of its counters (task->rss_stat, until kernel 6.1). */
struct held {
	__u64 node;
	__u64 head;
	__s32 pages[NR_MM_COUNTERS];
};

#define MAX_THREADS 4096

static __always_inline long add_held(__u32 i, struct held *h)
{
	__s32 counts[NR_MM_COUNTERS] = {};

	if (!h->node || h->node == h->head)
		return 1;
	__u64 task = h->node - bpf_core_field_offset(struct task_struct, thread_node);
	bpf_probe_read_kernel(counts, sizeof(counts), (void *)(task + held_offset));
	for (int m = 0; m < NR_MM_COUNTERS; m++)
		h->pages[m] += counts[m];
	h->node = word_at(h->node);
	return 0;
}
REPEATED(add_held, struct held *)

/*
 * The kernel changed one counter of a traced mm. The old value is read before the counter and replaced only if
 * it is still there, so of two CPUs that do this at once none puts an older sum over a newer one. Rising is what
 * happens a thousand times for each fall, and does less.
 */
static __always_inline void part_changed(struct process *p, struct root *r, __u32 slot, __u32 member)
{
	__u32 meter = meter_of(member);

#pragma clang loop unroll(full)
	for (int i = 0; i < 4; i++) {
		__s64 seen = *(volatile __s64 *)&p->value[meter], now = pages(p->mm, member) * PAGE;
		if (now == seen)
			return;
		if (now < seen || r->shared) {
			if (part_moves(slot, meter, now))
				return;
		} else if (__sync_val_compare_and_swap(&p->value[meter], seen, now) == seen) {
			return;
		}
	}
}

/* Called with mmap_lock held, or by the process itself at a boundary. Returns by how much it has changed. */
static __always_inline __s64 mapped_changed(struct process *p, struct root *r, __u64 mm)
{
	__u64 segment = *(volatile __u64 *)&p->segment;
	__s64 now = mapped_bytes(mm);
	__s64 seen = *(volatile __s64 *)&p->value[METER_MAPPED];

	if (now == seen)
		return 0;
	__u64 number = now < seen ? falls(p, r, segment, METER_MAPPED, seen) : 0;
	if (__sync_val_compare_and_swap(&p->value[METER_MAPPED], seen, now) == seen)
		tree_moves(p, r, METER_MAPPED, seen, now);
	fell(p, r, number, segment, METER_MAPPED, seen);
	return now - seen;
}

/*
 * Resident before 6.2: the counters plus what every thread holds back. A counter changes either directly or by a
 * thread handing in what it held; at the event it has not forgotten that yet (sync_mm_rss, mm/memory.c). So just
 * before the event the process had what its counters were plus what its threads hold now, and after it what the
 * counters are plus what the threads hold, less what was handed in. Exact, unless another thread is between
 * handing in and forgetting at this very moment. member: the counter that changed, NR_MM_COUNTERS at a boundary.
 */
__attribute__((noinline)) int held_changed(__u32 slot, __u32 member)
{
	struct process *p = process_at(slot);
	struct held h = {};

	if (!p || !p->mm)
		return 0;
	__u64 owner = FIELD(p->mm, mm_struct, owner), current = bpf_get_current_task();
	__s64 handed = 0;

	if (held_offset && owner) {
		h.head = FIELD(owner, task_struct, signal) + bpf_core_field_offset(struct signal_struct, thread_head);
		h.node = word_at(h.head);
		REPEAT(MAX_THREADS, add_held, &h);
		if (member < NR_MM_COUNTERS && FIELD(current, task_struct, mm) == p->mm)
			handed = int_at(current + held_offset + member * sizeof(__s32));
	}
	/* Files first: a copy on write takes from them what it adds to anonymous memory. */
#pragma clang loop unroll(full)
	for (__u32 m = 0; m < NR_MM_COUNTERS; m++) {
		__s64 now = word_at(p->mm + rss_offset + m * sizeof(__s64));
		__s64 was = exchange(&p->counter[m], now);
		if (was == COUNTER_UNKNOWN)
			was = now;
		if (m != MM_SWAPENTS)
			part_is(slot, meter_of(m), was + h.pages[m]);
		if (m == member && now - was == handed)
			h.pages[m] -= handed;
	}
#pragma clang loop unroll(full)
	for (__u32 m = 0; m < NR_MM_COUNTERS; m++)
		if (m != MM_SWAPENTS)
			part_is(slot, meter_of(m), p->counter[m] + h.pages[m]);
	return 0;
}

__attribute__((noinline)) int counters_changed(__u32 slot)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (!r || !p->mm)
		return 0;
	if (percpu_rss) {
		part_changed(p, r, slot, MM_FILEPAGES);
		part_changed(p, r, slot, MM_ANONPAGES);
		part_changed(p, r, slot, MM_SHMEMPAGES);
	}
	mapped_changed(p, r, p->mm);
	return 0;
}

/* Brings all of a process's page meters up to date, at a boundary. Its mm must be alive. */
static __always_inline void refresh(__u32 slot)
{
	if (!percpu_rss)
		held_changed(slot, NR_MM_COUNTERS);
	counters_changed(slot);
}

#endif
