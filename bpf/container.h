/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The memory of a process's container, at the instant of a boundary: what Linux charges to its memory cgroup (struct
 * page_counter), in both versions of cgroups. Of the cgroup and those around it, the one with the least limit counts;
 * without a limit the process's own does. The root cgroup has no figures.
 *
 * No program may write the kernel's memory, so the highest value ever is read, and user space compares it with that of
 * an earlier boundary. A cgroup is freed after an RCU grace period, which no program outlasts.
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

/* Writes the memory of a process's container into the record of a boundary. */
__attribute__((noinline)) int weigh_container(__u32 slot, __u32 place)
{
	struct process *p = process_at(slot);
	struct boundary *b = bpf_map_lookup_elem(&store, &place);
	struct levels l = {};

	if (!p || !b)
		return 0;
	b->container.number = 0;
	if (!container_fields.known)
		return 0;
	__u64 task = charged_task(p, b->kind);
	if (!task)
		return 0;
	__u64 state = word_at(word_at(task + container_fields.groups) + container_fields.state);
	l.counter = state + container_fields.counter;
	FORGET(l.counter);
	FORGET(l.chosen);
	FORGET(l.limit);
	REPEAT(MAX_LEVELS, look_at_level, &l);
	if (!state || !l.chosen)
		return 0;
	state = word_at(l.chosen - container_fields.counter + container_fields.group);
	b->container.usage = word_at(l.chosen + container_fields.usage) * page_size;
	b->container.highest = word_at(l.chosen + container_fields.watermark) * page_size;
	b->container.limit = l.limit < ~0ull / 2 / page_size ? l.limit * page_size : 0;
	b->container.number = word_at(word_at(state + container_fields.node) + container_fields.number);
	return 0;
}

#endif
