/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cpu.resident and cpu.mapped, read from the mm itself.
 *
 * Resident: since kernel 6.2 mm->rss_stat[] are per-CPU counters; the exact value is count plus every CPU's
 * share. kmem:rss_stat fires after each update with (mm, member). count is read before the shares, so a share
 * that another CPU folds into count in between is missed, not counted twice, and that CPU's own event follows.
 * Before 6.2 the counter is one atomic, and each thread may hold back up to 64 faults.
 *
 * Mapped: mm->data_vm changes only under mmap_lock held for writing, and mmap_lock:mmap_lock_released fires
 * before the lock is let go, so what is read there is a value that no other thread is changing.
 */
#ifndef IPYTRACER_METERS_H
#define IPYTRACER_METERS_H

/* Pages of one kind, exact where percpu_rss. */
static __always_inline __s64 pages(__u64 mm, __u32 member)
{
	__s64 sum;

	if (!percpu_rss) {
		sum = word_at(mm + rss_offset + (member & 3) * sizeof(__u64));
		return sum < 0 ? 0 : sum;
	}
	__u64 counter = mm + rss_offset + (member & 3) * bpf_core_type_size(struct percpu_counter);
	sum = word_at(counter + bpf_core_field_offset(struct percpu_counter, count));
	__u64 shares = word_at(counter + bpf_core_field_offset(struct percpu_counter, counters));
	for (__u32 cpu = 0; cpu < cpus && cpu < MAX_CPUS; cpu++)
		sum += int_at(shares + cpu_offset[cpu & (MAX_CPUS - 1)]);
	return sum < 0 ? 0 : sum;
}

static __always_inline __s64 mapped_bytes(__u64 mm)
{
	return word_at(mm + bpf_core_field_offset(struct mm_struct, data_vm)) * PAGE;
}

static __always_inline __u32 meter_of(__u32 member)
{
	return member == MM_ANONPAGES ? METER_ANON : member == MM_FILEPAGES ? METER_FILE : METER_SHMEM;
}

/*
 * The kernel changed one counter of a traced mm. The old value is read before the counter and replaced only if
 * it is still there, so of two CPUs that do this at once none puts an older sum over a newer one.
 */
static __always_inline void part_changed(struct process *p, struct root *r, __u64 mm, __u32 member)
{
	__u32 meter = meter_of(member);

	for (int i = 0; i < 4; i++) {
		__u64 segment = r->segment;
		__s64 seen = *(volatile __s64 *)&p->value[meter];
		__s64 now = pages(mm, member) * PAGE;

		if (now == seen)
			return;
		__s64 total = resident_of(p);
		if (__sync_val_compare_and_swap(&p->value[meter], seen, now) != seen)
			continue;
		tree_moves(p, r, meter, seen, now);
		tree_moves(p, r, METER_RESIDENT, total, total - seen + now);
		if (now < seen) {
			fell(p, r, segment, meter, seen);
			fell(p, r, segment, METER_RESIDENT, total);
		}
		return;
	}
}

/* Called with mmap_lock held, or by the process itself at a boundary. */
static __always_inline void mapped_changed(struct process *p, struct root *r, __u64 mm)
{
	__u64 segment = r->segment;
	__s64 now = mapped_bytes(mm);
	__s64 seen = *(volatile __s64 *)&p->value[METER_MAPPED];

	if (now == seen || __sync_val_compare_and_swap(&p->value[METER_MAPPED], seen, now) != seen)
		return;
	tree_moves(p, r, METER_MAPPED, seen, now);
	if (now < seen)
		fell(p, r, segment, METER_MAPPED, seen);
}

/* Brings all of a process's page meters up to date, at a boundary. Its mm must be alive. */
__attribute__((noinline)) int refresh(__u32 slot)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (!r || !p->mm)
		return 0;
	__u64 mm = p->mm;
	for (__u32 member = 0; member < NR_MM_COUNTERS; member++)
		if (member != MM_SWAPENTS)
			part_changed(p, r, mm, member);
	mapped_changed(p, r, mm);
	return 0;
}

#endif
