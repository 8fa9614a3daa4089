/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * gpu.N.driver and cpu.pinned, from the exported functions of libcuda.so.1. Whatever a framework uses, static or
 * shared runtime, arrives there (seen with driver 580 and PyTorch, CuPy, JAX). What a call does is in its probes'
 * cookie.
 *
 * A call counts when it returns with CUDA_SUCCESS, by the bytes that it was asked for. Of nested calls the outermost
 * counts. A call whose return was missed is recognised by the stack pointer: the stack has come back up.
 *
 * What a free takes away leaves the table at its entry, when nobody can have been given the address again, and the
 * meter at its return; if the call fails it is put back.
 *
 * The driver is C and throws nothing, so return probes are safe here; on C++ they are not.
 */
#ifndef IPYTRACER_CUDA_H
#define IPYTRACER_CUDA_H

#define CUDA_ERROR_OUT_OF_MEMORY 2

static __always_inline struct cuda_key key_of(__u32 slot, __u32 kind, __u64 address)
{
	struct cuda_key key = { .address = address, .slot = slot, .kind = kind };
	return key;
}

static __always_inline struct cuda_object *object_at(__u32 slot, __u32 kind, __u64 address)
{
	struct cuda_key key = key_of(slot, kind, address);
	return bpf_map_lookup_elem(&cuda_objects, &key);
}

/* ---- meters ----------------------------------------------------------------------------------------------------- */

static __noinline int pinned_moves(__u32 slot, __s64 difference, __u64 address, __u64 stack)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (!r)
		return 0;
	__u32 calling = caller();
	__u64 segment = *(volatile __u64 *)&p->segment, number = next_change(r);
	__s64 value = move(p, r, METER_PINNED, difference);
	send_change(p, r, number, segment, METER_PINNED | calling, value, difference, address, stack);
	return 0;
}

/* Memory of a device, or page-locked memory of the host, comes or goes. about: the stack it comes from; the batch it
 * was of. */
__attribute__((noinline)) int memory_moves(__u32 slot, __u32 device, __s64 difference, __u64 address, __u64 about)
{
	__u64 stack = difference > 0 ? about : 0;
	__u32 batch = about;

	if (device == HOST_DEVICE)
		return pinned_moves(slot, difference, address, stack);
	struct device_move driver = {
		.slot = slot,
		.number = device,
		.meter = DEVICE_DRIVER,
		.amount = difference,
		.size = difference,
		.address = address,
		.stack = stack,
	};
	device_moves(&driver);
	if (difference >= 0 || !batch || !bpf_map_lookup_elem(&torch_batches, &batch))
		return 0;
	driver.meter = DEVICE_RESERVED;
	driver.flags = 0;
	driver.stack = 0;
	device_moves(&driver);
	return 0;
}

/* A free of memory whose making was not seen, or memory on a device that is not known. */
static __always_inline void unknown_free(__u32 slot)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (r)
		fetch_add(&r->unknown_device, 1);
}

/* ---- devices ---------------------------------------------------------------------------------------------------- */

static __always_inline __u64 current_context(struct cuda_thread *t)
{
	__u32 top = t ? t->depth - 1 : CONTEXT_STACK;
	return top < CONTEXT_STACK ? t->contexts[AT_MOST(top, CONTEXT_STACK - 1)] : 0;
}

/* Beside a device: it is a guess. */
#define GUESSED (1u << 31)

/*
 * The device of the thread's current context. A runtime that is linked statically makes contexts current by a way that
 * is not exported: then it is the primary context that the thread asked for last, or the only device in use. That is
 * certain while the process has no other: where it has, or may have, and for a context that was never seen to be made,
 * it is a guess; and where there is nothing to go by, so is the first device.
 */
static __always_inline __u32 current_device(__u32 slot, __u64 *context)
{
	struct cuda_thread *t = cuda_thread(false);
	struct cuda_devices *d = bpf_map_lookup_elem(&ordinals, &slot);
	__u64 current = current_context(t);
	bool several = !d || d->several || d->late;

	*context = current || !t ? current : t->retained;
	struct cuda_object *c = *context ? object_at(slot, CUDA_CONTEXT, *context) : NULL;
	if (c && current)
		return c->device;
	if (d && d->only)
		return d->only - 1;
	if (c)
		return c->device | (several ? GUESSED : 0);
	if (d && d->retained && !several && !current)
		return (d->retained - 1) & (MAX_DEVICES - 1);
	if (t && t->reported)
		return ((t->reported - 1) & (MAX_DEVICES - 1)) | GUESSED;
	if (d && d->retained)
		return ((d->retained - 1) & (MAX_DEVICES - 1)) | GUESSED;
	return physical_device(slot, 0) | GUESSED;
}

/* So many bytes are on a device, or are asked for there, that was guessed: any other's may be. */
static __noinline int guessed(__u32 slot, __s64 size)
{
	lose(LOSS_DEVICE);
	misses(slot, MISSING_DEVICE, size);
	return 0;
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* Something found no room, or could not be read: meters may be off from now on by so many bytes. */
static __noinline int unkept(__u32 slot, __s64 size)
{
	lose(LOSS_OBJECT);
	misses(slot, MISSING_CUDA, size);
	return 0;
}

/* A block was made: enters the table and its meter. */
__attribute__((noinline)) int block_made(struct call *c, __u32 slot, __u32 kind, __u64 address, __s64 size)
{
	if (!c || !address || size <= 0)
		return 0;
	struct cuda_object o = { .size = size, .owner = c->owner, .device = c->device, .references = 1 };
	struct cuda_key key = key_of(slot, kind, address);
	struct cuda_object *before = bpf_map_lookup_elem(&cuda_objects, &key);

	if (before) /* its free was missed */
		memory_moves(slot, before->device, -before->size, address, before->batch);
	if (c->device != HOST_DEVICE && (kind == CUDA_POINTER || kind == CUDA_HANDLE)) {
		struct cuda_thread *t = cuda_thread(true);
		if (t) {
			o.batch = t->batch;
			t->pending += size;
			t->last = key;
			t->last_size = size;
		}
	}
	if (bpf_map_update_elem(&cuda_objects, &key, &o, BPF_ANY)) {
		unkept(slot, size); /* from here on the meter is short of it */
		unknown_free(slot);
		return 0;
	}
	memory_moves(slot, c->device, size, address, c->stack);
	return 0;
}

/* At the entry of a free: takes the block out and remembers it in the call. */
__attribute__((noinline)) int block_taken(struct call *c, __u32 slot, __u32 kind, __u64 address)
{
	if (!c)
		return 0;
	struct cuda_key key = key_of(slot, kind, address);
	struct cuda_object *o = bpf_map_lookup_elem(&cuda_objects, &key);
	if (!o)
		return 0;
	c->size = o->size;
	c->owner = o->owner;
	c->device = o->device;
	c->batch = o->batch;
	c->known = 1;
	bpf_map_delete_elem(&cuda_objects, &key);
	return 0;
}

/* Memory that was in the table is free. */
__attribute__((noinline)) int block_gone(__u32 slot, __u32 device, __s64 size, __u64 address, __u32 batch)
{
	struct cuda_thread *t = cuda_thread(false);

	if (t && batch && t->batch == batch)
		t->pending -= size;
	memory_moves(slot, device, -size, address, batch);
	return 0;
}

/* A free has succeeded; of NULL it does nothing. */
static __always_inline void freed(struct call *c, __u32 slot)
{
	if (c->known)
		block_gone(slot, c->device, c->size, c->argument[0], c->batch);
	else if (c->argument[0])
		unknown_free(slot);
}

__attribute__((noinline)) int block_put_back(struct call *c, __u32 slot, __u32 kind, __u64 address)
{
	if (!c || !c->known)
		return 0;
	struct cuda_object o = {
		.size = c->size, .owner = c->owner, .device = c->device, .batch = c->batch, .references = 1
	};
	struct cuda_key key = key_of(slot, kind, address);
	if (bpf_map_update_elem(&cuda_objects, &key, &o, BPF_NOEXIST))
		unkept(slot, c->size);
	return 0;
}

/* ---- virtual memory management ---------------------------------------------------------------------------------- */

/* CUmemAllocationProp begins with type, requestedHandleTypes, location {type, id} (cuda.h, CUDA 10.2 to 13). */
struct allocation_properties {
	__u32 type, handle_types, location_type, location_id;
};

/* CUmemPoolProps begins with allocType, handleTypes, location {type, id} (CUDA 11.2 to 13). */
#define LOCATION_DEVICE 1

static __always_inline __u32 located(__u32 slot, __u64 properties)
{
	struct allocation_properties at = {};

	if (READ(at, properties)) {
		lose(LOSS_READ);
		return physical_device(slot, 0) | GUESSED;
	}
	return at.location_type == LOCATION_DEVICE ? physical_device(slot, at.location_id) : HOST_DEVICE;
}

/* Memory that another process made counts there. It is told that it is open here. */
static __noinline int foreign_moves(__u32 slot, __u32 number, __s64 difference, __u64 address)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;
	struct device *d = device_at(slot, number);

	if (!r || !d)
		return 0;
	uses_device(p, r, number);
	__u64 segment = *(volatile __u64 *)&p->segment, stream = next_change(r);
	__s64 open = fetch_add(&d->foreign, difference) + difference;
	send_change(p, r, stream, segment, device_meter(number, DEVICE_DRIVER) | CHANGE_FOREIGN, open, difference,
		    address, 0);
	return 0;
}

/* Memory behind a handle is free when it is neither referenced nor mapped. */
__attribute__((noinline)) int handle_looked_at(__u32 slot, __u64 handle)
{
	struct cuda_key key = key_of(slot, CUDA_HANDLE, handle);
	struct cuda_object *o = bpf_map_lookup_elem(&cuda_objects, &key);

	if (!o || o->references || o->mappings)
		return 0;
	__s64 size = o->size;
	__u32 device = o->device, batch = o->batch;
	bpf_map_delete_elem(&cuda_objects, &key);
	if (size)
		block_gone(slot, device, size, handle, batch);
	else
		foreign_moves(slot, device, -1, handle);
	return 0;
}

static __always_inline void released(__u32 slot, __u64 handle)
{
	struct cuda_object *o = object_at(slot, CUDA_HANDLE, handle);

	if (!o) {
		unknown_free(slot);
		return;
	}
	if (o->references)
		o->references--;
	handle_looked_at(slot, handle);
}

static __always_inline void mapped_in(__u32 slot, struct call *c)
{
	struct cuda_key key = key_of(slot, CUDA_MAPPING, c->argument[0]);
	struct cuda_object mapping = { .size = c->argument[1], .owner = c->argument[3] };
	struct cuda_object *o = object_at(slot, CUDA_HANDLE, c->argument[3]);

	if (o)
		o->mappings++;
	if (bpf_map_update_elem(&cuda_objects, &key, &mapping, BPF_ANY))
		unkept(slot, mapping.size);
}

struct unmapping {
	__u64 at, end;
	__u32 slot, padding;
};

static __always_inline long unmap_next(__u32 i, struct unmapping *u)
{
	struct cuda_key key = key_of(u->slot, CUDA_MAPPING, u->at);
	struct cuda_object *mapping = u->at < u->end ? bpf_map_lookup_elem(&cuda_objects, &key) : NULL;

	if (!mapping || mapping->size <= 0)
		return 1;
	__u64 handle = mapping->owner;
	u->at += mapping->size;
	bpf_map_delete_elem(&cuda_objects, &key);
	struct cuda_object *o = object_at(u->slot, CUDA_HANDLE, handle);
	if (o && o->mappings)
		o->mappings--;
	handle_looked_at(u->slot, handle);
	return 0;
}
REPEATED(unmap_next, struct unmapping *)

/* One call may take several neighbouring mappings away. */
static __always_inline void unmapped(__u32 slot, __u64 from, __u64 size)
{
	struct unmapping u = { .at = from, .end = from + size, .slot = slot };

	REPEAT(1 << 16, unmap_next, &u);
	if (u.at < u.end) /* a mapping that was there before the attach */
		unknown_free(slot);
}

/* cuMemRetainAllocationHandle: one more reference, by an address within a mapping that begins there. */
static __noinline int opened(__u32 slot, __u32 kind, __u64 address)
{
	__u64 context = 0;
	struct cuda_key key = key_of(slot, kind, address);
	struct cuda_object *known = bpf_map_lookup_elem(&cuda_objects, &key);
	struct cuda_object o = { .references = 1, .device = current_device(slot, &context) & ~GUESSED };

	if (known)
		known->references++;
	else if (bpf_map_update_elem(&cuda_objects, &key, &o, BPF_ANY))
		lose(LOSS_OBJECT);
	foreign_moves(slot, o.device, 1, address);
	return 0;
}

static __always_inline void closed(__u32 slot, __u64 address)
{
	struct cuda_key key = key_of(slot, CUDA_FOREIGN, address);
	struct cuda_object *o = bpf_map_lookup_elem(&cuda_objects, &key);

	if (!o) /* opened before the attach */
		return;
	__u32 device = o->device;
	if (o->references)
		o->references--;
	if (!o->references)
		bpf_map_delete_elem(&cuda_objects, &key);
	foreign_moves(slot, device, -1, address);
}

static __always_inline void retained(__u32 slot, __u64 handle)
{
	struct cuda_object *o = object_at(slot, CUDA_HANDLE, handle);

	if (o)
		o->references++;
}

/* ---- arrays ----------------------------------------------------------------------------------------------------- */

/* CUDA_ARRAY_DESCRIPTOR_v2 and CUDA_ARRAY3D_DESCRIPTOR_v2 (cuda.h). */
struct array_2d {
	__u64 width, height;
	__u32 format, channels;
};

struct array_3d {
	__u64 width, height, depth;
	__u32 format, channels, flags, padding;
};

/* CUarray_format; 0 for the compressed and planar ones. */
static __always_inline __u32 format_bytes(__u32 format)
{
	switch (format) {
	case 0x01: /* UNSIGNED_INT8 */
	case 0x08: /* SIGNED_INT8 */
		return 1;
	case 0x02: /* UNSIGNED_INT16 */
	case 0x09: /* SIGNED_INT16 */
	case 0x10: /* HALF */
		return 2;
	case 0x03: /* UNSIGNED_INT32 */
	case 0x0a: /* SIGNED_INT32 */
	case 0x20: /* FLOAT */
		return 4;
	}
	return 0;
}

#define ARRAY_LAYERED 1 /* CUDA_ARRAY3D_LAYERED: depth counts layers, which do not shrink from level to level */
#define ARRAY_CUBEMAP 4
#define MAX_LEVELS    32

struct array_3d_narrow {
	__u32 width, height, depth, format, channels, flags;
};

static __always_inline bool read_descriptor(struct array_3d *a, __u64 descriptor, bool flat, bool narrow)
{
	if (narrow) { /* the flat one is the same without the depth */
		struct array_3d_narrow n = {};
		if (bpf_probe_read_user(&n, flat ? 16 : sizeof(n), (void *)descriptor))
			return false;
		a->width = n.width;
		a->height = n.height;
		a->depth = flat ? 0 : n.depth;
		a->format = flat ? n.depth : n.format;
		a->channels = flat ? n.format : n.channels;
		a->flags = flat ? 0 : n.flags;
		return true;
	}
	if (!flat)
		return !bpf_probe_read_user(a, sizeof(*a), (void *)descriptor);
	struct array_2d two = {};
	if (READ(two, descriptor))
		return false;
	a->width = two.width;
	a->height = two.height;
	a->format = two.format;
	a->channels = two.channels;
	return true;
}

/* A function of its own: verified once, for any array. */
__attribute__((noinline)) __u64 levels_bytes(struct array_3d *a, __u64 element, __u32 levels)
{
	__u64 total = 0;

	if (!a)
		return 0;
	/* Without branches: the verifier would follow each of them at every level. */
	bool shrinks = !(a->flags & (ARRAY_LAYERED | ARRAY_CUBEMAP));
	for (__u32 level = 0; level < MAX_LEVELS && level < levels; level++) {
		__u64 width = a->width >> level, height = a->height >> level, depth = a->depth >> level * shrinks;
		bool there = !level |
			     !!(width | height | depth * shrinks); /* more than there are: as many as there are */
		total += (width + !width) * (height + !height) * (depth + !depth) * element * there;
	}
	return total;
}

__attribute__((noinline)) __s64 array_bytes(__u64 descriptor, __u32 dimensions, __u32 levels, __u32 narrow)
{
	struct array_3d a = {};

	if (!read_descriptor(&a, descriptor, dimensions == 2, narrow)) {
		lose(LOSS_READ);
		return 0;
	}
	__u64 element = format_bytes(a.format) * (__u64)a.channels;
	if (!element) {
		lose(LOSS_FORMAT);
		return 0;
	}
	return levels_bytes(&a, element, levels);
}

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

/* A context is destroyed or reset: what was allocated in it is free. */
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
		lose(LOSS_OBJECT); /* it is one that was never seen: what is on it is a guess */
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

/* The primary context of a device was released once, or reset. */
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
	if (at >= CONTEXT_STACK) { /* what is current once others are popped is not known */
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

/* ---- calls ------------------------------------------------------------------------------------------------------ */

static __always_inline __u32 kind_freed(__u32 operation)
{
	return operation == CUDA_HOST_FREE ? CUDA_HOST : operation == CUDA_ARRAY_DESTROY ? CUDA_IS_ARRAY : CUDA_POINTER;
}

static __always_inline bool frees(__u32 operation)
{
	return operation == CUDA_FREE || operation == CUDA_HOST_FREE || operation == CUDA_ARRAY_DESTROY;
}

static __always_inline bool makes(__u32 operation)
{
	return (operation >= CUDA_ALLOC && operation <= CUDA_ALLOC_ASYNC) || operation == CUDA_HOST_ALLOC ||
	       operation == CUDA_HOST_REGISTER || operation == CUDA_CREATE ||
	       (operation >= CUDA_ARRAY && operation <= CUDA_MIPMAP);
}

/* The thread's call, which is kept for the next one: sp is 0 while none is under way. */
static __always_inline struct call *call_of(__u32 tid, __u32 slot)
{
	struct call *c = bpf_map_lookup_elem(&calls, &tid);
	if (c)
		return c;
	static const struct call none;
	bpf_map_update_elem(&calls, &tid, &none, BPF_NOEXIST);
	c = bpf_map_lookup_elem(&calls, &tid);
	if (!c)
		unkept(slot, MISSING_UNKNOWN);
	return c;
}

static __always_inline __u64 argument(struct call *c, __u32 number)
{
	return number == 2 ? c->argument[2] : number == 3 ? c->argument[3] : c->argument[4];
}

SEC("uprobe")
int cuda_enter(struct pt_regs *regs)
{
	__u32 slot = current_slot(), tid = (__u32)bpf_get_current_pid_tgid();
	__u64 cookie = bpf_get_attach_cookie(regs);

	struct process *p = slot == NO_SLOT ? NULL : process_at(slot);

	if (!p || !spend(GROUP_DRIVER, slot))
		return 0;
	p->cuda = 1;
	struct call *c = call_of(tid, slot);
	if (!c || (c->sp && regs->sp < c->sp))
		return 0;
	c->sp = regs->sp;
	c->argument[0] = regs->di;
	c->argument[1] = regs->si;
	c->argument[2] = regs->dx;
	c->argument[3] = regs->cx;
	c->argument[4] = regs->r8;
	c->operation = cookie & 0xff;
	c->narrow = cookie >> 16 & 1;
	c->known = 0;
	c->stack = makes(c->operation) ? stack_here(regs, slot) : 0;
	if (c->narrow && c->operation == CUDA_FREE)
		c->argument[0] = (__u32)c->argument[0];
	if (c->operation == CUDA_CTX_CREATE)
		c->device = argument(c, cookie >> 8 & 0xff);
	if (frees(c->operation))
		block_taken(c, slot, kind_freed(c->operation), c->argument[0]);
	return 0;
}

static __always_inline __u64 user_word(__u64 address)
{
	__u64 word = 0;

	if (READ(word, address))
		lose(LOSS_READ);
	return word;
}

/* A number that a first version of a function takes or gives. */
static __always_inline __u64 wide(struct call *c, __u64 number)
{
	return c->narrow ? (__u32)number : number;
}

/* The device of a pool; otherwise, as the current one is known, where the pool is not. */
static __noinline __u32 device_of_pool(__u32 slot, __u64 address, __u32 otherwise)
{
	struct cuda_object *pool = object_at(slot, CUDA_POOL, address);
	struct cuda_devices *d = bpf_map_lookup_elem(&ordinals, &slot);

	if (pool)
		return pool->device;
	return otherwise | (d && (d->only || (!d->several && !d->late)) ? 0 : GUESSED);
}

/* A call that makes memory has returned. */
__attribute__((noinline)) int made(struct call *c, __u32 slot, __u32 failed)
{
	if (!c || (failed && failed != CUDA_ERROR_OUT_OF_MEMORY))
		return 0;
	__u64 size = c->argument[1], address = 0, context = 0;
	__u32 kind = CUDA_POINTER, device = HOST_DEVICE;

	switch (c->operation) {
	case CUDA_ALLOC:
		size = wide(c, size);
		break;
	case CUDA_ALLOC_PITCH:
		size = wide(c, failed ? c->argument[2] : user_word(c->argument[1])) * wide(c, c->argument[3]);
		break;
	case CUDA_HOST_ALLOC:
	case CUDA_HOST_REGISTER:
		kind = CUDA_HOST;
		break;
	case CUDA_CREATE:
		kind = CUDA_HANDLE;
		break;
	case CUDA_ARRAY:
	case CUDA_ARRAY_3D:
	case CUDA_MIPMAP:
		kind = CUDA_IS_ARRAY;
		size = array_bytes(c->argument[1], c->operation == CUDA_ARRAY ? 2 : 3,
				   c->operation == CUDA_MIPMAP ? (__u32)c->argument[2] : 1, c->narrow);
		break;
	}
	if (kind == CUDA_HANDLE)
		device = located(slot, c->argument[2]);
	else if (kind != CUDA_HOST)
		device = current_device(slot, &context);
	else
		context = current_context(cuda_thread(false)); /* page locks go with it as well */
	if (c->operation == CUDA_ALLOC_POOL || c->operation == CUDA_ALLOC_ASYNC)
		context = 0;
	if (c->operation == CUDA_ALLOC_POOL)
		device = device_of_pool(slot, c->argument[2], device);
	if (device & GUESSED)
		guessed(slot, failed ? 0 : size);
	device &= ~GUESSED;
	if (failed) {
		struct process *p = process_at(slot);
		struct device *d = device == HOST_DEVICE ? NULL : device_at(slot, device);
		__s64 held = d ? d->value[DEVICE_DRIVER] : p ? p->value[METER_PINNED] : 0;
		refused(slot, (device == HOST_DEVICE ? METER_PINNED : device_meter(device, DEVICE_DRIVER)) | caller(),
			held, size, failed, c->stack);
		return 0;
	}
	address = c->operation == CUDA_HOST_REGISTER ? c->argument[0] : user_word(c->argument[0]);
	if (c->narrow && kind == CUDA_POINTER)
		address = (__u32)address;
	c->owner = context;
	c->device = device;
	if (!address || !size) /* they could not be read */
		misses(slot, MISSING_CUDA, size ? size : MISSING_UNKNOWN);
	block_made(c, slot, kind, address, size);
	return 0;
}

static __noinline int pool_made(struct call *c, __u32 slot)
{
	if (!c)
		return 0;
	struct cuda_key key = key_of(slot, CUDA_POOL, user_word(c->argument[0]));
	struct cuda_object pool = { .references = 1 };

	pool.device = c->operation == CUDA_POOL_DEFAULT ? physical_device(slot, c->argument[1])
							: located(slot, c->argument[1]);
	if (bpf_map_update_elem(&cuda_objects, &key, &pool, BPF_ANY))
		lose(LOSS_OBJECT); /* what is made of it is a guess then */
	return 0;
}

/* A call has come back. */
static __always_inline int returned(struct call *c, __u32 slot, __u32 failed)
{
	__u64 first = c->argument[0];

	if (frees(c->operation)) {
		if (failed)
			block_put_back(c, slot, kind_freed(c->operation), first);
		else
			freed(c, slot);
		return 0;
	}
	if (makes(c->operation))
		return made(c, slot, failed);
	if (failed)
		return 0;
	switch (c->operation) {
	case CUDA_RELEASE:
		released(slot, first);
		break;
	case CUDA_MAP:
		mapped_in(slot, c);
		break;
	case CUDA_UNMAP:
		unmapped(slot, first, c->argument[1]);
		break;
	case CUDA_IMPORT:
		opened(slot, CUDA_HANDLE, user_word(first));
		break;
	case CUDA_IPC_OPEN:
		opened(slot, CUDA_FOREIGN, user_word(first));
		break;
	case CUDA_IPC_CLOSE:
		closed(slot, first);
		break;
	case CUDA_RETAIN:
		retained(slot, user_word(first));
		break;
	case CUDA_POOL_CREATE:
	case CUDA_POOL_DEFAULT:
		pool_made(c, slot);
		break;
	case CUDA_CTX_CREATE: {
		__u64 context = user_word(first);
		context_made(slot, context, c->device, false);
		push_context(slot, context, false);
		break;
	}
	case CUDA_CTX_DESTROY: {
		struct cuda_key key = key_of(slot, CUDA_CONTEXT, first);
		context_gone(slot, first);
		bpf_map_delete_elem(&cuda_objects, &key);
		struct cuda_thread *t = cuda_thread(false);
		if (t && current_context(t) == first)
			t->depth--;
		break;
	}
	case CUDA_CTX_SET:
		push_context(slot, first, true);
		break;
	case CUDA_CTX_PUSH:
		push_context(slot, first, false);
		break;
	case CUDA_CTX_POP:
		pop_context();
		break;
	case CUDA_PRIMARY_RETAIN: {
		__u64 context = user_word(first);
		struct cuda_thread *t = cuda_thread(true);
		context_made(slot, context, c->argument[1], true);
		if (t)
			t->retained = context;
		break;
	}
	case CUDA_PRIMARY_RELEASE:
	case CUDA_PRIMARY_RESET:
		primary_gone(slot, first, c->operation == CUDA_PRIMARY_RESET);
		break;
	}
	return 0;
}

/* Is the driver's call in one of the runtime's? */
static __noinline int entered_by_runtime(__u64 sp)
{
	struct cuda_thread *t = cuda_thread(false);

	if (t && t->runtime)
		t->calling = sp < t->runtime_sp ? t->runtime : 0;
	return 0;
}

/* Then that one is named. A failed call may be repeated in it; anything else is done, or the stack has come back up. */
static __noinline int left_by_runtime(__u32 failed)
{
	struct cuda_thread *t = cuda_thread(false);

	if (!t || !t->runtime)
		return 0;
	if (!t->calling || !failed)
		t->runtime = 0;
	t->calling = 0;
	return 0;
}

SEC("uretprobe")
int cuda_leave(struct pt_regs *regs)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid(), slot = current_slot();
	struct call *c = slot == NO_SLOT ? NULL : bpf_map_lookup_elem(&calls, &tid);

	/* The return address is off the stack by now. */
	if (!c || !c->sp || regs->sp != c->sp + 8)
		return 0;
	entered_by_runtime(c->sp);
	returned(c, slot, regs->ax);
	left_by_runtime(regs->ax);
	c->sp = 0;
	return 0;
}

/* A function of the CUDA runtime: the driver's memory that it takes or gives back carries its name. */
SEC("uprobe")
int runtime_enter(struct pt_regs *regs)
{
	__u32 slot = current_slot();
	struct cuda_thread *t = slot == NO_SLOT ? NULL : cuda_thread(true);

	if (!t)
		return 0;
	t->runtime_sp = regs->sp;
	t->runtime = bpf_get_attach_cookie(regs) & 0xff;
	return 0;
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------ */

struct checkpoint {
	__u32 pid;
	__u32 operation;
};

/* Moves what one process has on its devices off them, or back. */
static __always_inline long checkpointed(__u32 slot, struct checkpoint *c)
{
	struct process *p = process_at(slot);

	if (!p || !p->active || p->pid != (__s32)c->pid)
		return 0;
	for (__u32 number = 0; number < MAX_DEVICES; number++) {
		struct device *d = p->devices & 1u << number ? device_at(slot, number) : NULL;
		if (!d)
			continue;
		__s64 amount = c->operation == CUDA_CHECKPOINT ? -d->value[DEVICE_DRIVER] : d->suspended;
		struct device_move move = {
			.slot = slot, .number = number, .meter = DEVICE_DRIVER, .amount = amount, .size = amount
		};
		d->suspended -= amount;
		if (c->operation == CUDA_RESTORE)
			d->suspended = 0;
		if (amount)
			device_moves(&move);
	}
	return 1;
}
REPEATED_SLOTS(checkpointed, struct checkpoint *)

/*
 * cuCheckpointProcessCheckpoint(int pid, …) and cuCheckpointProcessRestore(int pid, …), in whatever process: usually
 * not in the one they are about (CUDA 12.8; the process itself calls nothing). The pid must be one that the tracer
 * would use.
 */
SEC("uprobe")
int checkpoint_enter(struct pt_regs *regs)
{
	struct call *c = call_of((__u32)bpf_get_current_pid_tgid(), current_slot());

	if (!c)
		return 0;
	c->sp = regs->sp;
	c->argument[0] = regs->di;
	c->operation = bpf_get_attach_cookie(regs) & 0xff;
	return 0;
}

SEC("uretprobe")
int checkpoint_leave(struct pt_regs *regs)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct call *c = bpf_map_lookup_elem(&calls, &tid);

	if (!c || regs->sp != c->sp + 8)
		return 0;
	struct checkpoint about = { .pid = c->argument[0], .operation = c->operation };
	bpf_map_delete_elem(&calls, &tid);
	if (!(__u32)regs->ax)
		REPEAT_SLOTS(checkpointed, &about);
	return 0;
}

/* ---- libraries -------------------------------------------------------------------------------------------------- */

/*
 * _dl_debug_state() of ld.so: the list of loaded libraries has changed, or is about to. To wake user space costs some
 * 20 us of the program's time, and an import loads hundreds: it is woken when a library is there that it looks for
 * (code_mapped() in modules.h), and reads of the others when it is awake. Where native stacks are wanted it is woken
 * for each: its rules depend on them.
 */
SEC("uprobe")
int library_changed(struct pt_regs *regs)
{
	__u32 slot = current_slot();
	struct process *p = slot == NO_SLOT ? NULL : process_at(slot);

	if (!p)
		return 0;
	fetch_add(&code_changes[slot & (MAX_PROCESSES - 1)], 1);
	if (!spend(GROUP_LOADER, slot))
		return 0;
	struct header h = { .kind = RECORD_LIBRARY, .pid = p->pid };
	struct python *py = python_at(slot);
	bool wakes = *(volatile __u32 *)&p->loads || (py && py->native > 1);
	p->loads = 0;
	bpf_ringbuf_output(&boundaries, &h, sizeof(h), wakes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	return 0;
}

#endif
