/* Errors and properties of devices, as the runtime reports them: see work.c. */
#include <stdio.h>
#include <string.h>

#include "work.h"

/* ---- errors: the last one is never kept, nobody here looks for it later ------------------------------------------ */

RUNTIME cudaError_t cudaGetLastError(void)
{
	return 0;
}

RUNTIME cudaError_t cudaPeekAtLastError(void)
{
	return 0;
}

RUNTIME const char *cudaGetErrorString(cudaError_t error)
{
	return error == 2 ? "out of memory" : error ? "an error of the stand-in" : "no error";
}

RUNTIME const char *cudaGetErrorName(cudaError_t error)
{
	return error == 2 ? "cudaErrorMemoryAllocation" : error ? "cudaErrorOfStandIn" : "cudaSuccess";
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

RUNTIME cudaError_t cudaDriverGetVersion(int *version)
{
	*version = RUNTIME_VERSION;
	return 0;
}

RUNTIME cudaError_t cudaRuntimeGetVersion(int *version)
{
	*version = RUNTIME_VERSION;
	return 0;
}

RUNTIME cudaError_t cudaDeviceSynchronize(void)
{
	return work_drain();
}

RUNTIME cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	*can = device != peer;
	return 0;
}

RUNTIME cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
	(void)peer, (void)flags;
	return 0;
}

RUNTIME cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	*least = 0;
	*greatest = -5;
	return 0;
}

/* cudaDeviceProp as of CUDA 12: only what PyTorch's arithmetic needs is not 0. */
struct properties {
	char name[256], uuid[16], luid[8];
	unsigned luid_mask;
	size_t total, shared_per_block;
	int registers_per_block, warp;
	size_t pitch;
	int threads_per_block, threads[3], grid[3], clock;
	size_t constant;
	int major, minor;
	size_t texture_alignment, texture_pitch;
	int overlap, processors;
	int until_unified[53];
	int unified, memory_clock, bus_width, l2, l2_persisting, threads_per_processor, priorities, l1_global, l1_local;
	size_t shared_per_processor;
	int registers_per_processor, managed;
	int until_optin[10];
	size_t shared_per_block_optin;
	char rest[328];
};
_Static_assert(offsetof(struct properties, unified) == 604, "cudaDeviceProp of CUDA 12");
_Static_assert(offsetof(struct properties, shared_per_block_optin) == 696, "cudaDeviceProp of CUDA 12");
_Static_assert(sizeof(struct properties) == 1032, "cudaDeviceProp of CUDA 12");

RUNTIME cudaError_t cudaGetDeviceProperties_v2(struct properties *p, int device)
{
	size_t unused, total;
	int before;
	cudaError_t r = cudaGetDevice(&before);

	if (!r)
		r = cudaSetDevice(device);
	if (!r)
		r = cudaMemGetInfo(&unused, &total);
	if (r)
		return r;
	*p = (struct properties){
		.total = total,
		.shared_per_block = 48 << 10,
		.registers_per_block = 1 << 16,
		.warp = 32,
		.threads_per_block = 1024,
		.threads = { 1024, 1024, 64 },
		.grid = { 0x7fffffff, 65535, 65535 },
		.major = 9,
		.processors = 132,
		.unified = 1,
		.l2 = 50 << 20,
		.threads_per_processor = 2048,
		.priorities = 1,
		.shared_per_processor = 228 << 10,
		.registers_per_processor = 1 << 16,
		.managed = 1,
		.shared_per_block_optin = 227 << 10,
	};
	snprintf(p->name, sizeof(p->name), "Stand-in %d", device);
	return cudaSetDevice(before);
}

/* Attributes by number: 75 and 76 are the compute capability; for the others 1 serves as "yes" and as "some". */
RUNTIME cudaError_t cudaDeviceGetAttribute(int *value, int attribute, int device)
{
	(void)device;
	*value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 132 : attribute == 97 ? 227 << 10 : 1;
	return 0;
}
