/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Boundaries: the cut between two segments, and its record. Where the store of records is full, no cut happens: the
 * segment goes on.
 */
#ifndef IPYTRACER_BOUNDARY_H
#define IPYTRACER_BOUNDARY_H

/*
 * The event of a boundary, with the unions of struct boundary; passed by pointer because a BPF function takes five
 * arguments.
 */
struct occasion {
	__u64 cell;
	__u64 outer;
	__s64 inputs;
	const void *text; /* in user memory, or NULL */
	__u32 kind;
	__u32 slot; /* of the acting process */
	union {
		__u32 outcome;
		__u32 status;
	};
	__s32 parent;
	union {
		__s32 first_line;
		__s32 late;
		__s32 told;
		__s32 named_python;
		__s32 foreign;
	};
	union {
		__u32 group;
		__u32 imports;
	};
	__u32 text_kind;
	__u32 text_size;
};

/* For tests: waits, so that the work of another CPU falls between two steps of a boundary. */
static __always_inline void linger(void)
{
	for (__u32 i = 0; i < lingering; i++)
		bpf_ktime_get_ns();
}

/* Moves a process's maxima of the segment that ends into a record, and starts the next from the value now. */
__attribute__((noinline)) int cut(__u32 slot, __u32 place)
{
	struct process *p = process_at(slot);
	struct boundary *b = bpf_map_lookup_elem(&store, &place);

	if (!p || !b)
		return 0;
	b->since = *(volatile __u64 *)&p->segment;
	if (counting)
		__builtin_memcpy(b->counted, p->counted, sizeof(b->counted));
	for (int m = 0; m < METERS; m++) {
		take_high(&p->value[m], &p->high[m], &b->value[m], &b->high[m]);
		p->told[m] = b->value[m];
	}
	linger();
	if (p->segment <= b->segment)
		*(volatile __u64 *)&p->segment = b->segment + 1;
	return 0;
}

/* Bytes of the fields that say how much a tree's figures may miss. A boundary gets them from its root. */
#define DOUBTS(type) (__builtin_offsetof(type, untraced_now) + sizeof(__u64) - __builtin_offsetof(type, unknown))
_Static_assert(DOUBTS(struct root) == DOUBTS(struct boundary), "the same fields in the same order");

/* Does the same for a tree. A tree that has always been one process has that process's figures. */
__attribute__((noinline)) int cut_tree(__u32 root, __u32 place)
{
	struct root *r = bpf_map_lookup_elem(&roots, &root);
	struct boundary *b = bpf_map_lookup_elem(&store, &place);

	if (!r || !b)
		return 0;
	bpf_probe_read_kernel(b->unknown, DOUBTS(struct root), r->unknown); /* in one call: the verifier counts loads */
	if (!r->shared) {
		bpf_probe_read_kernel(b->tree, sizeof(b->value) + sizeof(b->high),
				      b->value); /* and tree_high from high */
		return 0;
	}
	for (int m = 0; m < METERS; m++) {
		__s64 now = *(volatile __s64 *)&r->tree[m], high = exchange(&r->tree_high[m], now);
		b->tree[m] = now;
		b->tree_high[m] = high > now ? high : now;
	}
	return 0;
}

/* Counts a boundary's unreadable text: an experiment or a cell without a name, a statement without a line. */
static __always_inline void unread(struct root *r, __u32 kind)
{
	if (kind == BOUNDARY_PROCESS_EXEC) /* its arguments: /proc has them, too */
		return;
	lose(LOSS_READ);
	if (kind == BOUNDARY_EXPERIMENT_BEGIN || kind == BOUNDARY_EXPERIMENT_END)
		fetch_add(&r->refused[REFUSED_MARKER], 1);
}

struct others {
	__u64 number;
	__u64 segment;
	__u32 root;
	__u32 acting;
};

static __always_inline long other_process(__u32 slot, struct others *o)
{
	struct process *p = process_at(slot);

	if (!p || !p->active || p->root != o->root || slot == o->acting)
		return 0;
	settle(slot);
	__u64 moved = 0; /* without branches, for the verifier's sake */
	fetch_add(&p->cutting, 1);
	for (int m = 0; m < METERS; m++)
		moved |= (p->high[m] ^ p->told[m]) | (p->value[m] ^ p->told[m]);
	if (p->devices && cut_devices(slot, o->number))
		moved = 1;
	if (!moved) {
		if (p->segment <= o->segment)
			*(volatile __u64 *)&p->segment = o->segment + 1;
		fetch_add(&p->cutting, -1);
		return 0;
	}
	__u64 ticket;
	struct boundary *b = new_record(&ticket, STORE_RESERVE / 2);
	if (!b) {
		fetch_add(&p->cutting, -1);
		refuse_reading(p);
		return 0;
	}
	b->ticket = 0;
	b->kind = RECORD_READING;
	b->number = o->number;
	b->segment = o->segment;
	b->root = o->root;
	b->pid = p->pid;
	b->text_size = 0;
	cut(slot, ticket & (MAX_STORED - 1));
	fetch_add(&p->cutting, -1);
	send_record(b, ticket);
	return 0;
}
REPEATED_SLOTS(other_process, struct others *)

/* Adds to the tree's sum the move of a process if its thread lost its CPU before its tree followed. */
static __always_inline long add_process(__u32 slot, __u32 *root)
{
	struct process *p = process_at(slot);

	if (!p || !p->active || p->root != *root)
		return 0;
	for (__u32 m = 0; m < METERS; m++)
		tree_follows(p, m);
	return 0;
}
REPEATED_SLOTS(add_process, __u32 *)

/* Reports whether the store has room for a kind of boundary. A function of its own, for draw_boundary's stack. */
static __noinline bool has_room_for(struct root *r, __u32 kind)
{
	if (store_has_room(reserve_for(kind)))
		return true;
	if (r)
		refuse(r, refused_as(kind));
	return false;
}

/*
 * Draws one boundary. Returns its number, or 0 if there was no room for it: then the segment goes on. Not inlined:
 * verified once, called from many programs.
 */
__attribute__((noinline)) __u64 draw_boundary(struct occasion *why)
{
	if (!why)
		return 0;
	__u32 slot = why->slot;
	struct process *p = process_at(slot);
	if (!p || !p->active)
		return 0;
	struct root *r = root_of(p);
	if (!r)
		return 0;
	if (!has_room_for(r, why->kind))
		return 0;
	__u64 ticket, number = fetch_add(&next_number, 1);
	fetch_add(&p->cutting, 1);
	if (r->devices)
		cut_devices(slot, number); /* in front: a reader of the boundary has them all */
	struct boundary *b = new_record(&ticket, STORE_RESERVE / 2);
	if (!b) {
		fetch_add(&p->cutting, -1);
		refuse(r, REFUSED_BOUNDARY);
		return 0;
	}
	b->ticket = 0;
	b->number = number;
	struct others o = { .number = number, .root = p->root, .acting = slot };
	/* Only the acting process's mm is sure to be alive; the others' values are those of their last event. */
	if (p->mm && why->kind != BOUNDARY_PROCESS_EXIT)
		refresh(slot);
	read_all_counts(slot);
	settle(slot);
	if (r->shared)
		REPEAT_SLOTS(add_process, &o.root);
	b->kind = why->kind;
	b->cell = why->cell;
	b->outer = why->outer;
	b->inputs = why->inputs;
	b->cpu_time = p->cpu_time;
	b->outcome = why->outcome;
	b->parent = why->parent;
	b->first_line = why->first_line;
	b->group = why->group;
	b->root = p->root;
	b->pid = p->pid;
	b->tid = (__u32)bpf_get_current_pid_tgid();
	b->time = bpf_ktime_get_ns();
	b->segment = fetch_add(&r->segment, 1);
	o.segment = b->segment;
	b->stream = r->stream;
	cut(slot, ticket & (MAX_STORED - 1));
	fetch_add(&p->cutting, -1);
	cut_tree(p->root, ticket & (MAX_STORED - 1));
	weigh_container(slot, ticket & (MAX_STORED - 1));
	if (why->kind != BOUNDARY_PROCESS_EXIT)
		read_swapped(slot, false);
	b->swapped = p->swapped * page_size;
	b->text_kind = why->text_kind;
	b->text_size = 0;
	__u32 size = why->text_size;
	if (why->text && size) {
		if (size > TEXT_SIZE)
			size = TEXT_SIZE;
		if (why->kind == BOUNDARY_CELL_RESULT ||
		    why->kind == BOUNDARY_CELL_CLOSE) { /* if not, sys.last_value has it */
			long n = bpf_probe_read_user_str(b->text, ERROR_NAME, why->text);
			b->text_size = n > 0 ? n - 1 : 0;
		} else if (!bpf_probe_read_user(b->text, size, why->text)) {
			b->text_size = size;
		} else {
			unread(r, why->kind);
		}
	}
	bool shared = r->shared;
	if (shared)
		fetch_add(&shared_begun, 1); /* before it can be read */
	send_record(b, ticket);
	linger();
	if (shared) {
		REPEAT_SLOTS(other_process, &o);
		fetch_add(&shared_told, 1);
	}
	return b->number;
}

#endif
