/* The simulated part of the CUDA runtime API. -DHIDDEN: for linking into a library that does not export it. */
#ifndef STANDIN_RUNTIME_H
#define STANDIN_RUNTIME_H

#include "cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef HIDDEN
#define RUNTIME __attribute__((visibility("hidden"), noinline, noclone))
#else
#define RUNTIME __attribute__((visibility("default"), noinline, noclone))
#endif

typedef int cudaError_t;

enum { RUNTIME_VERSION = 12040 };

struct cudaChannelFormatDesc {
	int x, y, z, w, kind;
};

struct cudaExtent {
	size_t width, height, depth;
};

RUNTIME cudaError_t cudaGetDeviceCount(int *count);
RUNTIME cudaError_t cudaGetDevice(int *device);
RUNTIME cudaError_t cudaSetDevice(int device);
RUNTIME cudaError_t cudaDeviceGetPCIBusId(char *text, int length, int device);
RUNTIME cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
RUNTIME cudaError_t cudaDeviceReset(void);
RUNTIME cudaError_t cudaMalloc(void **address, size_t bytes);
RUNTIME cudaError_t cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height);
RUNTIME cudaError_t cudaMallocManaged(void **address, size_t bytes, unsigned flags);
RUNTIME cudaError_t cudaFree(void *address);
RUNTIME cudaError_t cudaMallocAsync(void **address, size_t bytes, CUstream stream);
RUNTIME cudaError_t cudaFreeAsync(void *address, CUstream stream);
RUNTIME cudaError_t cudaHostAlloc(void **address, size_t bytes, unsigned flags);
RUNTIME cudaError_t cudaMallocHost(void **address, size_t bytes);
RUNTIME cudaError_t cudaFreeHost(void *address);
RUNTIME cudaError_t cudaHostRegister(void *address, size_t bytes, unsigned flags);
RUNTIME cudaError_t cudaHostUnregister(void *address);
RUNTIME cudaError_t cudaMallocArray(CUarray *array, const struct cudaChannelFormatDesc *d, size_t width, size_t height,
				    unsigned flags);
RUNTIME cudaError_t cudaMalloc3DArray(CUarray *array, const struct cudaChannelFormatDesc *d, struct cudaExtent size,
				      unsigned flags);
RUNTIME cudaError_t cudaFreeArray(CUarray array);
RUNTIME cudaError_t cudaMallocMipmappedArray(CUmipmappedArray *array, const struct cudaChannelFormatDesc *d,
					     struct cudaExtent size, unsigned levels, unsigned flags);
RUNTIME cudaError_t cudaFreeMipmappedArray(CUmipmappedArray array);

RUNTIME cudaError_t cudaDeviceGetDefaultMemPool(CUmemoryPool *pool, int device);
RUNTIME cudaError_t cudaMemPoolTrimTo(CUmemoryPool pool, size_t keep);
RUNTIME cudaError_t cudaMemPoolSetAttribute(CUmemoryPool pool, int attribute, void *value);
RUNTIME cudaError_t cudaMemPoolGetAttribute(CUmemoryPool pool, int attribute, void *value);
RUNTIME cudaError_t cudaMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count);

/* Makes sure that this thread has a context, as every function that needs one does. */
__attribute__((visibility("hidden"))) cudaError_t runtime_context(void);

#ifdef __cplusplus
}
#endif

#endif
