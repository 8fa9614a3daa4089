/*
 * Stream-ordered memory. It counts from the call that allocates it to the call that frees it: streams are always idle
 * here. The cache of a pool does not count, so trimming changes no measured figure. The memory belongs to the pool's
 * device, whatever context is current, and to no context. Since CUDA 13 a pool may be in the host's memory, or of
 * managed memory, which counts on the device of the current context.
 */
#include <stdlib.h>

#include "internal.h"

enum { HOST_POOL = -1, MANAGED_POOL = -2 };

enum { CHUNK = 32 << 20 };	/* a pool takes memory from the device in pieces of this size */

struct pool {
	int device, is_default, alive;	/* device: or HOST_POOL, MANAGED_POOL */
	int64_t used, used_high, reserved, reserved_high;
	uint64_t threshold;
	struct pool *next;
};

static struct pool defaults[TRUTH_DEVICES], *current[TRUTH_DEVICES], *pools;
static struct pool host_default = { .device = HOST_POOL, .is_default = 1, .alive = 1 }, *host_current = &host_default;
static struct pool managed_default = { .device = MANAGED_POOL, .is_default = 1, .alive = 1 },
	*managed_current = &managed_default;

static struct pool *default_of(int device)
{
	struct pool *p = &defaults[device];

	p->device = device;
	p->is_default = p->alive = 1;
	return p;
}

static struct pool *current_of(int device)
{
	return current[device] ? current[device] : default_of(device);
}

static int is_known(struct pool *pool)
{
	for (int i = 0; i < TRUTH_DEVICES; i++)
		if (pool == &defaults[i])
			return pool->alive;
	if (pool == &host_default || pool == &managed_default)
		return 1;
	for (struct pool *p = pools; p; p = p->next)
		if (p == pool)
			return p->alive;
	return 0;
}

static int64_t chunks(int64_t bytes)
{
	return (bytes + CHUNK - 1) / CHUNK * CHUNK;
}

void pool_freed(struct pool *pool, int64_t bytes)
{
	pool->used -= bytes;
}

static CUresult allocate(CUdeviceptr *address, size_t bytes, struct pool *pool, int of_device)
{
	struct context *c;
	struct block *b;
	CUresult r = enter_context(&c);

	if (r)
		return r;
	if (of_device)
		pool = current_of(c->device);
	if (!address || !bytes || !is_known(pool))
		return leave(CUDA_ERROR_INVALID_VALUE);
	if (pool->device == HOST_POOL)
		b = host_block_new(POOLED_HOST, bytes, c->device, NULL);
	else
		b = bytes > INT64_MAX / 2 ? NULL : block_new(ASYNC, pool->device == MANAGED_POOL ? c->device : pool->device,
							     (int64_t)bytes, (int64_t)bytes, NULL);
	if (!b)
		return leave(CUDA_ERROR_OUT_OF_MEMORY);
	b->pool = pool;
	pool->used += b->bytes;
	if (pool->used > pool->used_high)
		pool->used_high = pool->used;
	if (chunks(pool->used) > pool->reserved)
		pool->reserved = chunks(pool->used);
	if (pool->reserved > pool->reserved_high)
		pool->reserved_high = pool->reserved;
	*address = b->address;
	return leave(CUDA_SUCCESS);
}

static CUresult release(CUdeviceptr address)
{
	struct context *c;
	struct block *b;
	CUresult r = enter_context(&c);

	if (r)
		return r;
	b = block_at(address);
	/* Memory of cuMemAlloc may be freed in stream order too (Programming Guide, "Stream Ordered Memory Allocator"). */
	if (!b || (b->kind != ASYNC && b->kind != POOLED_HOST && b->kind != LINEAR))
		return leave(CUDA_ERROR_INVALID_VALUE);
	block_free(b);
	return leave(CUDA_SUCCESS);
}

API CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream)
{
	(void)stream;
	return allocate(address, bytes, NULL, 1);
}

API CUresult cuMemAllocAsync_ptsz(CUdeviceptr *address, size_t bytes, CUstream stream)
{
	(void)stream;
	return allocate(address, bytes, NULL, 1);
}

API CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream)
{
	(void)stream;
	return allocate(address, bytes, pool, 0);
}

API CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream)
{
	(void)stream;
	return allocate(address, bytes, pool, 0);
}

API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
	(void)stream;
	return release(address);
}

API CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream)
{
	(void)stream;
	return release(address);
}

/* ---- the pools themselves -------------------------------------------------------------------------------------- */

/* *at is the device of a location, HOST_POOL or MANAGED_POOL. */
static CUresult locate(const CUmemLocation *location, int type, int *at)
{
	if (type == CU_MEM_ALLOCATION_TYPE_MANAGED && location->type <= CU_MEM_LOCATION_TYPE_HOST_NUMA) {
		*at = MANAGED_POOL;
		return CUDA_SUCCESS;
	}
	if (type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (location->type == CU_MEM_LOCATION_TYPE_HOST || location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA) {
		*at = HOST_POOL;
		return CUDA_SUCCESS;
	}
	if (location->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	*at = device_of(location->id);
	return *at < 0 ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

API CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props)
{
	struct pool *p;
	int device;
	CUresult r = enter();

	if (r)
		return r;
	if (!out || !props)
		return leave(CUDA_ERROR_INVALID_VALUE);
	r = locate(&props->location, props->allocType, &device);
	if (r)
		return leave(r);
	p = calloc(1, sizeof *p);
	p->device = device;
	p->alive = 1;
	p->next = pools;
	pools = p;
	*out = p;
	return leave(CUDA_SUCCESS);
}

/*
 * "If any pointers obtained from this pool haven't been freed … the resources associated with the pool will be released
 * automatically once there are no more outstanding allocations": allocated memory stays.
 */
API CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	CUresult r = enter();

	if (r)
		return r;
	if (!is_known(pool) || pool->is_default)
		return leave(CUDA_ERROR_INVALID_VALUE);
	pool->alive = 0;	/* the structure stays: blocks may still point to it */
	if (pool->device >= 0 && current[pool->device] == pool)
		current[pool->device] = NULL;
	if (host_current == pool)
		host_current = &host_default;
	if (managed_current == pool)
		managed_current = &managed_default;
	return leave(CUDA_SUCCESS);
}

API CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	CUresult r = enter();

	if (r)
		return r;
	if (!is_known(pool))
		return leave(CUDA_ERROR_INVALID_VALUE);
	if ((int64_t)keep < pool->reserved)
		pool->reserved = chunks((int64_t)keep > pool->used ? (int64_t)keep : pool->used);
	return leave(CUDA_SUCCESS);
}

API CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int attribute, void *value)
{
	CUresult r = enter();

	if (r)
		return r;
	if (!is_known(pool))
		return leave(CUDA_ERROR_INVALID_VALUE);
	switch (attribute) {
	case POOL_RELEASE_THRESHOLD: pool->threshold = *(uint64_t *)value; break;
	case POOL_RESERVED_HIGH: pool->reserved_high = pool->reserved; break;
	case POOL_USED_HIGH: pool->used_high = pool->used; break;
	case 1: case 2: case 3: break;	/* which kinds of reuse are allowed */
	default: return leave(CUDA_ERROR_INVALID_VALUE);
	}
	return leave(CUDA_SUCCESS);
}

API CUresult cuMemPoolGetAttribute(CUmemoryPool pool, int attribute, void *value)
{
	CUresult r = enter();

	if (r)
		return r;
	if (!is_known(pool))
		return leave(CUDA_ERROR_INVALID_VALUE);
	switch (attribute) {
	case POOL_RELEASE_THRESHOLD: *(uint64_t *)value = pool->threshold; break;
	case POOL_RESERVED_CURRENT: *(int64_t *)value = pool->reserved; break;
	case POOL_RESERVED_HIGH: *(int64_t *)value = pool->reserved_high; break;
	case POOL_USED_CURRENT: *(int64_t *)value = pool->used; break;
	case POOL_USED_HIGH: *(int64_t *)value = pool->used_high; break;
	case 1: case 2: case 3: *(int *)value = 1; break;
	default: return leave(CUDA_ERROR_INVALID_VALUE);
	}
	return leave(CUDA_SUCCESS);
}

static CUresult give_pool(CUmemoryPool *pool, CUdevice ordinal, struct pool *(*which)(int device))
{
	int device;
	CUresult r = enter_device(ordinal, &device);

	if (r)
		return r;
	*pool = which(device);
	return leave(CUDA_SUCCESS);
}

API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
	CUresult r = give_pool(pool, device, default_of);

	return r;
}

API CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
	CUresult r = give_pool(pool, device, current_of);

	return r;
}

API CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool pool)
{
	int device;
	CUresult r = enter_device(ordinal, &device);

	if (r)
		return r;
	if (!is_known(pool) || pool->device != device)
		return leave(CUDA_ERROR_INVALID_VALUE);
	current[device] = pool;
	return leave(CUDA_SUCCESS);
}

/* ---- by location (CUDA 13) -------------------------------------------------------------------------------------- */

static CUresult pool_at(CUmemoryPool *pool, const CUmemLocation *location, int type, int is_default)
{
	int at;
	CUresult r = enter();

	if (r)
		return r;
	if (!pool || !location)
		return leave(CUDA_ERROR_INVALID_VALUE);
	r = locate(location, type, &at);
	if (r)
		return leave(r);
	*pool = at == HOST_POOL	     ? is_default ? &host_default : host_current
		: at == MANAGED_POOL ? is_default ? &managed_default : managed_current
		: is_default	     ? default_of(at) : current_of(at);
	return leave(CUDA_SUCCESS);
}

API CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location, int type)
{
	CUresult r = pool_at(pool, location, type, 1);

	return r;
}

API CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, int type)
{
	CUresult r = pool_at(pool, location, type, 0);

	return r;
}

API CUresult cuMemSetMemPool(CUmemLocation *location, int type, CUmemoryPool pool)
{
	int at;
	CUresult r = enter();

	if (r)
		return r;
	if (!location || !is_known(pool))
		return leave(CUDA_ERROR_INVALID_VALUE);
	r = locate(location, type, &at);
	if (r || at != pool->device)
		return leave(r ? r : CUDA_ERROR_INVALID_VALUE);
	*(at == HOST_POOL ? &host_current : at == MANAGED_POOL ? &managed_current : &current[at]) = pool;
	return leave(CUDA_SUCCESS);
}
