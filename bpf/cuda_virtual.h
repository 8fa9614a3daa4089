/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Virtual memory management of the CUDA driver: handles and their mappings. */
#ifndef IPYTRACER_CUDA_VIRTUAL_H
#define IPYTRACER_CUDA_VIRTUAL_H

/* ---- virtual memory management ---------------------------------------------------------------------------------- */

/* CUmemAllocationProp begins with type, requestedHandleTypes, location {type, id} (cuda.h, CUDA 10.2 to 13). */
struct allocation_properties {
	__u32 type, handle_types, location_type, location_id;
};

/* CUmemPoolProps begins with allocType, handleTypes, location {type, id} (CUDA 11.2 to 13). */

/* CUmemLocationType: 2 to 4 are the host, one of its NUMA nodes, and the thread's node; 0 of managed memory: none. */
#define LOCATION_DEVICE	      1
#define LOCATION_HOST	      2
#define LOCATION_HOST_CURRENT 4
#define TYPE_MANAGED	      2 /* CUmemAllocationType (CUDA 13) */

/* Returns the device of a location, HOST_DEVICE, or ANY_DEVICE. Kinds of locations newer than CUDA 13.2 are a guess. */
static __always_inline __u32 located(__u32 slot, struct allocation_properties *at)
{
	if (at->location_type == LOCATION_DEVICE)
		return physical_device(slot, at->location_id);
	if (at->type == TYPE_MANAGED)
		return ANY_DEVICE;
	if (at->location_type >= LOCATION_HOST && at->location_type <= LOCATION_HOST_CURRENT)
		return HOST_DEVICE;
	return physical_device(slot, 0) | GUESSED;
}

/* Returns the same for the properties of an allocation or of a pool, at an address of the process. */
static __noinline __u32 located_by(__u32 slot, __u64 properties)
{
	struct allocation_properties at = {};

	if (READ(at, properties)) {
		lose(LOSS_READ);
		return physical_device(slot, 0) | GUESSED;
	}
	return located(slot, &at);
}

/* Returns the same for a CUmemLocation at an address of the process, and a type of allocation. */
static __noinline __u32 located_at(__u32 slot, __u64 location, __u32 type)
{
	struct allocation_properties at = {};
	__u64 words = 0;

	if (READ(words, location)) {
		lose(LOSS_READ);
		return physical_device(slot, 0) | GUESSED;
	}
	at.type = type;
	at.location_type = (__u32)words;
	at.location_id = words >> 32;
	return located(slot, &at);
}

/* Records that memory of another process was opened or closed here. It counts in the process that allocated it. */
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

/* Frees the memory behind a handle if it is neither referenced nor mapped. */
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

/* Removes the mappings in a range: one call may unmap several neighbouring ones. */
static __always_inline void unmapped(__u32 slot, __u64 from, __u64 size)
{
	struct unmapping u = { .at = from, .end = from + size, .slot = slot };

	REPEAT(1 << 16, unmap_next, &u);
	if (u.at < u.end) /* a mapping from before the attach */
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

#endif
