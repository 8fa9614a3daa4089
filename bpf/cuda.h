/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * gpu.N.driver and cpu.pinned, from the exported functions of libcuda.so.1. The calls of every framework arrive there,
 * through a static or a shared runtime (seen with driver 580 and PyTorch, CuPy, JAX). The operation of a call is in its
 * probes' cookie.
 *
 * A call counts when it returns with CUDA_SUCCESS, by the bytes that it requested. Of nested calls the outermost
 * counts. If the return of a call was missed, the stack pointer shows it: the stack has come back up.
 *
 * A freed block leaves the table at the entry of the free, when no other call can have the address yet, and the meter
 * at its return; if the call fails, the block is put back.
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

/* A flag beside a device: PyTorch's allocator takes the block from a pool of the driver's, and does not report it. */
#define POOLED (1u << 30)

/*
 * Records an allocation or free of memory of a device, or of page-locked memory of the host. about: the allocating
 * stack, or the batch of the freed block.
 */
__attribute__((noinline)) int memory_moves(__u32 slot, __u32 device, __s64 difference, __u64 address, __u64 about)
{
	__u64 stack = difference > 0 ? about : 0;
	__u32 batch = about;

	if (device == HOST_DEVICE)
		return pinned_moves(slot, difference, address, stack);
	struct device_move driver = {
		.slot = slot,
		.number = device & ~POOLED,
		.flags = (device & POOLED ? CHANGE_BLOCK : 0) | caller(),
		.meter = DEVICE_DRIVER,
		.amount = difference,
		.size = difference,
		.address = address,
		.stack = stack,
	};
	device_moves(&driver);
	if (difference >= 0 || !batch || !leaves_batch(batch, difference))
		return 0;
	driver.meter = DEVICE_RESERVED;
	driver.flags = 0;
	driver.stack = 0;
	device_moves(&driver);
	return 0;
}

/* Counts a free of memory if its allocation was not seen, or its device is not known. */
static __always_inline void unknown_free(__u32 slot)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (r)
		unknown_of(r, UNKNOWN_DEVICE, 0);
}

/* ---- devices ---------------------------------------------------------------------------------------------------- */

static __always_inline __u64 current_context(struct cuda_thread *t)
{
	__u32 top = t ? t->depth - 1 : CONTEXT_STACK;
	return top < CONTEXT_STACK ? t->contexts[AT_MOST(top, CONTEXT_STACK - 1)] : 0;
}

/* A flag beside a device: it is a guess. */
#define GUESSED (1u << 31)

/*
 * Returns the device of the thread's current context. A statically linked runtime makes contexts current by a way that
 * is not exported: then the context is the primary one that the thread requested last, or the device is the only one in
 * use. That is certain while the process has no context on another device. It is a guess where the process has or may
 * have one, and for a context with an unseen creation. Without any hint the first device is the guess.
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

/* Counts `size` bytes that are on a guessed device, or were requested there: they may be on any other. */
static __noinline int guessed(__u32 slot, __s64 size)
{
	lose(LOSS_DEVICE);
	misses(slot, MISSING_DEVICE, size);
	return 0;
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* Counts an object that found no room, or was unreadable: meters may be off from now on by `size` bytes. */
static __noinline int unkept(__u32 slot, __s64 size)
{
	lose(LOSS_OBJECT);
	misses(slot, MISSING_CUDA, size);
	return 0;
}

static __always_inline bool is_pooled(__u32 operation)
{
	return operation == CUDA_ALLOC_POOL || operation == CUDA_ALLOC_ASYNC;
}

/* Enters an allocated block into the table and its meter. */
__attribute__((noinline)) int block_made(struct call *c, __u32 slot, __u32 kind, __u64 address, __s64 size)
{
	if (!c || !address || size <= 0)
		return 0;
	struct cuda_object o = { .size = size, .owner = c->owner, .device = c->device, .references = 1 };
	struct cuda_key key = key_of(slot, kind, address);
	struct cuda_object *before = bpf_map_lookup_elem(&cuda_objects, &key);

	if (before) /* its free was missed */
		memory_moves(slot, before->device, -before->size, address, before->batch);
	__u32 pooled = c->torch && is_pooled(c->operation) ? POOLED : 0;
	if (c->device != HOST_DEVICE && !pooled && (kind == CUDA_POINTER || kind == CUDA_HANDLE)) {
		struct cuda_thread *t = cuda_thread(true);
		if (t && c->torch) {
			o.batch = enters_batch(&t->torch, size);
		} else if (t) {
			o.batch = enters_batch(&t->others, size);
			t->last = key;
			t->last_size = size;
		}
	}
	if (bpf_map_update_elem(&cuda_objects, &key, &o, BPF_ANY)) {
		unkept(slot, size); /* from here on the meter does not include it */
		unknown_free(slot);
		return 0;
	}
	memory_moves(slot, c->device | pooled, size, address, c->stack);
	return 0;
}

/* Takes a block out of the table at the entry of a free, and remembers it in the call. */
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

/* Records the free of memory that was in the table. */
__attribute__((noinline)) int block_gone(__u32 slot, __u32 device, __s64 size, __u64 address, __u32 batch)
{
	struct cuda_thread *t = cuda_thread(false);

	if (t && batch && t->torch.batch == batch)
		t->torch.bytes -= size;
	if (t && batch && t->others.batch == batch)
		t->others.bytes -= size;
	memory_moves(slot, device, -size, address, batch);
	return 0;
}

/* Handles a free that has succeeded; a free of NULL does nothing. */
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

#endif
