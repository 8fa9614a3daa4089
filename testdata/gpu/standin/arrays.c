/* CUDA arrays: opaque memory for textures. They count by the size of their elements. */
#include <stdlib.h>

#include "internal.h"

struct array {
	int device, mipmapped;
	int64_t bytes;
	struct context *context;
	struct array *next;
};

static struct array *arrays;

/* CU_AD_FORMAT_*: bytes of one channel, 0 for a format that is not simulated. */
static size_t channel(int format)
{
	switch (format) {
	case 0x01: case 0x08: return 1;			/* (un)signed int 8 */
	case 0x02: case 0x09: case 0x10: return 2;	/* (un)signed int 16, half */
	case 0x03: case 0x0a: case 0x20: return 4;	/* (un)signed int 32, float */
	}
	return 0;
}

static size_t one(size_t n)
{
	return n ? n : 1;
}

/* Bytes of one level; each is half the one below it, in every direction but the layers'. 0: no such array. */
static int64_t level(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned i)
{
	size_t depth = d->Flags & CUDA_ARRAY3D_LAYERED ? d->Depth : d->Depth >> i, bytes;

	if (!d->Width || !channel(d->Format) || (d->NumChannels != 1 && d->NumChannels != 2 && d->NumChannels != 4))
		return 0;
	bytes = channel(d->Format) * d->NumChannels;
	if (__builtin_mul_overflow(bytes, one(d->Width >> i), &bytes) ||
	    __builtin_mul_overflow(bytes, one(d->Height >> i), &bytes) ||
	    __builtin_mul_overflow(bytes, one(depth), &bytes) || bytes > INT64_MAX / 4)
		return 0;
	return (int64_t)bytes;
}

static unsigned most_levels(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	size_t size = d->Width > d->Height ? d->Width : d->Height;
	unsigned n = 1;

	if (!(d->Flags & CUDA_ARRAY3D_LAYERED) && d->Depth > size)
		size = d->Depth;
	while (size >>= 1)
		n++;
	return n;
}

static CUresult create(struct array **out, const CUDA_ARRAY3D_DESCRIPTOR *d, int mipmapped, unsigned levels)
{
	int64_t bytes = 0;
	struct context *c;
	struct array *a;
	CUresult r = enter_context(&c);

	if (r)
		return r;
	if (!out || !d || !level(d, 0) || !levels)
		return leave(CUDA_ERROR_INVALID_VALUE);
	if (levels > most_levels(d))
		levels = most_levels(d);
	for (unsigned i = 0; i < levels; i++)
		bytes += level(d, i);
	if (charge(c->device, bytes))
		return leave(CUDA_ERROR_OUT_OF_MEMORY);
	a = malloc(sizeof *a);
	*a = (struct array){ c->device, mipmapped, bytes, c, arrays };
	arrays = a;
	*out = a;
	return leave(CUDA_SUCCESS);
}

static void drop(struct array **at)
{
	struct array *a = *at;

	*at = a->next;
	discharge(a->device, a->bytes);
	free(a);
}

static CUresult destroy(struct array *array, int mipmapped)
{
	struct array **at = &arrays;
	CUresult r = enter();

	if (r)
		return r;
	while (*at && *at != array)
		at = &(*at)->next;
	if (!*at || array->mipmapped != mipmapped)
		return leave(CUDA_ERROR_INVALID_VALUE);
	drop(at);
	return leave(CUDA_SUCCESS);
}

void arrays_of_context_free(struct context *context)
{
	for (struct array **at = &arrays; *at;) {
		if ((*at)->context == context)
			drop(at);
		else
			at = &(*at)->next;
	}
}

API CUresult cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *d)
{
	CUDA_ARRAY3D_DESCRIPTOR whole = { 0 };

	if (d)
		whole = (CUDA_ARRAY3D_DESCRIPTOR){ d->Width, d->Height, 0, d->Format, d->NumChannels, 0 };
	return create(array, d ? &whole : NULL, 0, 1);
}

API CUresult cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	CUresult r = create(array, d, 0, 1);

	return r;
}

API CUresult cuArrayDestroy(CUarray array)
{
	CUresult r = destroy(array, 0);

	return r;
}

API CUresult cuMipmappedArrayCreate(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels)
{
	CUresult r = create(array, d, 1, levels);

	return r;
}

API CUresult cuMipmappedArrayDestroy(CUmipmappedArray array)
{
	CUresult r = destroy(array, 1);

	return r;
}
