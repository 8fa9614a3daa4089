/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The memory of a process's container, at the instant of a boundary: what Linux charges to its memory cgroup (struct
 * page_counter), in both versions of cgroups. Of the cgroup and those around it, the one with the least limit counts;
 * without a limit the process's own does. The root cgroup has no figures.
 *
 * No program may write the kernel's memory, so the highest value ever is read, and user space compares it with that of
 * an earlier boundary. Where it has not risen, the use is known at boundaries, and whenever the process gives memory
 * back, just before that: see container_falls(). A cgroup is freed after an RCU grace period, which no program outlasts.
 */
#ifndef IPYTRACER_CONTAINER_H
#define IPYTRACER_CONTAINER_H

#define MAX_LEVELS 16 /* cgroups within each other */

struct levels {
	__u64 counter; /* of the next level */
	__u64 chosen;
	__u64 limit; /* of the chosen level, in pages */
};

static __always_inline long look_at_level(__u32 i, struct levels *l)
{
	__u64 above = word_at(l->counter + container_fields.parent);
	__u64 limit = word_at(l->counter + container_fields.max);

	if (!above)
		return 1;
	if (!l->chosen || limit < l->limit) {
		l->chosen = l->counter;
		l->limit = limit;
	}
	l->counter = above;
	return 0;
}
REPEATED(look_at_level, struct levels *)

/* Returns the task for which Linux charges a process's memory; 0 if it is not known. */
static __always_inline __u64 charged_task(struct process *p, __u32 kind)
{
	__u64 current = bpf_get_current_task();

	if (p->mm && kind != BOUNDARY_PROCESS_EXIT) /* as get_mem_cgroup_from_mm, mm/memcontrol.c */
		return word_at(p->mm + container_fields.owner);
	return (__u32)INT_FIELD(current, task_struct, tgid) == p->tgid ? current : 0;
}

/* Returns the address of the memory cgroup of a task. */
static __always_inline __u64 memory_state(__u64 task)
{
	return word_at(word_at(task + container_fields.groups) + container_fields.state);
}

/*
 * Keeps the use of a process's container where the process's memory falls: Linux gives the pages back to the container
 * behind this. A container that the process has left may be freed, so it is not read.
 */
static __always_inline void container_falls(struct process *p, __u32 slot)
{
	struct contained *c = bpf_map_lookup_elem(&containers, &slot);

	if (!c || !container_fields.known)
		return;
	__u64 state = *(volatile __u64 *)&c->state;
	if (!state || memory_state(word_at(p->mm + container_fields.owner)) != state)
		return;
	__s64 usage = word_at(*(volatile __u64 *)&c->counter + container_fields.usage);
	if (*(volatile __u64 *)&c->state == state)
		raise_to(&c->seen, usage);
}

/* Writes the memory of a process's container into the record of a boundary. */
__attribute__((noinline)) int weigh_container(__u32 slot, __u32 place)
{
	struct process *p = process_at(slot);
	struct boundary *b = bpf_map_lookup_elem(&store, &place);
	struct contained *c = bpf_map_lookup_elem(&containers, &slot);
	struct levels l = {};

	if (!p || !b || !c)
		return 0;
	b->container.number = 0;
	if (!container_fields.known)
		return 0;
	__u64 task = charged_task(p, b->kind), state = task ? memory_state(task) : 0;
	if (!state)
		return 0;
	l.counter = state + container_fields.counter;
	FORGET(l.counter);
	FORGET(l.chosen);
	FORGET(l.limit);
	REPEAT(MAX_LEVELS, look_at_level, &l);
	if (!l.chosen)
		return 0;
	__s64 usage = word_at(l.chosen + container_fields.usage), seen = exchange(&c->seen, usage);
	if (c->state != state || c->counter != l.chosen) { /* no CPU may take the one with the other */
		exchange(&c->state, 0);
		exchange(&c->counter, l.chosen);
		exchange(&c->state, state);
		seen = 0;
	}
	b->container.seen = seen * page_size;
	b->container.usage = usage * page_size;
	b->container.highest = word_at(l.chosen + container_fields.watermark) * page_size;
	b->container.limit = l.limit < ~0ull / 2 / page_size ? l.limit * page_size : 0;
	state = word_at(l.chosen - container_fields.counter + container_fields.group);
	b->container.number = word_at(word_at(state + container_fields.node) + container_fields.number);
	return 0;
}

#endif
