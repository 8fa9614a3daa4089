/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The sizes of arrays in bytes. A request gives only their dimensions and format. */
#ifndef IPYTRACER_CUDA_ARRAYS_H
#define IPYTRACER_CUDA_ARRAYS_H

/* ---- arrays ----------------------------------------------------------------------------------------------------- */

/* CUDA_ARRAY_DESCRIPTOR_v2 and CUDA_ARRAY3D_DESCRIPTOR_v2 (cuda.h). */
struct array_2d {
	__u64 width, height;
	__u32 format, channels;
};

struct array_3d {
	__u64 width, height, depth;
	__u32 format, channels, flags, padding;
};

/* CUarray_format; 0 for the compressed and planar ones. */
static __always_inline __u32 format_bytes(__u32 format)
{
	switch (format) {
	case 0x01: /* UNSIGNED_INT8 */
	case 0x08: /* SIGNED_INT8 */
		return 1;
	case 0x02: /* UNSIGNED_INT16 */
	case 0x09: /* SIGNED_INT16 */
	case 0x10: /* HALF */
		return 2;
	case 0x03: /* UNSIGNED_INT32 */
	case 0x0a: /* SIGNED_INT32 */
	case 0x20: /* FLOAT */
		return 4;
	}
	return 0;
}

#define ARRAY_LAYERED 1 /* CUDA_ARRAY3D_LAYERED: depth counts layers, which do not shrink from level to level */
#define ARRAY_CUBEMAP 4
#define MAX_LEVELS    32

struct array_3d_narrow {
	__u32 width, height, depth, format, channels, flags;
};

static __always_inline bool read_descriptor(struct array_3d *a, __u64 descriptor, bool flat, bool narrow)
{
	if (narrow) { /* the flat one is the same without depth */
		struct array_3d_narrow n = {};
		if (bpf_probe_read_user(&n, flat ? 16 : sizeof(n), (void *)descriptor))
			return false;
		a->width = n.width;
		a->height = n.height;
		a->depth = flat ? 0 : n.depth;
		a->format = flat ? n.depth : n.format;
		a->channels = flat ? n.format : n.channels;
		a->flags = flat ? 0 : n.flags;
		return true;
	}
	if (!flat)
		return !bpf_probe_read_user(a, sizeof(*a), (void *)descriptor);
	struct array_2d two = {};
	if (READ(two, descriptor))
		return false;
	a->width = two.width;
	a->height = two.height;
	a->format = two.format;
	a->channels = two.channels;
	return true;
}

/*
 * Returns 1 for 0, else 0, for numbers below 2^63. Without a branch: the verifier would follow each of them at every
 * level.
 */
static __always_inline __u64 is_zero(__u64 number)
{
	return (number - 1) >> 63;
}

/* Returns the bytes of an array's levels. A function of its own: verified once, for any array. */
__attribute__((noinline)) __u64 levels_bytes(struct array_3d *a, __u64 element, __u32 levels)
{
	__u64 total = 0;

	if (!a)
		return 0;
	bool shrinks = !(a->flags & (ARRAY_LAYERED | ARRAY_CUBEMAP));
	for (__u32 level = 0; level < MAX_LEVELS && level < levels; level++) {
		__u64 width = a->width >> level, height = a->height >> level, depth = a->depth >> level * shrinks;
		/* Levels beyond the last one do not count. */
		__u64 there = !level | !is_zero(width | height | depth * shrinks);
		total += (width + is_zero(width)) * (height + is_zero(height)) * (depth + is_zero(depth)) * element *
			 there;
	}
	return total;
}

__attribute__((noinline)) __s64 array_bytes(__u64 descriptor, __u32 dimensions, __u32 levels, __u32 narrow)
{
	struct array_3d a = {};

	if (!read_descriptor(&a, descriptor, dimensions == 2, narrow)) {
		lose(LOSS_READ);
		return 0;
	}
	__u64 element = format_bytes(a.format) * (__u64)a.channels;
	if (!element) {
		lose(LOSS_FORMAT);
		return 0;
	}
	return levels_bytes(&a, element, levels);
}

#endif
