/*
 * A program's own library that calls the runtime: as libapp.so linked to libcudart.so.12, as libstatic_app.so with the
 * runtime inside and none of its names visible (-DHIDDEN), which is what nvcc makes by default.
 */
#include "runtime.h"

#define EXPORT __attribute__((visibility("default"), noinline))

EXPORT int app_set_device(int device)
{
	return cudaSetDevice(device);
}

EXPORT void *app_alloc(size_t bytes)
{
	void *p = NULL;

	return cudaMalloc(&p, bytes) ? NULL : p;
}

EXPORT int app_free(void *p)
{
	return cudaFree(p);
}

/* Allocated and freed within one call: sampling does not see it. */
EXPORT int app_blip(size_t bytes)
{
	void *p;
	int r = cudaMalloc(&p, bytes);

	return r ? r : cudaFree(p);
}

EXPORT void *app_alloc_async(size_t bytes)
{
	void *p = NULL;

	return cudaMallocAsync(&p, bytes, NULL) ? NULL : p;
}

EXPORT int app_free_async(void *p)
{
	return cudaFreeAsync(p, NULL);
}

EXPORT void *app_alloc_host(size_t bytes)
{
	void *p = NULL;

	return cudaMallocHost(&p, bytes) ? NULL : p;
}

EXPORT int app_free_host(void *p)
{
	return cudaFreeHost(p);
}
