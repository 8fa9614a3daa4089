#define _GNU_SOURCE
/*
 * Virtual memory management: memory without an address, addresses without memory, and mappings of memory at addresses.
 * Memory counts from cuMemCreate until every reference is released and no mapping is left, in whichever order. It
 * belongs to no context.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

struct memory {
	int64_t bytes;
	int device, types;
	int references, mappings;
	int imported;		/* somebody else's: does not count here */
	struct memory *next;
};

struct mapping {
	uint64_t address;
	int64_t span;
	struct memory *memory;
	struct mapping *next;
};

struct reservation {
	uint64_t address;
	int64_t span;
	struct reservation *next;
};

/* The content of an exported descriptor. */
struct exported {
	int64_t bytes;
	int32_t device, pid;
};

static struct memory *memories;
static struct mapping *mappings;
static struct reservation *reservations;

static struct memory *memory_of(CUmemGenericAllocationHandle handle)
{
	struct memory *m = memories;

	while (m && (uint64_t)m != handle)
		m = m->next;
	return m && m->references ? m : NULL;
}

static CUmemGenericAllocationHandle memory_new(int device, int64_t bytes, int types, int imported)
{
	struct memory *m = malloc(sizeof *m);

	*m = (struct memory){ bytes, device, types, 1, 0, imported, memories };
	memories = m;
	return (uint64_t)m;
}

static void free_if_unused(struct memory *memory)
{
	struct memory **at = &memories;

	if (memory->references || memory->mappings)
		return;
	while (*at != memory)
		at = &(*at)->next;
	*at = memory->next;
	if (!memory->imported)
		discharge(memory->device, memory->bytes);
	free(memory);
}

API CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop, int option)
{
	CUresult r = enter();

	(void)prop, (void)option;
	if (r)
		return r;
	*granularity = GRANULARITY;
	return leave(CUDA_SUCCESS);
}

API CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *prop,
			 unsigned long long flags)
{
	int device;
	CUresult r = enter();

	if (r)
		return r;
	if (!handle || !prop || flags || !bytes || bytes % GRANULARITY || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return leave(CUDA_ERROR_INVALID_VALUE);
	if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return leave(CUDA_ERROR_NOT_SUPPORTED);
	device = device_of(prop->location.id);
	if (device < 0)
		return leave(CUDA_ERROR_INVALID_DEVICE);
	/* No fabric manager runs here: seen on the H200 as well, and PyTorch tries again without. */
	if (prop->requestedHandleTypes & CU_MEM_HANDLE_TYPE_FABRIC)
		return leave(CUDA_ERROR_NOT_PERMITTED);
	if (bytes > INT64_MAX / 2 || charge(device, (int64_t)bytes))
		return leave(CUDA_ERROR_OUT_OF_MEMORY);
	*handle = memory_new(device, (int64_t)bytes, prop->requestedHandleTypes, 0);
	return leave(CUDA_SUCCESS);
}

API CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct memory *m;
	CUresult r = enter();

	if (r)
		return r;
	m = memory_of(handle);
	if (!m)
		return leave(CUDA_ERROR_INVALID_VALUE);
	m->references--;
	free_if_unused(m);
	return leave(CUDA_SUCCESS);
}

API CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
	uint64_t a = (uint64_t)address;
	struct mapping *m = mappings;
	CUresult r = enter();

	if (r)
		return r;
	while (m && (a < m->address || a >= m->address + (uint64_t)m->span))
		m = m->next;
	if (!handle || !m)
		return leave(CUDA_ERROR_INVALID_VALUE);
	m->memory->references++;
	*handle = (uint64_t)m->memory;
	return leave(CUDA_SUCCESS);
}

/* ---- addresses ------------------------------------------------------------------------------------------------- */

API CUresult cuMemAddressReserve(CUdeviceptr *address, size_t span, size_t alignment, CUdeviceptr wanted,
				 unsigned long long flags)
{
	struct reservation *s;
	uint64_t found;
	CUresult r = enter();

	(void)alignment, (void)flags;
	if (r)
		return r;
	if (!address || !span || span % GRANULARITY || span > INT64_MAX / 2)
		return leave(CUDA_ERROR_INVALID_VALUE);
	found = range_take_at(wanted, (int64_t)span);
	if (!found)
		return leave(CUDA_ERROR_OUT_OF_MEMORY);
	s = malloc(sizeof *s);
	*s = (struct reservation){ found, (int64_t)span, reservations };
	reservations = s;
	*address = found;
	return leave(CUDA_SUCCESS);
}

static int mapped_in(uint64_t address, int64_t span)
{
	for (struct mapping *m = mappings; m; m = m->next)
		if (address < m->address + (uint64_t)m->span && m->address < address + (uint64_t)span)
			return 1;
	return 0;
}

API CUresult cuMemAddressFree(CUdeviceptr address, size_t span)
{
	struct reservation **at = &reservations, *s;
	CUresult r = enter();

	if (r)
		return r;
	while (*at && ((*at)->address != address || (*at)->span != (int64_t)span))
		at = &(*at)->next;
	if (!*at || mapped_in(address, (int64_t)span))
		return leave(CUDA_ERROR_INVALID_VALUE);
	s = *at;
	*at = s->next;
	range_give(s->address);
	free(s);
	return leave(CUDA_SUCCESS);
}

static int reserved(uint64_t address, int64_t span)
{
	for (struct reservation *s = reservations; s; s = s->next)
		if (address >= s->address && address + (uint64_t)span <= s->address + (uint64_t)s->span)
			return 1;
	return 0;
}

API CUresult cuMemMap(CUdeviceptr address, size_t span, size_t offset, CUmemGenericAllocationHandle handle,
		      unsigned long long flags)
{
	struct memory *memory;
	struct mapping *m;
	CUresult r = enter();

	if (r)
		return r;
	memory = memory_of(handle);
	if (!memory || flags || !span || span % GRANULARITY || offset % GRANULARITY ||
	    (int64_t)(offset + span) > memory->bytes || !reserved(address, (int64_t)span) ||
	    mapped_in(address, (int64_t)span))
		return leave(CUDA_ERROR_INVALID_VALUE);
	m = malloc(sizeof *m);
	*m = (struct mapping){ address, (int64_t)span, memory, mappings };
	mappings = m;
	memory->mappings++;
	return leave(CUDA_SUCCESS);
}

/* A range may include several mappings, each as a whole. */
API CUresult cuMemUnmap(CUdeviceptr address, size_t span)
{
	uint64_t end = address + span;
	int64_t found = 0;
	CUresult r = enter();

	if (r)
		return r;
	for (struct mapping *m = mappings; m; m = m->next)
		if (m->address >= address && m->address + (uint64_t)m->span <= end)
			found += m->span;
	if (!span || found != (int64_t)span)
		return leave(CUDA_ERROR_INVALID_VALUE);
	for (struct mapping **at = &mappings; *at;) {
		struct mapping *m = *at;

		if (m->address < address || m->address >= end) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		m->memory->mappings--;
		free_if_unused(m->memory);
		free(m);
	}
	return leave(CUDA_SUCCESS);
}

API CUresult cuMemSetAccess(CUdeviceptr address, size_t span, const CUmemAccessDesc *access, size_t count)
{
	CUresult r = enter();

	if (r)
		return r;
	return leave(access && count && mapped_in(address, (int64_t)span) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* ---- sharing --------------------------------------------------------------------------------------------------- */

API CUresult cuMemExportToShareableHandle(void *to, CUmemGenericAllocationHandle handle, int type,
					  unsigned long long flags)
{
	struct exported e;
	struct memory *m;
	int fd;
	CUresult r = enter();

	if (r)
		return r;
	m = memory_of(handle);
	if (!to || !m || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || !(m->types & type))
		return leave(CUDA_ERROR_INVALID_VALUE);
	e = (struct exported){ m->bytes, m->device, getpid() };
	fd = memfd_create("standin-memory", MFD_CLOEXEC);
	if (fd < 0 || pwrite(fd, &e, sizeof e, 0) != sizeof e)
		return leave(CUDA_ERROR_OUT_OF_MEMORY);
	*(int *)to = fd;
	return leave(CUDA_SUCCESS);
}

/* The descriptor itself is passed as a pointer. */
API CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *from, int type)
{
	struct exported e;
	CUresult r = enter();

	if (r)
		return r;
	if (!handle || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    pread((int)(intptr_t)from, &e, sizeof e, 0) != sizeof e)
		return leave(CUDA_ERROR_INVALID_VALUE);
	*handle = memory_new(e.device, e.bytes, type, 1);
	return leave(CUDA_SUCCESS);
}
