/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Requests of user space: a task iterator that carries out one operation on the task with the wanted pid. */
#ifndef IPYTRACER_CONTROL_H
#define IPYTRACER_CONTROL_H

/*
 * Finds the address of a per-CPU map's memory on each CPU, relative to the map's pointer: the offsets that all per-CPU
 * pointers share.
 */
SEC("syscall")
int discover_cpus(void *unused)
{
	__u64 pid = FIELD(bpf_get_current_task(), task_struct, thread_pid);
	__u32 zero = 0;
	void *map = &anchor, *pointer = NULL;
	__u64 where = 0;

	pid_level = INT_FIELD(pid, pid, level);
	pid_space = word_at(number_at(pid, pid_level) + bpf_core_field_offset(struct upid, ns));
	if (!percpu_rss) /* bpf_map_lookup_percpu_elem (5.19) is missing on some of these kernels, too */
		return 0;
	bpf_probe_read_kernel(&where, sizeof(where), &map); /* as a number */
	where += bpf_core_field_offset(struct bpf_array, pptrs);
	if (bpf_probe_read_kernel(&pointer, sizeof(pointer), (void *)where))
		return 1;
	for (__u32 cpu = 0; cpu < cpus && cpu < MAX_CPUS; cpu++) {
		void *there = bpf_map_lookup_percpu_elem(&anchor, &zero, cpu);
		__u64 address = 0;
		if (!there || bpf_probe_read_kernel(&address, sizeof(address), &there))
			return 2;
		cpu_offset[cpu] = address - (__u64)pointer;
	}
	return 0;
}

struct doubted {
	__s64 mapped; /* by all Pythons of a root */
	__u32 root;
	__u32 padding;
};

/*
 * Puts a process's blocks in doubt after a time without probes: any of its memory may have become a block, or ceased to
 * be one.
 */
static __always_inline long doubt_blocks(__u32 slot, struct doubted *d)
{
	struct process *p = process_at(slot);

	if (!p || !p->active || p->root != d->root)
		return 0;
	*(volatile __u64 *)&p->era = fetch_add(&next_era, 1);
	if (python_at(slot))
		fetch_add(&d->mapped, p->value[METER_MAPPED]);
	return 0;
}
REPEATED_SLOTS(doubt_blocks, struct doubted *)

/* Steps a group of a root up. */
static __always_inline void put_back(struct root *r, __u32 root, __u32 group)
{
	group &= GROUPS - 1;
	fetch_add(&r->epoch[group], 1);
	if (group == GROUP_NUMPY || group == GROUP_TORCH_CPU || group == GROUP_ARROW) {
		struct doubted d = { .root = root };
		REPEAT_SLOTS(doubt_blocks, &d);
		exchange(&r->unsure[group == GROUP_NUMPY       ? UNKNOWN_NUMPY
				    : group == GROUP_TORCH_CPU ? UNKNOWN_TORCH
							       : UNKNOWN_ARROW],
			 d.mapped);
		if (group == GROUP_NUMPY)
			exchange(&r->listening, 1);
	}
	__s64 credit = top_up(r, accrued(r, bpf_ktime_get_ns()));
	looked_at(r, credit);
	__sync_fetch_and_and(&r->down, ~(1u << group));
}

/*
 * Counts a process's NumPy blocks by other probes from now on, which are in place; unless some blocks would not pass
 * them.
 */
static __always_inline void count_arrays(struct root *r, struct process *p, struct occasion *why)
{
	__u32 before = p->arrays;

	if (request.group == ARRAYS_TRACKED) {
		leave_counts(p, COUNTS_NUMPY);
		tree_follows(p, METER_NUMPY);
	}
	if (request.group == ARRAYS_TRACKED || !*(volatile __u32 *)&p->foreign)
		*(volatile __u32 *)&p->arrays = request.group;
	if (*(volatile __u32 *)&p->foreign && p->arrays != ARRAYS_LEAVING)
		*(volatile __u32 *)&p->arrays = ARRAYS_TRACKED;
	request.group = p->arrays;
	request.request = p->foreign;
	if (before != ARRAYS_LEAVING || p->arrays != ARRAYS_TRACKED)
		return;
	/* Blocks that were allocated meanwhile are not known yet. */
	exchange(&r->unsure[UNKNOWN_NUMPY], p->value[METER_MAPPED]);
	exchange(&r->listening, 1);
	why->kind = BOUNDARY_METER_BACK;
	why->group = GROUP_NUMPY;
	why->foreign = p->foreign ? p->foreign : FOREIGN_MODULE;
	draw_boundary(why);
}

/*
 * Takes in a process that is no member yet. Where two CPUs try, the one that lists its mm succeeds. Its beginning is
 * drawn first, and it becomes a member in one step: so its end finds its slot or no member. Returns false if the
 * process is already taken in, has ended, or executes a program just now.
 */
static __noinline bool take_in(__u64 task, struct member *mine, struct occasion *why)
{
	if (!mine || !why)
		return false;
	__u32 tgid = INT_FIELD(task, task_struct, tgid);
	__u64 mm = FIELD(task, task_struct, mm);
	__u32 slot = open_slot(task, mm, mine->root, false);
	if (slot == TAKEN_IN)
		return false;
	mine->slot = slot;
	mine->untraced = slot == NO_SLOT;
	why->slot = slot;
	if (slot != NO_SLOT) {
		use_cpu(slot, task);
		draw_boundary(why);
	}
	bool full = bpf_map_update_elem(&members, &tgid, mine, BPF_ANY);
	if (full || slot == NO_SLOT)
		leave_out(mine->root);
	/* Its end, or its exec, may have come before it was a member: then no other code closes the slot. */
	bool lives = INT_FIELD(FIELD(task, task_struct, signal), signal_struct, live.counter) &&
		     FIELD(task, task_struct, mm) == mm;
	if (lives && !full)
		return true;
	if (!full && bpf_map_delete_elem(&members, &tgid))
		return true;
	if (slot == NO_SLOT) {
		if (!lives)
			found_out(mine->root);
		return false;
	}
	why->kind = BOUNDARY_PROCESS_EXIT;
	why->status = ended_how(task);
	draw_boundary(why);
	close_slot(slot);
	return false;
}

static __always_inline void attach(__u64 task, bool root)
{
	__u32 tgid = INT_FIELD(task, task_struct, tgid), id = request.root;
	struct root *r = bpf_map_lookup_elem(&roots, &id);
	struct member m = { .root = id, .slot = NO_SLOT };

	if (!r || bpf_map_lookup_elem(&members, &tgid))
		return;
	if (!r->segment) {
		r->segment = 1;
		open_account(r);
	}
	__u64 mm = FIELD(task, task_struct, mm);
	__u32 holder = held_by(mm);
	if (!mm && !INT_FIELD(FIELD(task, task_struct, signal), signal_struct, live.counter))
		return;								  /* it has ended */
	if (holder && holder != tgid && bpf_map_lookup_elem(&members, &holder)) { /* it shares its parent's (vfork) */
		bpf_map_update_elem(&members, &tgid, &m, BPF_NOEXIST);
		return;
	}
	/* Until its parent is a member, it must not take the slot of the parent's memory. It is adopted later. */
	if (!root && mm && mm == FIELD(FIELD(task, task_struct, real_parent), task_struct, mm))
		return;
	struct occasion why = {
		.kind = root ? BOUNDARY_ATTACHED : BOUNDARY_PROCESS_START,
		.parent = request.parent,
		.late = !root,
		.inputs = -1,
	};
	if (!take_in(task, &m, &why))
		return;
	request.slot = m.slot;
	request.done++;
}

/* Takes the process of a task out of the ledger, though it lives on, if it belongs to the root of the request. */
static __always_inline void let_go(__u64 task)
{
	__u32 tid = INT_FIELD(task, task_struct, pid), tgid = INT_FIELD(task, task_struct, tgid);
	struct member *m = bpf_map_lookup_elem(&members, &tgid);

	if (!m) {
		if (ended_last[tgid & (ENDED_LAST - 1)] == tgid)
			forget_thread(tid);
		return;
	}
	if (m->root != request.root)
		return;
	struct member was = *m; /* the next entry may get its place in the table */
	if (bpf_map_delete_elem(&members, &tgid))
		return; /* it ends just now */
	forget_thread(tid);
	if (was.untraced)
		found_out(was.root);
	if (was.slot != NO_SLOT)
		process_ends(task, was.slot);
	request.slot = 0;
	request.done++;
}

SEC("iter/task")
int control_task(struct bpf_iter__task *ctx)
{
	struct task_struct *pointer = ctx->task;
	__u64 task = 0;

	if (!pointer || bpf_probe_read_kernel(&task, sizeof(task), &pointer)) /* as a number */
		return 0;
	if (request.operation == OP_LEAVE) {
		let_go(task);
		return 0;
	}
	__u32 tgid = INT_FIELD(task, task_struct, tgid);
	if (INT_FIELD(task, task_struct, pid) != tgid || visible_pid(task) != request.pid)
		return 0;
	if (request.operation == OP_ATTACH || request.operation == OP_ADOPT) {
		if (request.started && started_at(task) != request.started)
			return 0; /* another process has the pid now */
		attach(task, request.operation == OP_ATTACH);
		return 0;
	}
	struct member *m = bpf_map_lookup_elem(&members, &tgid);
	if (!m)
		return 0;
	__u32 slot = m->slot;
	request.done++;
	request.slot = slot;
	if (slot == NO_SLOT)
		return 0;
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;
	if (!r)
		return 0;
	struct occasion why = { .slot = slot, .group = request.group, .inputs = -1 };
	use_cpu(slot, task);
	if (request.operation == OP_CELL || request.operation == OP_CELL_END) {
		why.cell = request.cell;
		why.outer = request.outer;
		why.kind = request.operation == OP_CELL ? BOUNDARY_CELL_OPEN : BOUNDARY_CELL_CLOSE;
		why.outcome = request.operation == OP_CELL ? OUTCOME_UNKNOWN : OUTCOME_MISSED;
		why.late = request.operation == OP_CELL;
		if (!request.outer)
			fetch_add(&found_threads, request.operation == OP_CELL ? 1 : -1);
		if (request.request)
			p->request = tgid;
		draw_boundary(&why);
		return 0;
	}
	if (request.operation == OP_ARRAYS) {
		count_arrays(r, p, &why);
	} else if (request.operation == OP_COUNTS) {
		bool given = request.counts == COUNTS_TORCH ? give_tensors_page(p, &why) : give_page(p, &why);
		request.page = given ? request.page : 0;
	} else if (request.operation == OP_HEAP) {
		offer_heap_page(p, &why);
	} else if (request.operation == OP_BACK) {
		put_back(r, p->root, request.group);
		why.kind = BOUNDARY_METER_BACK;
		draw_boundary(&why);
	} else if (request.operation == OP_SETTLED) {
		exchange(&r->listening, 0);
		exchange(&r->unsure[UNKNOWN_NUMPY], request.unsure);
		why.kind = BOUNDARY_METER_SETTLED;
		draw_boundary(&why);
	} else if (request.operation == OP_LATE) { /* some blocks were missed, the known ones stay */
		why.kind = BOUNDARY_METER_BACK;
		draw_boundary(&why);
	} else if (request.operation == OP_LOOK && store_has_room(MARKER_RESERVE)) { /* else the next one will do */
		why.kind = BOUNDARY_ASKED;
		draw_boundary(&why);
	} else if (request.operation == OP_DETACH) {
		why.kind = BOUNDARY_DETACHED;
		draw_boundary(&why);
	}
	return 0;
}

#endif
