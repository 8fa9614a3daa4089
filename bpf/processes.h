/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The traced processes: attached roots, and all processes that they fork. A process has a slot of the ledger for its
 * memory (mm); a vfork child has none until it executes a program.
 */
#ifndef IPYTRACER_PROCESSES_H
#define IPYTRACER_PROCESSES_H

/*
 * Counts a process that is not taken in, as there is no room. Until it is known to have ended, the figures of its tree
 * cover only a part of it.
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

/* Counts one of these that has ended, or is taken in after all. */
static __always_inline void found_out(__u32 root)
{
	struct root *r = bpf_map_lookup_elem(&roots, &root);

	if (r)
		fetch_add(&r->untraced_now, -1);
}

static __always_inline __u32 imports_at(__u32 slot)
{
	struct process *p = slot == NO_SLOT ? NULL : process_at(slot);

	return p ? p->imports : 0;
}

/* Returns how a process ends with its last thread, as in do_exit and wait_task_zombie (kernel/exit.c). */
static __noinline __u32 ended_how(__u64 task)
{
	__u64 signal = FIELD(task, task_struct, signal), leader = FIELD(task, task_struct, group_leader);
	bool group = INT_FIELD(signal, signal_struct, flags) & SIGNAL_GROUP_EXIT;
	__u32 status = group ? INT_FIELD(signal, signal_struct, group_exit_code)
			     : INT_FIELD(leader, task_struct, exit_code);

	return (status & 0xffff) | (FIELD(signal, signal_struct, oom_mm) ? OUTCOME_OUT_OF_MEMORY : 0);
}

/* Forgets the state of a thread. Its number may be given to a new one, with another stack. */
static __noinline int forget_thread(__u32 tid)
{
	bpf_map_delete_elem(&threads, &tid);
	bpf_map_delete_elem(&calls, &tid);
	bpf_map_delete_elem(&resized, &tid);
	bpf_map_delete_elem(&resizes, &tid);
	bpf_map_delete_elem(&heap_calls, &tid);
	bpf_map_delete_elem(&cuda_threads, &tid);
	bpf_map_delete_elem(&walks, &tid);
	return 0;
}

/* Forgets a found thread that ends without an event. */
static __noinline int forget_found(__u64 task, __u32 slot)
{
	struct thread_key key = { .self = THREAD_SELF(task, slot), .slot = slot };

	if (!bpf_map_delete_elem(&found, &key))
		fetch_add(&found_threads, -1);
	return 0;
}

static long forget_found_of(void *map, struct thread_key *key, void *thread, __u32 *slot)
{
	if (key->slot == *slot && !bpf_map_delete_elem(map, key))
		fetch_add(&found_threads, -1);
	return 0;
}

/* Ends a process for the ledger. Only the CPU that has taken it out of `members` comes here: it ends once. */
__attribute__((noinline)) int process_ends(__u64 task, __u32 slot)
{
	struct process *p = process_at(slot);
	struct occasion why = { .kind = BOUNDARY_PROCESS_EXIT, .slot = slot, .inputs = -1 };

	if (!p)
		return 0;
	ended_last[p->tgid & (ENDED_LAST - 1)] = p->tgid;
	why.status = ended_how(task);
	why.imports = p->imports;
	use_cpu(slot, task);
	draw_boundary(&why);
	if (found_threads)
		bpf_for_each_map_elem(&found, forget_found_of, &slot, 0);
	return close_slot(slot);
}

/* Reports whether the file of the program that a process executes has a name like CPython's. */
static __always_inline bool is_named_python(__u64 mm)
{
	char name[8] = {};
	__u64 file = FIELD(mm, mm_struct, exe_file), entry = file ? FIELD(file, file, f_path.dentry) : 0;
	__u64 text = entry ? FIELD(entry, dentry, d_name.name) : 0;

	return text && !bpf_probe_read_kernel(name, sizeof(name), (void *)text) && starts_with(name, "python", 6);
}

#define BIRTH_REST 500000000ULL /* nanoseconds */

/* Wakes user space up for a birth. A program may execute Pythons for ever: no more often than each BIRTH_REST. */
static __always_inline void tell_birth(void)
{
	__u64 now = bpf_ktime_get_ns();
	struct header h = { .kind = RECORD_NUDGE };

	if (now - born_told < BIRTH_REST)
		return;
	born_told = now;
	bpf_ringbuf_output(&boundaries, &h, sizeof(h), BPF_RB_FORCE_WAKEUP);
}

/*
 * Notes a process that has executed a Python, or is the fork of one and has its arguments. The table is a ring: what is
 * not read in time is overwritten.
 */
static __noinline int note_birth(__u64 task, bool forked)
{
	__u64 mm = FIELD(task, task_struct, mm), arguments = FIELD(mm, mm_struct, arg_start);
	__u64 size = FIELD(mm, mm_struct, arg_end) - arguments;
	__u32 length = size < BIRTH_TEXT ? size : BIRTH_TEXT;

	if (!is_visible(task))
		return 0;
	__u64 number = fetch_add(&born, 1) + 1;
	__u32 at = number & (BIRTHS - 1);
	struct birth *b = bpf_map_lookup_elem(&births, &at);
	if (!b)
		return 0;
	exchange(&b->number, 0);
	b->started = started_at(task);
	b->pid = visible_pid(task);
	b->forked = forked;
	b->size = bpf_probe_read_user(b->text, length, (void *)arguments) ? 0 : length;
	exchange(&b->number, number);
	tell_birth();
	return 0;
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
	__u64 mm = FIELD(child, task_struct, mm);
	if (!m && watch_births && mm && mm != FIELD(parent, task_struct, mm) && is_named_python(mm))
		note_birth(child, true);
	if (!m || ran_before(AT_FORK))
		return 0;
	struct member mine = { .root = m->root, .slot = NO_SLOT };
	if (bpf_map_update_elem(&members, &child_tgid, &mine, BPF_NOEXIST)) {
		if (held_by(mm) == child_tgid) /* the tracer, or an earlier copy, has found it and taken it in */
			return 0;
		struct member *there = bpf_map_lookup_elem(&members, &child_tgid);
		if (there && there->untraced && there->root == mine.root) /* an earlier copy has left it out */
			return 0;
		if (bpf_map_update_elem(&members, &child_tgid, &mine, BPF_ANY))
			return leave_out(mine.root);
	}
	if (!mm || mm == FIELD(parent, task_struct, mm))
		return 0;
	__u32 slot = slot_of(FIELD(parent, task_struct, mm));
	struct process *forks = slot == NO_SLOT ? NULL : process_at(slot);
	if (forks)
		exchange(&forks->has_forked, 1);
	mine.slot = open_slot(child, mm, mine.root, true);
	if (mine.slot == TAKEN_IN)
		return 0;
	mine.untraced = mine.slot == NO_SLOT;
	bpf_map_update_elem(&members, &child_tgid, &mine, BPF_EXIST);
	if (mine.slot == NO_SLOT)
		return leave_out(mine.root);
	struct occasion why = {
		.kind = BOUNDARY_PROCESS_START,
		.slot = mine.slot,
		.parent = visible_process(parent),
		.inputs = -1,
	};
	draw_boundary(&why); /* the child does not run yet */
	return 0;
}

/* sched_process_exec(task, old_pid, binary) */
SEC("raw_tp/sched_process_exec")
int process_exec(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 task = ctx->args[0];
	__u32 tgid = INT_FIELD(task, task_struct, tgid);
	struct member *m = bpf_map_lookup_elem(&members, &tgid);

	if (!m && watch_births && is_named_python(FIELD(task, task_struct, mm)))
		note_birth(task, false);
	if (!m || ran_before(AT_EXEC))
		return 0;
	__u64 mm = FIELD(task, task_struct, mm), arguments = FIELD(mm, mm_struct, arg_start);
	__u32 root = m->root, old = m->slot;
	bool before = m->untraced;
	struct process *p = old == NO_SLOT ? NULL : process_at(old);
	if (p && p->mm == mm) /* taken in by the tracer, or an earlier copy, just now */
		return 0;
	struct occasion why = { .kind = BOUNDARY_PROCESS_EXEC, .inputs = -1 };
	/* The state of the thread is over. Its old number, if it was not the first thread, belongs to another one. */
	forget_thread(tgid);
	forget_thread((__u32)ctx->args[1]);
	why.parent = visible_process(FIELD(task, task_struct, real_parent));
	why.imports = p ? p->imports : 0;
	if (p) {
		read_all_counts(old);
		empty_slot(old); /* its maxima stay until the boundary below has sent them */
	}
	__u32 slot = open_slot(task, mm, root, false);
	why.named_python = is_named_python(mm);
	why.text = (void *)arguments;
	why.text_size = FIELD(mm, mm_struct, arg_end) - arguments;
	if (slot == TAKEN_IN) /* by the tracer */
		return old == NO_SLOT ? 0 : close_slot(old);
	struct member mine = { .root = root, .slot = slot, .untraced = slot == NO_SLOT };
	if (bpf_map_update_elem(&members, &tgid, &mine,
				BPF_EXIST)) /* the tracer takes it in once more: see take_in() */
		return slot == NO_SLOT ? 0 : close_slot(slot);
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

/* The threads of a process, visited one after the other. */
struct others_of {
	__u64 node;
	__u64 head;
	__u64 mm; /* the mm that has been found */
};

static __always_inline long look_at_mm(__u32 i, struct others_of *o)
{
	if (!o->node || o->node == o->head)
		return 1;
	o->mm = FIELD(o->node - bpf_core_field_offset(struct task_struct, thread_node), task_struct, mm);
	o->node = word_at(o->node);
	return o->mm != 0;
}
REPEATED(look_at_mm, struct others_of *)

/*
 * Reports whether another thread of the process still has its memory, and will come here once it has not. Before 6.16,
 * a thread has released its memory and stored its exit status when it comes here. So the process is known to end before
 * the last pages have been counted (until 6.1, threads hold some back).
 */
__attribute__((noinline)) bool memory_is_held(__u64 task)
{
	__u64 signal = FIELD(task, task_struct, signal);
	struct others_of o = { .head = signal + bpf_core_field_offset(struct signal_struct, thread_head) };

	if (FIELD(task, task_struct, mm))
		return false;
	o.node = word_at(o.head);
	REPEAT(MAX_THREADS, look_at_mm, &o);
	return o.mm;
}

/*
 * Before 6.16 this fires after the memory has been released, since then before; the slot knows the mm either way.
 * Threads that end at the same time, as in a killed process, may each find no other one left: the one that takes the
 * process out of `members` draws its end. Two ends would share the maxima between them.
 */
SEC("raw_tp/sched_process_exit")
int process_exit(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 task = ctx->args[0];
	__u32 tid = INT_FIELD(task, task_struct, pid), tgid = INT_FIELD(task, task_struct, tgid);
	struct member *m = bpf_map_lookup_elem(&members, &tgid);

	if (ran_before(AT_EXIT))
		return 0;
	if (!m) {
		if (*(volatile __u32 *)&ended_last[tgid & (ENDED_LAST - 1)] == tgid)
			forget_thread(tid);
		return 0;
	}
	struct member was = *m; /* the next entry may get its place in the table */
	forget_thread(tid);
	if (found_threads)
		forget_found(task, was.slot);
	linger();
	if (INT_FIELD(FIELD(task, task_struct, signal), signal_struct, live.counter) || memory_is_held(task))
		return 0;
	if (bpf_map_delete_elem(&members, &tgid))
		return 0;
	if (was.untraced)
		found_out(was.root);
	if (was.slot != NO_SLOT)
		process_ends(task, was.slot);
	return 0;
}

#endif
