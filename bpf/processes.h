/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which processes are traced: attached roots, and whatever they fork. A process has a slot of the ledger for
 * its memory (mm); a vfork child has none until it executes a program.
 */
#ifndef IPYTRACER_PROCESSES_H
#define IPYTRACER_PROCESSES_H

/* The pid the tracer sees: the number at the tracer's own depth of pid namespaces; -1 if it has none there. */
static __always_inline __s32 visible_pid(__u64 task)
{
	__u64 pid = FIELD(task, task_struct, thread_pid);

	if (!pid || (__u32)INT_FIELD(pid, pid, level) < pid_level)
		return -1;
	return int_at(pid + bpf_core_field_offset(struct pid, numbers) + pid_level * bpf_core_type_size(struct upid) +
		      bpf_core_field_offset(struct upid, nr));
}

/* Gives a process a slot for its memory. The ledger starts from the kernel's counts at this instant. */
#define SHARES_ALL (1ll << 62) /* more than any value: adds nothing to its tree */

static __noinline __u32 open_slot(__u64 task, __u64 mm, __u32 root_id, bool forked)
{
	__u32 slot;
	struct root *r = bpf_map_lookup_elem(&roots, &root_id);

	if (!r || !mm || bpf_map_pop_elem(&free_slots, &slot))
		return NO_SLOT;
	struct process *p = process_at(slot);
	struct python *py = bpf_map_lookup_elem(&pythons, &slot);
	if (!p || !py)
		return NO_SLOT;
	if (slot >= used_slots)
		used_slots = slot + 1;
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
	}
	for (int m = 0; m < NR_MM_COUNTERS; m++)
		p->counter[m] = percpu_rss ? 0 : COUNTER_UNKNOWN;
	if (percpu_rss)
		REPEAT(cpus, forget_shares, &slot);
	p->cpu_time = forked; /* more than nothing, which is not known */
	p->heap_end = heap_end(mm);
	p->devices = 0;
	p->cuda = 0;
	p->heap = 0;
	p->request = 0;
	p->torch = 0;
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
	p->tgid = INT_FIELD(task, task_struct, tgid);
	p->pid = visible_pid(task);
	p->root = root_id;
	p->active = 1;
	if (fetch_add(&r->processes, 1) > 0 && !r->shared) {
		r->shared = 1;
		add_up(root_id);
	}
	if (bpf_map_update_elem(&spaces, &mm, &slot, BPF_ANY)) {
		p->active = 0;
		fetch_add(&r->processes, -1);
		bpf_map_push_elem(&free_slots, &slot, 0);
		return NO_SLOT;
	}
	fetch_add(&space_filter[space_hash(mm)], 1);
	if (!first_space) {
		first_slot = slot;
		first_space = mm;
	}
	refresh(slot);
	if (forked) {
		settle(slot);
		for (int m = 0; m < METERS; m++)
			p->inherited[m] = p->value[m];
	}
	return slot;
}

/* The process's memory is gone: its values fall to nothing. */
static __noinline int empty_slot(__u32 slot)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (!r)
		return 0;
	settle(slot);
	for (int m = 0; m < METERS; m++) {
		__s64 was = exchange(&p->value[m], 0);
		if (r->shared)
			fetch_add(&r->tree[m], -adds(p, m, was));
	}
	empty_devices(slot);
	return 0;
}

static long forget_block(void *map, __u64 *key, void *block, __u32 *slot)
{
	if (*key >> 48 == *slot)
		bpf_map_delete_elem(map, key);
	return 0;
}

/* The process is over, or executes another program: nothing of its heap is left. */
static __always_inline void forget_heap(struct process *p, __u32 slot)
{
	if (p->heap)
		bpf_for_each_map_elem(&heap_blocks, forget_block, &slot, 0);
	if (p->torch)
		bpf_for_each_map_elem(&torch_blocks, forget_block, &slot, 0);
	p->heap = 0;
	p->torch = 0;
}

/* Takes a process out of the ledger; its last maxima must have been sent. */
static __noinline int close_slot(__u32 slot)
{
	struct process *p = process_at(slot);

	if (!p || !p->active)
		return 0;
	struct root *r = root_of(p);
	__u64 mm = p->mm;
	p->active = 0;
	if (mm == first_space)
		first_space = 0;
	if (!bpf_map_delete_elem(&spaces, &mm))
		fetch_add(&space_filter[space_hash(mm)], -1);
	empty_slot(slot);
	forget_objects(p, slot);
	forget_heap(p, slot);
	if (r)
		fetch_add(&r->processes, -1);
	p->mm = 0;
	bpf_map_push_elem(&free_slots, &slot, 0);
	return 0;
}

/*
 * A process that is not taken in: there is no room. Until it is known to have ended, the figures of its tree are those
 * of a part of it.
 */
static __noinline int leave_out(__u32 root)
{
	struct root *r = bpf_map_lookup_elem(&roots, &root);

	lose(LOSS_PROCESS);
	if (!r)
		return 0;
	fetch_add(&r->untraced, 1);
	fetch_add(&r->untraced_now, 1);
	return 0;
}

/* One of these has ended, or is taken in after all. */
static __always_inline void found_out(__u32 root)
{
	struct root *r = bpf_map_lookup_elem(&roots, &root);

	if (r)
		fetch_add(&r->untraced_now, -1);
}

/* sched_process_fork(parent, child) */
SEC("raw_tp/sched_process_fork")
int process_fork(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 parent = ctx->args[0], child = ctx->args[1];
	__u32 tgid = INT_FIELD(parent, task_struct, tgid), child_tgid = INT_FIELD(child, task_struct, tgid);

	if (tgid == child_tgid)
		return 0;
	struct member *m = bpf_map_lookup_elem(&members, &tgid);
	if (!m)
		return 0;
	struct member mine = { .root = m->root, .slot = NO_SLOT };
	if (bpf_map_update_elem(&members, &child_tgid, &mine, BPF_ANY))
		return leave_out(mine.root);
	__u64 mm = FIELD(child, task_struct, mm);
	if (!mm || mm == FIELD(parent, task_struct, mm))
		return 0;
	mine.slot = open_slot(child, mm, mine.root, true);
	m = bpf_map_lookup_elem(&members, &child_tgid);
	if (m) {
		m->slot = mine.slot;
		m->untraced = mine.slot == NO_SLOT;
	}
	if (mine.slot == NO_SLOT)
		return leave_out(mine.root);
	struct occasion why = {
		.kind = BOUNDARY_PROCESS_START,
		.slot = mine.slot,
		.parent = visible_pid(parent),
		.inputs = -1,
	};
	draw_boundary(&why);
	return 0;
}

/* Is the file of the program that a process executes named as CPython's are? */
static __always_inline bool is_named_python(__u64 mm)
{
	char name[8] = {};
	__u64 file = FIELD(mm, mm_struct, exe_file), entry = file ? FIELD(file, file, f_path.dentry) : 0;
	__u64 text = entry ? FIELD(entry, dentry, d_name.name) : 0;

	return text && !bpf_probe_read_kernel(name, sizeof(name), (void *)text) && starts_with(name, "python", 6);
}

static __always_inline __u32 imports_at(__u32 slot)
{
	struct process *p = slot == NO_SLOT ? NULL : process_at(slot);

	return p ? p->imports : 0;
}

/* sched_process_exec(task, old_pid, binary) */
SEC("raw_tp/sched_process_exec")
int process_exec(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 task = ctx->args[0];
	__u32 tgid = INT_FIELD(task, task_struct, tgid);
	struct member *m = bpf_map_lookup_elem(&members, &tgid);

	if (!m)
		return 0;
	__u32 root = m->root;
	struct occasion why = { .kind = BOUNDARY_PROCESS_EXEC, .inputs = -1 };
	why.parent = visible_pid(FIELD(task, task_struct, real_parent));
	__u32 old = m->slot;
	why.group = imports_at(old);
	if (old != NO_SLOT)
		empty_slot(old); /* its maxima stay until the boundary below has sent them */
	__u64 mm = FIELD(task, task_struct, mm), arguments = FIELD(mm, mm_struct, arg_start);
	__u32 slot = open_slot(task, mm, root, false);
	why.first_line = is_named_python(mm);
	why.text = (void *)arguments;
	why.text_size = FIELD(mm, mm_struct, arg_end) - arguments;
	m->slot = slot;
	bool before = m->untraced;
	m->untraced = slot == NO_SLOT;
	if (slot == NO_SLOT) { /* for the ledger it ends here */
		if (!before)
			leave_out(root);
		if (old == NO_SLOT)
			return 0;
		why.kind = BOUNDARY_PROCESS_EXIT;
		why.text = NULL;
	} else if (before) {
		found_out(root);
	}
	why.slot = slot == NO_SLOT ? old : slot;
	draw_window(&why);
	if (old != NO_SLOT)
		close_slot(old);
	return 0;
}

/* A thread that ends and was never heard of. */
static __noinline int forget_found(__u64 task, __u32 slot)
{
	struct thread_key key = { .self = FIELD(task, task_struct, thread.fsbase), .slot = slot };

	if (!bpf_map_delete_elem(&found, &key))
		fetch_add(&found_threads, -1);
	return 0;
}

/* How a process ends whose last thread does so, as do_exit and wait_task_zombie have it (kernel/exit.c). */
static __noinline __u32 ended_how(__u64 task)
{
	__u64 signal = FIELD(task, task_struct, signal), leader = FIELD(task, task_struct, group_leader);
	bool group = INT_FIELD(signal, signal_struct, flags) & SIGNAL_GROUP_EXIT;
	__u32 status = group ? INT_FIELD(signal, signal_struct, group_exit_code)
			     : INT_FIELD(leader, task_struct, exit_code);

	return (status & 0xffff) | (FIELD(signal, signal_struct, oom_mm) ? OUTCOME_OUT_OF_MEMORY : 0);
}

/* Before 6.16 this fires after the memory is gone, since then before; the slot knows the mm either way. */
SEC("raw_tp/sched_process_exit")
int process_exit(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 task = ctx->args[0];
	__u32 tid = INT_FIELD(task, task_struct, pid), tgid = INT_FIELD(task, task_struct, tgid);
	struct member *m = bpf_map_lookup_elem(&members, &tgid);

	if (!m)
		return 0;
	/* Its number may be given to a new thread, with another stack. */
	bpf_map_delete_elem(&threads, &tid);
	if (found_threads)
		forget_found(task, m->slot);
	bpf_map_delete_elem(&calls, &tid);
	bpf_map_delete_elem(&resized, &tid);
	bpf_map_delete_elem(&resizes, &tid);
	bpf_map_delete_elem(&heap_calls, &tid);
	bpf_map_delete_elem(&cuda_threads, &tid);
	if (INT_FIELD(FIELD(task, task_struct, signal), signal_struct, live.counter))
		return 0;
	__u32 slot = m->slot;
	if (m->untraced)
		found_out(m->root);
	bpf_map_delete_elem(&members, &tgid);
	if (slot == NO_SLOT)
		return 0;
	struct occasion why = { .kind = BOUNDARY_PROCESS_EXIT, .slot = slot, .inputs = -1 };
	why.outcome = ended_how(task);
	why.group = imports_at(slot);
	draw_window(&why);
	close_slot(slot);
	return 0;
}

#endif
