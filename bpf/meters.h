/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cpu.resident, read from the mm itself. cpu.mapped is in mapped.h.
 *
 * Since kernel 6.2 mm->rss_stat[] are per-CPU counters; the value is count plus every CPU's share. kmem:rss_stat fires
 * after each update with (mm, member), nearly always on the CPU of the share that the update moved. So the ledger
 * remembers each CPU's share as it was last seen, and moves by the change of the CPU's own share since, at a price that
 * does not grow with the number of CPUs. A share that is folded into count becomes 0, and count shows by how much both
 * have moved. Where that is more than one update of a few pages, or the share has not moved at all (the thread has come
 * from another CPU), every share is read, as at each boundary. At any time the ledger's value is the count as last seen
 * plus the shares as last seen, so nothing is counted twice and nothing drifts. count is read before the shares: one
 * that another CPU folds in between is missed until that CPU's own event, which follows. Before 6.2 the counter is one
 * atomic, and each thread holds back up to 66 faults: see held_changed().
 */
#ifndef IPYTRACER_METERS_H
#define IPYTRACER_METERS_H

static __always_inline __s64 mapped_bytes(__u64 mm)
{
	return word_at(mm + bpf_core_field_offset(struct mm_struct, data_vm)) * page_size;
}

static __always_inline __u64 whole_pages(__u64 size)
{
	return (size + page_size - 1) & ~(__u64)(page_size - 1);
}

/* Returns the end of the memory that brk() has added. */
static __always_inline __u64 heap_end(__u64 mm)
{
	return whole_pages(FIELD(mm, mm_struct, brk));
}

static __always_inline __u32 meter_of(__u32 member)
{
	return member == MM_ANONPAGES ? METER_ANON : member == MM_FILEPAGES ? METER_FILE : METER_SHMEM;
}

/* Returns the number of a part of resident, from 0. */
static __always_inline __u32 part_of(__u32 meter)
{
	return meter - METER_ANON;
}

/*
 * The attempts to move a meter. A CPU that frees pages needs some 300 ns for an attempt, and another one that touches
 * pages is faster about every other time.
 */
#define MOVES 16

/* The modes of part_moves. */
enum { TO_VALUE, BY_DIFFERENCE, AT_ONCE };

/*
 * Tries once to move a meter of pages. Returns false if another CPU was faster. AT_ONCE moves it in any case, and knows
 * the value that the meter had only after it has changed: a boundary in between finds neither. Neither static nor
 * inline, and without a loop, so that every verifier gets through it quickly and its stack is small.
 */
__attribute__((noinline)) int part_moves(__u32 slot, __u32 number, __s64 bytes, __u32 how)
{
	__u64 meter = AT_MOST(number, METERS - 1);
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (!r)
		return true;
	__u64 segment = *(volatile __u64 *)&p->segment;
	__s64 seen = *(volatile __s64 *)&p->value[meter];
	if (how == AT_ONCE)
		seen = fetch_add(&p->value[meter], bytes);
	__s64 now = how == TO_VALUE ? bytes : seen + bytes;
	if (now == seen)
		return true;
	if (now < seen) {
		container_falls(slot);
		fell(p, falls(p, segment, meter, seen, SENT_UNIT), segment, meter, seen);
		__s64 total = resident_of(p) + seen - *(volatile __s64 *)&p->value[meter]; /* at once, it has fallen */
		fell(p, falls(p, segment, METER_RESIDENT, total, SENT_UNIT), segment, METER_RESIDENT, total);
	}
	return how == AT_ONCE || __sync_val_compare_and_swap(&p->value[meter], seen, now) == seen;
}

static __always_inline void part_is(__u32 slot, __u32 meter, __s64 pages)
{
	__s64 now = pages < 0 ? 0 : pages * page_size;

#pragma clang loop unroll(full)
	for (int i = 0; i < MOVES; i++) {
		if (part_moves(slot, meter, now, TO_VALUE))
			return;
	}
}

/* The counts that the threads of a process hold back (task->rss_stat, until kernel 6.1). */
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

/* Returns the place of a CPU's share of a counter as it was last seen, in pages. */
static __always_inline __s64 *share_seen(__u32 cpu, __u32 slot, __u32 member)
{
	__u32 place = (cpu * MAX_PROCESSES + slot) * NR_MM_COUNTERS + member;
	return bpf_map_lookup_elem(&shares, &place);
}

/* A counter of an mm, with percpu_rss. */
struct counter {
	__u64 shares; /* per-CPU pointer */
	__s64 moved;  /* pages, since it was last seen */
	__u32 slot;
	__u32 member;
};

static __always_inline __u64 counter_at(struct process *p, __u32 member)
{
	return p->mm + rss_offset + member * bpf_core_type_size(struct percpu_counter);
}

static __always_inline __u64 shares_of(__u64 counter)
{
	return word_at(counter + bpf_core_field_offset(struct percpu_counter, counters));
}

/* Updates the last seen value of a counter, unless another CPU is doing so. Returns the difference. */
static __always_inline __s64 takes(__s64 *seen, __s64 was, __s64 now)
{
	return now != was && __sync_val_compare_and_swap(seen, was, now) == was ? now - was : 0;
}

static __always_inline long look_at_share(__u32 cpu, struct counter *c)
{
	__s64 *seen = share_seen(cpu, c->slot, c->member);

	if (!seen || cpu >= MAX_CPUS)
		return 1;
	__s64 was = *(volatile __s64 *)seen;
	c->moved += takes(seen, was, int_at(c->shares + cpu_offset[cpu]));
	return 0;
}
REPEATED(look_at_share, struct counter *)

static __always_inline long forget_shares(__u32 cpu, __u32 *slot)
{
#pragma clang loop unroll(full)
	for (__u32 m = 0; m < NR_MM_COUNTERS; m++) {
		__s64 *seen = share_seen(cpu, *slot, m);
		if (seen)
			*seen = 0;
	}
	return 0;
}
REPEATED(forget_shares, __u32 *)

static __always_inline __s64 count_at(__u64 counter)
{
	return word_at(counter + bpf_core_field_offset(struct percpu_counter, count));
}

/*
 * Shares are folded once they are 32 pages or more (compute_batch_value, lib/percpu_counter.c). Where count and the
 * share that was folded into it differ by less, no other CPU has folded meanwhile.
 */
#define LESS_THAN_A_SHARE 16

/*
 * Returns the pages by which the share of the CPU that runs this has moved, with count if it was folded; 0 if all
 * shares must be read to know.
 */
static __always_inline __s64 own_share_moved(struct process *p, __u32 slot, __u32 member)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__s64 *seen = share_seen(cpu, slot, member);

	if (!seen || cpu >= MAX_CPUS)
		return 0;
	__u64 counter = counter_at(p, member);
	__s64 was = *(volatile __s64 *)seen, now = int_at(shares_of(counter) + cpu_offset[cpu]);
	if (now)
		return takes(seen, was, now);
	__s64 counted = *(volatile __s64 *)&p->counter[member], count = count_at(counter), by = count - counted - was;
	if (by < -LESS_THAN_A_SHARE || by > LESS_THAN_A_SHARE)
		return 0;
	return takes(&p->counter[member], counted, count) + takes(seen, was, 0);
}

/*
 * Moves a meter by the pages by which a counter has moved. Rises are a thousand times as frequent as falls, and need
 * less work: the next fall or boundary sees the highest value.
 */
static __always_inline void part_moved(struct process *p, struct root *r, __u32 slot, __u32 member, __s64 pages)
{
	__u32 meter = meter_of(member);
	__s64 by = pages * page_size;

	if (by > 0 && !*(volatile __u32 *)&r->shared) {
		fetch_add(&p->value[meter], by);
	} else {
#pragma clang loop unroll(full)
		for (int i = 0; i < MOVES; i++) {
			if (part_moves(slot, meter, by, BY_DIFFERENCE))
				goto moved;
		}
		part_moves(slot, meter, by, AT_ONCE);
	}
moved:
	if (by < 0) /* as many pages as before are to be touched until the next sample */
		fetch_add(&p->touch_at[AT_MOST(part_of(meter), RESIDENT_PARTS - 1)], by);
	if (*(volatile __u32 *)&r->shared) { /* it may have become shared just now */
		tree_follows(p, meter);
		tree_follows(p, METER_RESIDENT);
	}
}

/* Reads a counter with all its shares. Returns the pages by which it has moved. */
__attribute__((noinline)) int counter_moved(__u32 slot, __u32 number)
{
	__u64 member = AT_MOST(number, NR_MM_COUNTERS - 1);
	struct process *p = process_at(slot);
	struct counter c = { .slot = slot, .member = member };

	if (!p || !p->mm)
		return 0;
	__u64 counter = counter_at(p, member);
	__s64 was = *(volatile __s64 *)&p->counter[member];
	c.moved = takes(&p->counter[member], was, count_at(counter));
	c.shares = shares_of(counter);
	REPEAT(cpus, look_at_share, &c);
	return c.moved;
}

/* The same, and moves the meter by that. */
__attribute__((noinline)) int whole_counter(__u32 slot, __u32 member)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (!r)
		return 0;
	__s64 moved = counter_moved(slot, member);
	if (moved)
		part_moved(p, r, slot, AT_MOST(member, NR_MM_COUNTERS - 1), moved);
	return moved;
}

/* Handles the kernel's change of one counter of a traced mm. Returns the pages by which it has moved. */
static __always_inline __s64 part_changed(struct process *p, struct root *r, __u32 slot, __u32 member)
{
	__s64 moved = own_share_moved(p, slot, member & 3);

	if (!moved)
		return whole_counter(slot, member & 3);
	part_moved(p, r, slot, member & 3, moved);
	return moved;
}

static __always_inline void pages_followed(struct process *p)
{
	tree_follows(p, METER_FILE);
	tree_follows(p, METER_ANON);
	tree_follows(p, METER_SHMEM);
	tree_follows(p, METER_RESIDENT);
}

/*
 * Updates resident before 6.2: the counters plus the counts that every thread holds back. A counter changes either
 * directly or when a thread hands in its held count; at the event the thread has not cleared that yet (sync_mm_rss,
 * mm/memory.c). So just before the event the process had the old counters plus the counts held now, and after it the
 * new counters plus the counts held, less the count handed in. Exact, unless another thread is between handing in and
 * clearing at this very moment. member: the counter that changed, NR_MM_COUNTERS at a boundary.
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
	/* Files first: a copy on write moves pages from them to anonymous memory. */
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
	pages_followed(p);
#pragma clang loop unroll(full)
	for (__u32 m = 0; m < NR_MM_COUNTERS; m++)
		if (m != MM_SWAPENTS)
			part_is(slot, meter_of(m), p->counter[m] + h.pages[m]);
	pages_followed(p);
	return 0;
}

#endif
