/* Linear device memory and page-locked host memory. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

#include "internal.h"

static struct block *blocks;	/* newest first */

CUresult charge(int device, int64_t bytes)
{
	struct gauge *driver = &truth_self()->device[device].driver;

	if (bytes > machine_memory() - driver->current)
		return CUDA_ERROR_OUT_OF_MEMORY;
	machine_work();
	truth_add(driver, bytes);
	return CUDA_SUCCESS;
}

void discharge(int device, int64_t bytes)
{
	machine_work();
	truth_add(&truth_self()->device[device].driver, -bytes);
}

static struct block *keep(enum kind kind, uint64_t address, int64_t bytes, int64_t span, int device,
			  struct context *context)
{
	struct block *b = malloc(sizeof *b);

	*b = (struct block){ kind, address, bytes, span, device, context, NULL, blocks };
	blocks = b;
	return b;
}

struct block *block_new(enum kind kind, int device, int64_t bytes, int64_t span, struct context *context)
{
	uint64_t address;

	if (kind != OPENED && charge(device, bytes))
		return NULL;
	address = range_take(span);
	if (address)
		return keep(kind, address, kind == OPENED ? 0 : bytes, span, device, context);
	if (kind != OPENED)
		discharge(device, bytes);
	return NULL;
}

struct block *block_at(uint64_t address)
{
	for (struct block *b = blocks; b; b = b->next)
		if (b->address == address)
			return b;
	return NULL;
}

static int is_host(struct block *b)
{
	return b->kind == HOST || b->kind == REGISTERED || b->kind == POOLED_HOST;
}

void block_free(struct block *block)
{
	struct block **at = &blocks;

	while (*at != block)
		at = &(*at)->next;
	*at = block->next;
	if (is_host(block))
		truth_add(&truth_self()->pinned, -block->bytes);
	else if (block->kind != OPENED)
		discharge(block->device, block->bytes);
	if (block->kind == HOST || block->kind == POOLED_HOST)
		munmap((void *)block->address, (size_t)block->span);
	else if (block->kind != REGISTERED)
		range_give(block->address);
	if (block->pool)
		pool_freed(block->pool, block->bytes);
	free(block);
}

void blocks_of_context_free(struct context *context)
{
	struct block *next;

	for (struct block *b = blocks; b; b = next) {
		next = b->next;
		if (b->context == context)
			block_free(b);
	}
}

/* ---- device memory --------------------------------------------------------------------------------------------- */

static CUresult allocate(enum kind kind, uint64_t *address, size_t bytes)
{
	struct context *c;
	struct block *b;
	CUresult r = enter_context(&c);

	if (r)
		return r;
	if (!address || !bytes)
		return leave(CUDA_ERROR_INVALID_VALUE);
	b = bytes > INT64_MAX / 2 ? NULL : block_new(kind, c->device, (int64_t)bytes, (int64_t)bytes, c);
	if (!b)
		return leave(CUDA_ERROR_OUT_OF_MEMORY);
	*address = b->address;
	return leave(CUDA_SUCCESS);
}

API CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
	uint64_t found = 0;
	CUresult r = allocate(LINEAR, address ? &found : NULL, bytes);

	if (!r)
		*address = found;
	return r;
}

/* Before CUDA 3.2 sizes and addresses had 32 bits: CUdeviceptr_v1 is an unsigned int. */
API CUresult cuMemAlloc(unsigned *address, unsigned bytes)
{
	uint64_t found = 0;
	CUresult r = allocate(LINEAR, address ? &found : NULL, bytes);

	if (!r)
		*address = (unsigned)found;
	return r;
}

API CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element)
{
	size_t row = (width + 511) / 512 * 512;
	uint64_t found = 0;
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	if (address && pitch && (element == 4 || element == 8 || element == 16) &&
	    !__builtin_mul_overflow_p(row, height, (size_t)0))
		r = allocate(PITCH, &found, row * height);
	if (!r) {
		*address = found;
		*pitch = row;
	}
	return r;
}

API CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags)
{
	uint64_t found = 0;
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	if (address && (flags == 1 || flags == 2))	/* CU_MEM_ATTACH_GLOBAL, _HOST */
		r = allocate(MANAGED, &found, bytes);
	if (!r)
		*address = found;
	return r;
}

static CUresult release(uint64_t address)
{
	struct context *c;
	struct block *b;
	CUresult r = enter_context(&c);

	if (r)
		return r;
	b = address ? block_at(address) : NULL;
	if (address && (!b || is_host(b) || b->kind == OPENED))
		return leave(CUDA_ERROR_INVALID_VALUE);
	if (b)
		block_free(b);
	return leave(CUDA_SUCCESS);
}

API CUresult cuMemFree_v2(CUdeviceptr address)
{
	CUresult r = release(address);

	return r;
}

/* Of an address that the first cuMemAlloc cut to 32 bits. */
API CUresult cuMemFree(unsigned address)
{
	CUresult r;
	uint64_t whole = address;

	enter_always();
	for (struct block *b = blocks; address && b; b = b->next)
		if ((unsigned)b->address == address && b->kind == LINEAR)
			whole = b->address;
	leave(CUDA_SUCCESS);
	r = release(whole);
	return r;
}

/* ---- host memory ----------------------------------------------------------------------------------------------- */

struct block *host_block_new(enum kind kind, size_t bytes, int device, struct context *context)
{
	size_t span = (bytes + 4095) & ~(size_t)4095;
	void *p = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	truth_add(&truth_self()->pinned, (int64_t)bytes);
	return keep(kind, (uint64_t)p, (int64_t)bytes, (int64_t)span, device, context);
}

static CUresult host(void **address, size_t bytes)
{
	struct context *c;
	struct block *b;
	CUresult r = enter_context(&c);

	if (r)
		return r;
	if (!address || !bytes)
		return leave(CUDA_ERROR_INVALID_VALUE);
	b = host_block_new(HOST, bytes, c->device, c);
	if (!b)
		return leave(CUDA_ERROR_OUT_OF_MEMORY);
	*address = (void *)b->address;
	return leave(CUDA_SUCCESS);
}

API CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned flags)
{
	CUresult r = flags > 7 ? CUDA_ERROR_INVALID_VALUE : host(address, bytes);

	return r;
}

API CUresult cuMemAllocHost_v2(void **address, size_t bytes)
{
	CUresult r = host(address, bytes);

	return r;
}

CUresult free_kind(uint64_t address, enum kind kind, CUresult unknown)
{
	struct context *c;
	struct block *b;
	CUresult r = enter_context(&c);

	if (r)
		return r;
	b = block_at(address);
	if (!b || b->kind != kind)
		return leave(unknown);
	block_free(b);
	return leave(CUDA_SUCCESS);
}

API CUresult cuMemFreeHost(void *address)
{
	CUresult r = free_kind((uint64_t)address, HOST, CUDA_ERROR_INVALID_VALUE);

	return r;
}

API CUresult cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags)
{
	uint64_t begin = (uint64_t)address;
	struct context *c;
	CUresult r = enter_context(&c);

	(void)flags;
	if (r)
		return r;
	if (!address || !bytes)
		return leave(CUDA_ERROR_INVALID_VALUE);
	for (struct block *b = blocks; b; b = b->next)
		if (is_host(b) && begin < b->address + (uint64_t)b->span && b->address < begin + bytes)
			return leave(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	keep(REGISTERED, begin, (int64_t)bytes, (int64_t)bytes, c->device, c);
	truth_add(&truth_self()->pinned, (int64_t)bytes);
	return leave(CUDA_SUCCESS);
}

API CUresult cuMemHostUnregister(void *address)
{
	CUresult r = free_kind((uint64_t)address, REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);

	return r;
}
