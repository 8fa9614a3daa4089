/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of blocks, as NumPy asked for them: in the blocks themselves, or in the table. */
#ifndef IPYTRACER_SIZES_H
#define IPYTRACER_SIZES_H

#include "counts.h"

#define CHUNK_FLAGS 7u               /* in the size of glibc's chunk header */
#define CHUNK_MAPPED 2u

static inline size_t usable(const void *block)
{
	if (hot.chunks) {
		size_t size = ((const size_t *)block)[-1];
		/* A mapped chunk has a header of two words; another one also uses the next one's first word. */
		return (size & ~(size_t)CHUNK_FLAGS) - (size & CHUNK_MAPPED ? 2 : 1) * sizeof(size_t);
	}
	return malloc_usable_size((void *)block);
}

static inline uint64_t seal(const void *block)
{
	return (uint64_t)(uintptr_t)block * UINT64_C(0x9E3779B97F4A7C15);
}

/* padded returns how much to ask malloc for, for a block that can keep its size. */
static inline size_t padded(size_t size)
{
	if (size <= SMALL - sizeof(uint64_t))
		return size + sizeof(uint64_t);
	if (UNLIKELY(size <= SMALL))
		return SMALL + 1;
	return size;
}

static void count_lost(void)
{
	__atomic_fetch_add(&hot.counts->lost, 1, __ATOMIC_RELAXED);
}

/* carries reports whether a block of so many usable bytes carries its size. Others' blocks may have less than 8. */
static inline int carries(size_t room)
{
	return room - sizeof(uint64_t) <= SMALL - sizeof(uint64_t);
}

/* keep notes the size of a block that malloc has just returned. It returns whether the block can be counted. */
static inline int keep(void *block, size_t size)
{
	size_t room = usable(block);
	uint64_t sealed = size ^ seal(block);

	if (UNLIKELY(room > SMALL)) {
		if (record(block, size, 0))
			return 1;
		count_lost();
		return 0;
	}
	__builtin_memcpy((char *)block + room - sizeof sealed, &sealed, sizeof sealed);
	return 1;
}

/*
 * take_seal returns the size that a block carries, and removes it, so that no later block at this address has it:
 * UNKNOWN if it carries none.
 */
static inline size_t take_seal(void *block, size_t room)
{
	uint64_t sealed, none = 0;
	char *at = (char *)block + room - sizeof sealed;
	size_t size;

	__builtin_memcpy(&sealed, at, sizeof sealed);
	size = sealed ^ seal(block);
	if (UNLIKELY(size > room - sizeof sealed))
		return UNKNOWN;
	__builtin_memcpy(at, &none, sizeof none);
	return size;
}

/* take returns the size of a block and forgets it, UNKNOWN for a block that is not counted, and whether it is lent. */
static inline size_t take(void *block, int *lent)
{
	size_t room = usable(block), size = carries(room) ? take_seal(block, room) : UNKNOWN;

	*lent = 0;
	if (UNLIKELY(size == UNKNOWN))
		size = take_record(block, lent);
	if (UNLIKELY(size == UNKNOWN))
		count_lost();
	return size;
}

#endif
