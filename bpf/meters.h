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
		sum = word_at(mm + old_rss_offset + (member & 3) * sizeof(__u64));
		return sum < 0 ? 0 : sum;
	}
	__u64 counter = mm + bpf_core_field_offset(struct mm_struct, rss_stat) +
			(member & 3) * bpf_core_type_size(struct percpu_counter);
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
 * The kernel changed one counter of a traced mm. Reading is repeated until it gives what was written, so that
 * of two CPUs that do this at once the one that writes last has seen the other's update.
 */
static __always_inline void resident_changed(struct process *p, struct root *r, __u64 mm, __u32 member)
{
	bool all = cpus <= sum_all_limit;

	for (int i = 0; i < 3; i++) {
		__s64 part = pages(mm, member) * PAGE;
		__s64 others;

		if (all) {
			others = pages(mm, member == MM_ANONPAGES ? MM_FILEPAGES : MM_ANONPAGES);
			others += pages(mm, member == MM_SHMEMPAGES ? MM_FILEPAGES : MM_SHMEMPAGES);
			others *= PAGE;
		} else {
			others = p->value[METER_ANON] + p->value[METER_FILE] + p->value[METER_SHMEM] - p->value[meter_of(member)];
		}
		take(p, r, meter_of(member), part, true);
		take(p, r, METER_RESIDENT, part + others, true);
		if (cpus == 1 || !percpu_rss || pages(mm, member) * PAGE == part)
			return;
	}
}

/* Brings all of a process's page meters up to date, at a boundary. */
static __always_inline void refresh(struct process *p, struct root *r, __u64 mm)
{
	__s64 anon = pages(mm, MM_ANONPAGES) * PAGE;
	__s64 file = pages(mm, MM_FILEPAGES) * PAGE;
	__s64 shmem = pages(mm, MM_SHMEMPAGES) * PAGE;

	take(p, r, METER_ANON, anon, true);
	take(p, r, METER_FILE, file, true);
	take(p, r, METER_SHMEM, shmem, true);
	take(p, r, METER_RESIDENT, anon + file + shmem, true);
	take(p, r, METER_MAPPED, mapped_bytes(mm), true);
}

#endif
