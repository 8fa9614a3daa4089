/* The runtime API for arrays and pools: see runtime.c. */
#include "runtime_driver.h"

/* ---- arrays ---------------------------------------------------------------------------------------------------- */

static CUDA_ARRAY3D_DESCRIPTOR descriptor(const struct cudaChannelFormatDesc *d, size_t width, size_t height,
					  size_t depth)
{
	static const int formats[3][3] = { { 0x08, 0x09, 0x0a }, { 0x01, 0x02, 0x03 }, { 0, 0x10, 0x20 } };
	int bits = d->x == 8 ? 0 : d->x == 16 ? 1 : 2;

	return (CUDA_ARRAY3D_DESCRIPTOR){ width, height, depth, d->kind >= 0 && d->kind < 3 ? formats[d->kind][bits] : 0,
					  (unsigned)(!!d->x + !!d->y + !!d->z + !!d->w), 0 };
}

RUNTIME cudaError_t cudaMallocArray(CUarray *array, const struct cudaChannelFormatDesc *d, size_t width, size_t height,
				    unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR whole = descriptor(d, width, height, 0);
	cudaError_t r = runtime_context();

	whole.Flags = flags;
	return r ? r : cu.Array3DCreate(array, &whole);
}

RUNTIME cudaError_t cudaMalloc3DArray(CUarray *array, const struct cudaChannelFormatDesc *d, struct cudaExtent size,
				      unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR whole = descriptor(d, size.width, size.height, size.depth);
	cudaError_t r = runtime_context();

	whole.Flags = flags;
	return r ? r : cu.Array3DCreate(array, &whole);
}

RUNTIME cudaError_t cudaFreeArray(CUarray array)
{
	cudaError_t r = runtime_context();

	return r ? r : cu.ArrayDestroy(array);
}

RUNTIME cudaError_t cudaMallocMipmappedArray(CUmipmappedArray *array, const struct cudaChannelFormatDesc *d,
					     struct cudaExtent size, unsigned levels, unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR whole = descriptor(d, size.width, size.height, size.depth);
	cudaError_t r = runtime_context();

	whole.Flags = flags;
	return r ? r : cu.MipmappedArrayCreate(array, &whole, levels);
}

RUNTIME cudaError_t cudaFreeMipmappedArray(CUmipmappedArray array)
{
	cudaError_t r = runtime_context();

	return r ? r : cu.MipmappedArrayDestroy(array);
}

/* ---- pools ----------------------------------------------------------------------------------------------------- */

RUNTIME cudaError_t cudaDeviceGetDefaultMemPool(CUmemoryPool *pool, int ordinal)
{
	cudaError_t r = runtime_context();

	return r ? r : cu.DeviceGetDefaultMemPool(pool, ordinal);
}

RUNTIME cudaError_t cudaMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	return cu.MemPoolTrimTo(pool, keep);
}

RUNTIME cudaError_t cudaMemPoolSetAttribute(CUmemoryPool pool, int attribute, void *value)
{
	return cu.MemPoolSetAttribute(pool, attribute, value);
}

RUNTIME cudaError_t cudaMemPoolGetAttribute(CUmemoryPool pool, int attribute, void *value)
{
	return cu.MemPoolGetAttribute(pool, attribute, value);
}

RUNTIME cudaError_t cudaMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
	(void)pool, (void)access, (void)count;
	return 0;
}
