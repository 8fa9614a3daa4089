/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Memory pools of the CUDA driver: where their memory is. */
#ifndef IPYTRACER_CUDA_POOLS_H
#define IPYTRACER_CUDA_POOLS_H

static __always_inline __u64 user_word(__u64 address)
{
	__u64 word = 0;

	if (READ(word, address))
		lose(LOSS_READ);
	return word;
}

/* A flag beside a device: the memory is from a pool that is not known. It may be in the host's memory. */
#define UNKNOWN_POOL (1u << 29)

/* Returns the device of a pool's memory. `current` is that of the current context: a guess if the pool is not known. */
static __noinline __u32 device_of_pool(__u32 slot, __u64 address, __u32 current)
{
	struct cuda_object *pool = object_at(slot, CUDA_POOL, address);

	if (!pool)
		return current | UNKNOWN_POOL;
	return pool->device == ANY_DEVICE ? current : pool->device;
}

/* Counts memory that may count with the wrong meter. */
static __noinline int misplaced(__u32 slot, __u32 device, __s64 size)
{
	if (device & UNKNOWN_POOL) {
		lose(LOSS_POOL);
		misses(slot, MISSING_CUDA, size);
	} else if (device & GUESSED) {
		guessed(slot, size);
	}
	return 0;
}

/* Notes where the memory of a pool is. */
static __noinline int pool_made(struct call *c, __u32 slot)
{
	if (!c)
		return 0;
	struct cuda_object pool = { .references = 1 };
	__u64 address = 0;

	switch (c->operation) {
	case CUDA_POOL_CREATE:
		address = user_word(c->argument[0]);
		pool.device = located_by(slot, c->argument[1]);
		break;
	case CUDA_POOL_DEFAULT:
		address = user_word(c->argument[0]);
		pool.device = physical_device(slot, c->argument[1]);
		break;
	case CUDA_POOL_SET:
		address = c->argument[1];
		pool.device = physical_device(slot, c->argument[0]);
		break;
	case CUDA_POOL_AT:
		address = user_word(c->argument[0]);
		pool.device = located_at(slot, c->argument[1], c->argument[2]);
		break;
	case CUDA_POOL_SET_AT:
		address = c->argument[2];
		pool.device = located_at(slot, c->argument[0], c->argument[1]);
		break;
	}
	struct cuda_key key = key_of(slot, CUDA_POOL, address);
	if (bpf_map_update_elem(&cuda_objects, &key, &pool, BPF_ANY))
		lose(LOSS_OBJECT); /* then the place of its blocks is a guess */
	return 0;
}

#endif
