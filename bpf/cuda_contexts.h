/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Contexts of the CUDA driver: created, destroyed, current on a thread. */
#ifndef IPYTRACER_CUDA_CONTEXTS_H
#define IPYTRACER_CUDA_CONTEXTS_H

/* ---- contexts --------------------------------------------------------------------------------------------------- */

struct context_end {
	__u64 context;
	__u32 slot;
	__u32 padding;
};

static long context_ends(void *map, struct cuda_key *key, struct cuda_object *o, struct context_end *e)
{
	if (key->slot != e->slot || o->owner != e->context || key->kind == CUDA_MAPPING || key->kind == CUDA_CONTEXT)
		return 0;
	memory_moves(e->slot, o->device, -o->size, key->address, o->batch);
	bpf_map_delete_elem(map, key);
	return 0;
}

/* Frees all memory of a context that is destroyed or reset. */
__attribute__((noinline)) int context_gone(__u32 slot, __u64 context)
{
	struct context_end e = { .context = context, .slot = slot };

	if (context)
		bpf_for_each_map_elem(&cuda_objects, context_ends, &e, 0);
	return 0;
}

static __noinline int context_made(__u32 slot, __u64 context, __u32 ordinal, __u32 primary)
{
	struct cuda_key key = key_of(slot, CUDA_CONTEXT, context);
	struct cuda_object *known = bpf_map_lookup_elem(&cuda_objects, &key);

	if (known) {
		known->references++;
		return 0;
	}
	struct cuda_object c = { .device = physical_device(slot, ordinal), .references = 1, .owner = primary };
	struct cuda_devices *d = bpf_map_lookup_elem(&ordinals, &slot);
	if (d && !d->retained)
		d->retained = c.device + 1;
	else if (d && d->retained != c.device + 1)
		d->several = 1;
	if (context && bpf_map_update_elem(&cuda_objects, &key, &c, BPF_ANY))
		lose(LOSS_OBJECT); /* it counts as unseen: the device of its memory is a guess */
	return 0;
}

struct primary_search {
	__u64 context;
	__u32 slot, device;
};

static long primary_of(void *map, struct cuda_key *key, struct cuda_object *o, struct primary_search *s)
{
	if (key->slot != s->slot || key->kind != CUDA_CONTEXT || o->device != s->device || !o->owner)
		return 0;
	s->context = key->address;
	return 1;
}

/* Handles the primary context of a device that was released once, or reset. */
__attribute__((noinline)) int primary_gone(__u32 slot, __u32 ordinal, __u32 reset)
{
	struct primary_search s = { .slot = slot, .device = physical_device(slot, ordinal) };

	bpf_for_each_map_elem(&cuda_objects, primary_of, &s, 0);
	struct cuda_object *c = s.context ? object_at(slot, CUDA_CONTEXT, s.context) : NULL;
	if (!c)
		return 0;
	if (!reset && c->references)
		c->references--;
	if (reset || !c->references)
		context_gone(slot, s.context);
	return 0;
}

static __always_inline void push_context(__u32 slot, __u64 context, bool replace)
{
	struct cuda_thread *t = cuda_thread(true);

	if (!t) {
		misses(slot, MISSING_DEVICE, MISSING_UNKNOWN);
		return;
	}
	__u32 at = replace && t->depth ? t->depth - 1 : t->depth;
	if (at >= CONTEXT_STACK) { /* the context that is current after pops is not known */
		guessed(slot, MISSING_UNKNOWN);
		return;
	}
	t->contexts[AT_MOST(at, CONTEXT_STACK - 1)] = context;
	t->depth = at + 1;
}

static __always_inline void pop_context(void)
{
	struct cuda_thread *t = cuda_thread(false);

	if (t && t->depth)
		t->depth--;
}

#endif
