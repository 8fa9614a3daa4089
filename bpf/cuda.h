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

/* Beside a device: PyTorch's allocator takes it from a pool of the driver's, and reports nothing. */
#define POOLED (1u << 30)

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
		.number = device & ~POOLED,
		.flags = device & POOLED ? CHANGE_BLOCK : 0,
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

/* A free of memory whose making was not seen, or memory on a device that is not known. */
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

static __always_inline bool is_pooled(__u32 operation)
{
	return operation == CUDA_ALLOC_POOL || operation == CUDA_ALLOC_ASYNC;
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
		unkept(slot, size); /* from here on the meter is short of it */
		unknown_free(slot);
		return 0;
	}
	memory_moves(slot, c->device | pooled, size, address, c->stack);
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

	if (t && batch && t->torch.batch == batch)
		t->torch.bytes -= size;
	if (t && batch && t->others.batch == batch)
		t->others.bytes -= size;
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

#endif
