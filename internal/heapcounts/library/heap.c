/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that the program calls. */
#include "heap.h"

#include <errno.h>

#define CHUNK_FLAGS 7u               /* in the size of glibc's chunk header */
#define CHUNK_MAPPED 2u
#define SEAL sizeof(uint64_t)        /* bytes of a block that its size takes */

static inline size_t usable(void *block)
{
	if (LIKELY(chunks)) {
		size_t size = ((const size_t *)block)[-1];
		/* A mapped chunk has a header of two words; another one also uses the next one's first word. */
		return (size & ~(size_t)CHUNK_FLAGS) - (size & CHUNK_MAPPED ? 2 : 1) * sizeof(size_t);
	}
	return next.malloc_usable_size(block);
}

static inline uint64_t seal(const void *block)
{
	return (uint64_t)(uintptr_t)block * UINT64_C(0x9E3779B97F4A7C15);
}

static inline void *seal_of(void *block, size_t room)
{
	return (char *)block + room - SEAL;
}

/* ---- counting */

static inline void raise_peak(uint64_t now)
{
	uint64_t peak = __atomic_load_n(&counts->peak, __ATOMIC_RELAXED);

	while (now > peak &&
	       !__atomic_compare_exchange_n(&counts->peak, &peak, now, 1, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

/* move adds a number of bytes, modulo 2^64. */
static inline void move(uint64_t by)
{
	if (*single) {
		uint64_t now = counts->current + by;
		__atomic_store_n(&counts->current, now, __ATOMIC_RELAXED);
		if (now > __atomic_load_n(&counts->peak, __ATOMIC_RELAXED))
			__atomic_store_n(&counts->peak, now, __ATOMIC_RELAXED);
		return;
	}
	raise_peak(__atomic_add_fetch(&counts->current, by, __ATOMIC_SEQ_CST));
}

static inline void move_down(uint64_t by)
{
	if (*single)
		__atomic_store_n(&counts->current, counts->current - by, __ATOMIC_RELAXED);
	else
		__atomic_fetch_sub(&counts->current, by, __ATOMIC_SEQ_CST);
}

static void lose(void)
{
	__atomic_fetch_add(&counts->lost, 1, __ATOMIC_RELAXED);
}

__attribute__((noinline)) void ipytracer_heap_told(void *old, size_t before, void *new, size_t after)
{
	/* Every kernel emulates this instruction where it has a probe. */
	__asm__ volatile("nop" : : "r"(old), "r"(before), "r"(new), "r"(after) : "memory");
}

/* ---- sizes */

/* keep notes the size of a new block. It returns whether the block can be counted. */
static inline int keep(void *block, size_t size)
{
	uint64_t sealed = size ^ seal(block);

	if (UNLIKELY(size >= LARGE)) {
		if (record(block, size))
			return 1;
		lose();
		return 0;
	}
	__builtin_memcpy(seal_of(block, usable(block)), &sealed, SEAL);
	return 1;
}

/* sealed_size returns the size in a block's last bytes, UNKNOWN where there is none. */
static inline size_t sealed_size(void *block, size_t room)
{
	uint64_t sealed;

	if (UNLIKELY(room < SEAL))
		return UNKNOWN;
	__builtin_memcpy(&sealed, seal_of(block, room), SEAL);
	sealed ^= seal(block);
	return LIKELY(sealed <= room - SEAL && sealed < LARGE) ? sealed : UNKNOWN;
}

/* take returns the size of a block and forgets it, UNKNOWN for a block that is not counted. */
static inline size_t take(void *block)
{
	const uint64_t none = 0;
	size_t room = usable(block), size = UNKNOWN;

	if (UNLIKELY(room >= LARGE))
		size = take_record(block);
	if (LIKELY(size == UNKNOWN)) {
		size = sealed_size(block, room);
		if (LIKELY(size != UNKNOWN))
			__builtin_memcpy(seal_of(block, room), &none, SEAL);
	}
	return size;
}

static inline size_t padded(size_t size)
{
	return size < LARGE ? size + SEAL : size;
}

static inline void *made(void *block, size_t size)
{
	if (UNLIKELY(!block) || UNLIKELY(!keep(block, size)))
		return block;
	move(size);
	if (UNLIKELY(size >= LARGE))
		ipytracer_heap_told(NULL, 0, block, size);
	return block;
}

/* gone counts a block out that is about to be freed. One that was never counted was made before, or by other means. */
static inline void gone(void *block)
{
	size_t size = take(block);

	if (UNLIKELY(size == UNKNOWN))
		return;
	move_down(size);
	if (UNLIKELY(size >= LARGE))
		ipytracer_heap_told(block, size, NULL, 0);
}

/* ---- ISO C, POSIX, glibc */

EXPORT void *malloc(size_t size)
{
	if (UNLIKELY(mode() != COUNTS))
		return next.malloc(size);
	return made(next.malloc(padded(size)), size);
}

EXPORT void free(void *block)
{
	if (UNLIKELY(!block))
		return;
	if (LIKELY(mode() == COUNTS))
		gone(block);
	next.free(block);
}

EXPORT void *calloc(size_t items, size_t item)
{
	size_t size;

	if (UNLIKELY(mode() != COUNTS) || UNLIKELY(__builtin_mul_overflow(items, item, &size)))
		return next.calloc(items, item);
	if (UNLIKELY(size >= LARGE))
		return made(next.calloc(items, item), size);
	return made(next.calloc(padded(size), 1), size);
}

/* moved counts a block that has been resized. Both moves are one: the old block and the new one are never both live. */
static void moved(void *old, size_t before, void *new, size_t after)
{
	if (!keep(new, after))
		after = 0;
	move(after - before);
	before = before < LARGE ? 0 : before;
	after = after < LARGE ? 0 : after;
	if (before || after)
		ipytracer_heap_told(before ? old : NULL, before, after ? new : NULL, after);
}

EXPORT void *realloc(void *block, size_t size)
{
	void *new;
	size_t before;

	if (UNLIKELY(mode() != COUNTS))
		return next.realloc(block, size);
	if (!block)
		return made(next.malloc(padded(size)), size);
	if (UNLIKELY(!size)) {      /* glibc frees it, and returns no block */
		gone(block);
		return next.realloc(block, 0);
	}
	before = take(block);
	new = next.realloc(block, padded(size));
	if (UNLIKELY(before == UNKNOWN))
		return made(new, size);
	if (LIKELY(new))
		moved(block, before, new, size);
	else if (!keep(block, before))
		move_down(before);
	return new;
}

EXPORT void *reallocarray(void *block, size_t items, size_t item)
{
	size_t size;

	if (__builtin_mul_overflow(items, item, &size)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(block, size);
}

static void *refuse(void)
{
	errno = ENOMEM;
	return NULL;
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	if (LIKELY(mode() == COUNTS))
		return made(next.memalign(alignment, padded(size)), size);
	return next.memalign ? next.memalign(alignment, size) : refuse();
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	if (LIKELY(mode() == COUNTS))
		return made(next.aligned_alloc(alignment, padded(size)), size);
	return next.aligned_alloc ? next.aligned_alloc(alignment, size) : refuse();
}

EXPORT int posix_memalign(void **to, size_t alignment, size_t size)
{
	int failed;

	if (UNLIKELY(mode() != COUNTS))
		return next.posix_memalign ? next.posix_memalign(to, alignment, size) : ENOMEM;
	failed = next.posix_memalign(to, alignment, padded(size));
	if (!failed)
		made(*to, size);
	return failed;
}

EXPORT void *valloc(size_t size)
{
	if (UNLIKELY(!next.valloc))
		return refuse();
	return mode() == COUNTS ? made(next.valloc(padded(size)), size) : next.valloc(size);
}

EXPORT void *pvalloc(size_t size)
{
	if (UNLIKELY(!next.pvalloc))
		return refuse();
	return mode() == COUNTS ? made(next.pvalloc(padded(size)), size) : next.pvalloc(size);
}

/* The last bytes of a block that has its size there are not the program's, also in a process that counts no more. */
EXPORT size_t malloc_usable_size(void *block)
{
	uint32_t now = mode();
	size_t room;

	if (!block || !next.malloc_usable_size)
		return 0;
	room = usable(block);
	if (!counted || (now == COUNTS && room >= LARGE && is_recorded(block)))
		return room;
	return sealed_size(block, room) == UNKNOWN ? room : room - SEAL;
}

EXPORT void cfree(void *block)
{
	free(block);
}

EXPORT void free_sized(void *block, size_t size)
{
	(void)size;
	free(block);
}

EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	free(block);
}
