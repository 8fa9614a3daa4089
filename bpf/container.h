/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The memory of a process's container, at the instant of a boundary: what Linux charges to its memory cgroup (struct
 * page_counter), in both versions of cgroups. Of the cgroup and those around it, the one with the least limit counts;
 * without a limit the process's own does. The root cgroup has no figures.
 *
 * No program may write the kernel's memory, so the highest value ever is read, and user space compares it with that of
 * an earlier boundary. Where it has not risen, the use is known at boundaries, and whenever the process gives memory
 * back, just before that: see container_falls(). A cgroup is freed after an RCU grace period, which no program
 * outlasts.
 *
 * Since Linux 6.12 a second highest value begins again at the present use when anybody writes to memory.peak
 * (peak_write, mm/memcontrol.c). User space does so between cells. Each write is counted before it works and after
 * that. A boundary reads the value between the two counts. If these are equal, and are the same at a later boundary,
 * nobody wrote in between, so a value that is larger there is the highest use between the two.
 */
#ifndef IPYTRACER_CONTAINER_H
#define IPYTRACER_CONTAINER_H

#define GROUP_LEVELS 16 /* cgroups within each other */

/*
 * Reads a word of the kernel. Like most functions here it is neither static nor inline, and has few branches: every
 * program that draws a boundary is verified with all of them.
 */
__attribute__((noinline)) __u64 word_of(__u64 address)
{
	return word_at(address);
}

struct levels {
	__u64 counter; /* of the next level */
	__u64 chosen;
	__u64 limit; /* of the chosen level */
};

static __always_inline long look_at_level(__u32 i, struct levels *l)
{
	__u64 above = word_of(l->counter + container_at.parent);
	__u64 limit = word_of(l->counter + container_at.max);

	if (!above)
		return 1;
	if (limit < l->limit) {
		l->chosen = l->counter;
		l->limit = limit;
	}
	l->counter = above;
	return 0;
}
REPEATED(look_at_level, struct levels *)

/* Returns the address of the counter with the least limit, of a cgroup's and those around it; 0 for the root's. */
__attribute__((noinline)) __u64 least_limit(__u64 counter)
{
	struct levels l = { .counter = counter, .limit = ~0ull };

	REPEAT(GROUP_LEVELS, look_at_level, &l);
	return l.chosen;
}

/* Returns the address of the memory cgroup of a task. */
static __always_inline __u64 memory_state(__u64 task)
{
	return word_of(word_of(task + container_at.groups) + container_at.state);
}

/*
 * Returns the address of the memory cgroup to which Linux charges a process's memory (get_mem_cgroup_from_mm,
 * mm/memcontrol.c); 0 if it is not known. At its end a process has no mm any more.
 */
static __always_inline __u64 charged_state(struct process *p, __u32 kind)
{
	__u64 current = bpf_get_current_task(), owner = word_of(p->mm + container_at.owner);
	__s64 ends = kind ^ BOUNDARY_PROCESS_EXIT, mine = (bpf_get_current_pid_tgid() >> 32) ^ p->tgid;

	asm volatile("" : "+r"(ends), "+r"(mine));
	ends = (ends - 1) >> 63; /* all bits, or none */
	mine = (mine - 1) >> 63;
	return memory_state((owner & ~ends) | (current & ends & mine));
}

/* Returns the writes to memory.peak of a cgroup, by the number of its folder, and of others with the same hash. */
static __always_inline struct resets *resets_of(__u64 number)
{
	__u32 place = (number * 0x9e3779b97f4a7c15ull) >> (64 - RESET_BITS);

	return bpf_map_lookup_elem(&resets, &place);
}

/* Returns the writes to the file of a cgroup that is the first argument of the kernel's function. */
static __always_inline struct resets *resets_of_file(void *ctx)
{
	__u64 open_file = 0;

	if (bpf_get_func_arg(ctx, 0, &open_file))
		return NULL;
	__u64 folder = word_of(word_of(open_file + container_at.file) + container_at.folder);
	return resets_of(word_of(folder + container_at.number));
}

/* memory_peak_write(file, …) */
SEC("fentry/memory_peak_write")
int reset_begins(void *ctx)
{
	struct resets *r = resets_of_file(ctx);

	if (r)
		fetch_add(&r->begun, 1);
	return 0;
}

SEC("fexit/memory_peak_write")
int reset_ends(void *ctx)
{
	struct resets *r = resets_of_file(ctx);

	if (r)
		fetch_add(&r->done, 1);
	return 0;
}

/* Writes the highest use since the last write to memory.peak into the record of a boundary. */
__attribute__((noinline)) int weigh_since_reset(__u32 place, __u64 counter)
{
	struct boundary *b = bpf_map_lookup_elem(&store, &place);
	struct resets *r = b ? resets_of(b->container.number) : NULL;

	if (!r)
		return 0;
	__u64 first = counter - container_at.counter + container_at.peaks, next = word_of(first);
	b->container.watched = (next != first) + (word_of(next) != first);
	__u64 done = fetch_add(&r->done, 0);
	b->container.local = word_of(counter + container_at.local);
	__u64 begun = fetch_add(&r->begun, 0);
	b->container.resets = done == begun ? begun + 1 : 0;
	return 0;
}

/* Writes the memory of a process's container into the record of a boundary. */
__attribute__((noinline)) int weigh_container(__u32 slot, __u32 place)
{
	struct process *p = process_at(slot);
	struct boundary *b = bpf_map_lookup_elem(&store, &place);
	struct contained *c = bpf_map_lookup_elem(&containers, &slot);

	if (!p || !b || !c)
		return 0;
	b->container.number = 0;
	if (!container_at.known)
		return 0;
	__u64 state = charged_state(p, b->kind), counter = least_limit(state + container_at.counter);
	if (!counter)
		return 0;
	__u64 group = word_of(counter - container_at.counter + container_at.group);
	__s64 usage = word_of(counter + container_at.usage);
	b->container.usage = usage;
	b->container.highest = word_of(counter + container_at.watermark);
	b->container.limit = word_of(counter + container_at.max);
	b->container.number = word_of(word_of(group + container_at.node) + container_at.number);
	b->container.resets = b->container.watched = 0;
	b->container.local = 0;
	if (resets_are_seen)
		weigh_since_reset(place, counter);
	b->container.seen = exchange(&c->seen, usage);
	if (c->state == state && c->counter == counter)
		return 0;
	b->container.seen = 0;
	exchange(&c->state, 0); /* no CPU may take the one with the other */
	exchange(&c->counter, counter);
	exchange(&c->state, state);
	return 0;
}

/*
 * Keeps the use of a process's container where the process's memory falls: Linux gives the pages back to the container
 * behind this. A container that the process has left may be freed, so it is not read.
 */
__attribute__((noinline)) int container_falls(__u32 slot)
{
	struct process *p = process_at(slot);
	struct contained *c = bpf_map_lookup_elem(&containers, &slot);

	if (!p || !c || !container_at.known)
		return 0;
	__u64 state = *(volatile __u64 *)&c->state;
	if (!state || memory_state(word_of(p->mm + container_at.owner)) != state)
		return 0;
	__s64 usage = word_of(*(volatile __u64 *)&c->counter + container_at.usage);
	if (*(volatile __u64 *)&c->state == state)
		raise_to(&c->seen, usage);
	return 0;
}

#endif
