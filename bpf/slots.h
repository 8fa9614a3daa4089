/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A process has a slot of the ledger for its memory (mm), from the time when it is taken in until it ends or executes
 * another program.
 *
 * Other CPUs may be between finding a slot and using it while it is closed: one that reclaims the process's pages, or
 * that runs another thread of it, which ends. So a closed slot no longer moves its tree, and rests for a while before
 * another process gets it.
 */
#ifndef IPYTRACER_SLOTS_H
#define IPYTRACER_SLOTS_H

/* Returns the address of a pid's number at a depth of pid namespaces. */
static __always_inline __u64 number_at(__u64 pid, __u32 level)
{
	return pid + bpf_core_field_offset(struct pid, numbers) + level * bpf_core_type_size(struct upid);
}

/* Reports whether the tracer sees a process: it is in the tracer's pid namespace, or in one below that. */
static __always_inline bool is_visible(__u64 task)
{
	__u64 pid = FIELD(task, task_struct, thread_pid);

	return pid && (__u32)INT_FIELD(pid, pid, level) >= pid_level &&
	       word_at(number_at(pid, pid_level) + bpf_core_field_offset(struct upid, ns)) == pid_space;
}

/* Returns the pid that the tracer sees: the number at the tracer's own depth of pid namespaces; -1 if there is none. */
static __always_inline __s32 visible_pid(__u64 task)
{
	__u64 pid = FIELD(task, task_struct, thread_pid);

	if (!pid || (__u32)INT_FIELD(pid, pid, level) < pid_level)
		return -1;
	return int_at(number_at(pid, pid_level) + bpf_core_field_offset(struct upid, nr));
}

/* Returns the same for the process of a thread: who starts a child, and is its parent, is a thread. */
static __always_inline __s32 visible_process(__u64 thread)
{
	return visible_pid(FIELD(thread, task_struct, group_leader));
}

/*
 * Returns the start time of a process, as the tracer finds it in /proc/PID/stat: in 1/100 s since boot (do_task_stat,
 * fs/proc/array.c).
 */
static __always_inline __u64 started_at(__u64 task)
{
	return ((__u64)FIELD(task, task_struct, start_boottime) + (__u64)boot_offset) / 10000000;
}

/*
 * The time for which a closed slot rests, in ns: longer than any program takes, also if the hypervisor takes its
 * processor away. Where a thread can lose its CPU within a program (copies.h), it may wait for its turn among others.
 */
#define REST (program_copies > 1 ? 1000000000ull : 10000000ull)

static __always_inline void rest_slot(__u32 slot)
{
	struct closed_slot closed = { .since = bpf_ktime_get_ns(), .slot = slot };
	bpf_map_push_elem(&closed_slots, &closed, 0);
}

/* Returns a slot for a new process: one that has rested, a new one, or without these one that has not rested. */
static __always_inline bool take_slot(__u32 *slot)
{
	struct closed_slot closed = {};
	__u64 now = bpf_ktime_get_ns();

	/* A slot that another CPU closes just now may be from after `now`. */
	if (!bpf_map_peek_elem(&closed_slots, &closed) && now > closed.since + REST &&
	    !bpf_map_pop_elem(&closed_slots, &closed)) {
		if (now > closed.since + REST) {
			*slot = closed.slot;
			return true;
		}
		bpf_map_push_elem(&closed_slots, &closed, 0); /* another CPU has taken the slot that was checked */
	}
	if (!bpf_map_pop_elem(&free_slots, slot))
		return true;
	if (bpf_map_pop_elem(&closed_slots, &closed))
		return false;
	*slot = closed.slot;
	return true;
}

/* Extends the loops over all slots to this one. Two CPUs may open slots at the same time. */
static __always_inline void use_slot(__u32 slot)
{
	for (int i = 0; i < 4; i++) {
		__u32 used = *(volatile __u32 *)&used_slots;
		if (slot < used || __sync_val_compare_and_swap(&used_slots, used, slot + 1) == used)
			return;
	}
	used_slots = MAX_PROCESSES;
}

/* Returns the tgid of the process to which an mm belongs, for the ledger; 0 for none. */
static __always_inline __u32 held_by(__u64 mm)
{
	__u32 *holder = bpf_map_lookup_elem(&spaces, &mm);
	struct process *p = holder ? process_at(*holder) : NULL;
	return p ? p->tgid : 0;
}

/* Attempts of a new process to take the place of one that is being closed: each takes some 100 ns. */
#define ATTEMPTS 64

struct listing {
	__u64 mm;
	__u64 first; /* in the form of first_space */
	__u32 slot;
	__u32 tgid;
	__u32 done;
	__u32 padding;
};

static __always_inline long list_once(__u32 i, struct listing *l)
{
	__u64 mm = l->mm;
	__u32 slot = l->slot, *holder;

	if (!bpf_map_update_elem(&spaces, &mm, &slot, BPF_NOEXIST)) {
		fetch_add(&space_filter[space_hash(mm)], 1);
		__sync_val_compare_and_swap(&first_space, NO_SPACE, l->first);
		l->done = 1;
		return 1;
	}
	holder = bpf_map_lookup_elem(&spaces, &mm);
	struct process *before = holder ? process_at(*holder) : NULL;
	if (!before)
		return 0;
	if (before->tgid == l->tgid)
		return 1;
	__u64 first = mm | (*holder & (FIRST_SLOTS - 1));
	if (!exchange(&before->listed, 0))
		return 0;
	__sync_val_compare_and_swap(&first_space, first, NO_SPACE);
	l->done = !bpf_map_update_elem(&spaces, &mm, &slot, BPF_EXIST);
	return 1;
}
REPEATED(list_once, struct listing *)

/*
 * Makes a process the one to which its mm belongs. The kernel gives an mm's address to a new process as soon as the old
 * one has none, which may be before the old one's slot is closed. So `listed` decides which of the two deletes an
 * entry, or takes it over: an entry of the new process is never deleted by the old one. Returns false if another CPU
 * has taken the process in meanwhile, or takes too long.
 */
static __always_inline bool list_space(struct process *p, __u32 slot, __u32 tgid)
{
	struct listing l = { .mm = p->mm, .first = NO_SPACE, .slot = slot, .tgid = tgid };

	if (slot < FIRST_SLOTS && !(l.mm & (FIRST_SLOTS - 1)))
		l.first = l.mm | slot;
	REPEAT(ATTEMPTS, list_once, &l);
	exchange(&p->listed, l.done);
	return l.done;
}

static __always_inline void unlist_space(struct process *p, __u32 slot)
{
	__u64 mm = p->mm;

	if (!exchange(&p->listed, 0))
		return;
	if (slot < FIRST_SLOTS)
		__sync_val_compare_and_swap(&first_space, mm | slot, NO_SPACE);
	if (!bpf_map_delete_elem(&spaces, &mm))
		fetch_add(&space_filter[space_hash(mm)], -1);
}

/*
 * Gives a process a slot for its memory. The ledger starts from the kernel's counts at this instant. Returns TAKEN_IN
 * if another CPU is giving it one.
 */
#define TAKEN_IN   0xfffffffeu
#define SHARES_ALL (1ll << 62) /* more than any value: adds nothing to its tree */

__attribute__((noinline)) __u32 open_slot(__u64 task, __u64 mm, __u32 root_id, bool forked)
{
	__u32 slot, tgid = INT_FIELD(task, task_struct, tgid);
	struct root *r = bpf_map_lookup_elem(&roots, &root_id);

	if (!r || !mm)
		return NO_SLOT;
	if (held_by(mm) == tgid)
		return TAKEN_IN;
	if (!take_slot(&slot))
		return NO_SLOT;
	struct process *p = process_at(slot);
	struct python *py = bpf_map_lookup_elem(&pythons, &slot);
	if (!p || !py)
		return NO_SLOT;
	use_slot(slot);
	struct cuda_devices *known = bpf_map_lookup_elem(&ordinals, &slot);
	if (known)
		__builtin_memset(known, 0, sizeof(*known));
	py->ready = 0;
	py->inputs = 0;
	py->result_type = 0;
	for (int m = 0; m < METERS; m++) {
		p->value[m] = 0;
		p->high[m] = 0;
		p->told[m] = -1;
		p->sent[m] = 0;
		p->inherited[m] = forked ? SHARES_ALL : 0;
		p->added[m] = 0;
	}
	for (int m = 0; m < NR_MM_COUNTERS; m++)
		p->counter[m] = percpu_rss ? 0 : COUNTER_UNKNOWN;
	if (percpu_rss)
		REPEAT(cpus, forget_shares, &slot);
	p->cpu_time = forked; /* above 0, which means not known */
	p->heap_end = heap_end(mm);
	p->devices = 0;
	p->cuda = 0;
	p->heap = 0;
	p->request = 0;
	p->torch = 0;
	p->pools = 0;
	p->untold = 0;
	for (int i = 0; i < COUNTS; i++) {
		p->pages[i] = 0;
		p->paged[i] = 0;
	}
	p->handler = 0;
	for (int i = 0; i < RESIDENT_PARTS; i++) {
		p->touch_at[i] = 0;
		p->touch_gap[i] = 0;
	}
	p->touch_interval = 0;
	p->touch_credit = 0;
	p->touch_paid = 0;
	p->gone_size = 0;
	p->last_copy = 0;
	p->copy_at = 0;
	p->copy_from = 0;
	p->has_forked = 0;
	p->swapped = 0;
	p->swaps = 0;
	p->arrays = ARRAYS_TRACKED;
	p->foreign = 0;
	p->imports = 0;
	for (int m = 0; m < MAX_MODULES; m++)
		p->modules[m] = 0;
	p->cutting = 0;
	p->segment = *(volatile __u64 *)&r->segment;
	p->mm = mm;
	p->started = bpf_ktime_get_ns();
	p->era = p->first_era = fetch_add(&next_era, 1);
	p->tgid = tgid;
	p->pid = visible_pid(task);
	p->root = root_id;
	p->active = 1;
	if (fetch_add(&r->processes, 1) > 0 && !exchange(&r->shared, 1))
		REPEAT_SLOTS(add_process, &root_id);
	if (!list_space(p, slot, tgid)) {
		p->active = 0;
		fetch_add(&r->processes, -1);
		rest_slot(slot);
		return held_by(mm) == tgid ? TAKEN_IN : NO_SLOT;
	}
	refresh(slot);
	read_swapped(slot, true);
	if (forked) {
		settle(slot);
		for (int m = 0; m < METERS; m++)
			p->inherited[m] = p->value[m];
	}
	return slot;
}

/* Sets the values of a process without memory to 0. */
__attribute__((noinline)) int empty_slot(__u32 slot)
{
	struct process *p = process_at(slot);

	if (!p)
		return 0;
	settle(slot);
	for (int m = 0; m < METERS; m++)
		exchange(&p->value[m], 0);
	for (__u32 m = 0; m < METERS; m++)
		tree_follows(p, m);
	empty_devices(slot);
	return 0;
}

static long forget_block(void *map, __u64 *key, void *block, __u32 *slot)
{
	if (*key >> SLOT_BIT == *slot)
		bpf_map_delete_elem(map, key);
	return 0;
}

/* Removes one block of a process from its table. Blocks in places become obsolete (is_left_over). */
static long forget_spilt(void *map, __u64 *key, void *block, __u32 *slot)
{
	if ((*key >> SLOT_BIT & (MAX_PROCESSES - 1)) == *slot)
		drop_block(map, *key);
	return 0;
}

/* Forgets the heap of a process that ends, or executes another program. */
static __always_inline void forget_heap(struct process *p, __u32 slot)
{
	if (p->heap)
		bpf_for_each_map_elem(&heap_blocks, forget_block, &slot, 0);
	if (p->torch)
		bpf_for_each_map_elem(&torch_blocks, forget_spilt, &slot, 0);
	if (p->pools)
		bpf_for_each_map_elem(&arrow_blocks, forget_spilt, &slot, 0);
	p->heap = 0;
	p->torch = 0;
	p->pools = 0;
}

/* Takes a process out of the ledger; its last maxima must have been sent. */
__attribute__((noinline)) int close_slot(__u32 slot)
{
	struct process *p = process_at(slot);

	if (!p || !exchange(&p->active, 0))
		return 0;
	struct root *r = root_of(p);
	unlist_space(p, slot);
	empty_slot(slot);
	forget_objects(p, slot);
	forget_heap(p, slot);
	if (r)
		fetch_add(&r->processes, -1);
	p->mm = 0;
	rest_slot(slot);
	return 0;
}

#endif
