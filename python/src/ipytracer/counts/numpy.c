/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NumPy's data allocator (NEP 49, NumPy from 1.22): the functions by which NumPy gets and frees the memory of arrays.
 * They count each block, and get it from malloc as NumPy's own do. Those also keep small freed blocks for the next
 * array; these leave that to malloc.
 */
#include "sizes.h"

#include <sys/mman.h>
#include <unistd.h>

#define LEAST_HUGE (4u << 20)        /* bytes from which NumPy asks for huge pages */
#define PAGE 4096u                   /* bytes that NumPy aligns such a request to, whatever the machine's pages are */

static inline void count_made(void *block, size_t size)
{
	struct counts *counts = hot.counts;
	uint64_t now;

	lock_blocks();
	now = counts->current += size;
	if (now > counts->peak)
		counts->peak = now;
	counts->last = (uintptr_t)block;
	unlock_blocks();
}

static inline void count_freed(size_t size)
{
	lock_blocks();
	hot.counts->current -= size;
	hot.counts->last = 0;
	unlock_blocks();
}

static inline void *counted(void *block, size_t size)
{
	if (block && keep(block, size))
		count_made(block, size);
	return block;
}

static void ask_for_huge(void *block, size_t size, uint32_t which)
{
	size_t offset;

	if (size < LEAST_HUGE || !(hot.huge & which) || !block)
		return;
	offset = PAGE - (uintptr_t)block % PAGE;
	madvise((char *)block + offset, size - offset, MADV_HUGEPAGE);
}

/* PyDataMemAllocator of NumPy's ndarraytypes.h. */
struct allocator {
	void *context;
	void *(*malloc)(void *, size_t);
	void *(*calloc)(void *, size_t, size_t);
	void *(*realloc)(void *, void *, size_t);
	void (*free)(void *, void *, size_t);
};

/* PyDataMem_Handler there, version 1. */
struct handler {
	char name[127];
	uint8_t version;
	struct allocator allocator;
};

static struct allocator numpys;      /* NumPy's own functions */
static uint64_t beside;              /* blocks that other code made with them, since take_beside */

static void *beside_malloc(void *context, size_t size)
{
	__atomic_fetch_add(&beside, 1, __ATOMIC_RELAXED);
	return numpys.malloc(context, size);
}

static void *beside_calloc(void *context, size_t items, size_t item)
{
	__atomic_fetch_add(&beside, 1, __ATOMIC_RELAXED);
	return numpys.calloc(context, items, item);
}

uint64_t take_beside(void)
{
	return __atomic_exchange_n(&beside, 0, __ATOMIC_RELAXED);
}

/* is_writable reports whether memory can be written to: the kernel writes there what is there. */
static int is_writable(void *at, size_t size)
{
	int ends[2], written = 0;

	if (pipe(ends))
		return 0;
	if (write(ends[1], at, size) == (ssize_t)size)
		written = read(ends[0], at, size) == (ssize_t)size;
	close(ends[0]);
	close(ends[1]);
	return written;
}

int use_allocator(void *handler)
{
	struct allocator *theirs = &((struct handler *)handler)->allocator;

	numpys = *theirs;
	if (!is_writable(theirs, sizeof *theirs))
		return 0;
	__atomic_store_n(&theirs->malloc, beside_malloc, __ATOMIC_RELEASE);
	__atomic_store_n(&theirs->calloc, beside_calloc, __ATOMIC_RELEASE);
	return 1;
}

/* Lent blocks exist only where one thread at a time is here, or in its child. */

static void *lent(void *block, size_t size)
{
	size_t room;

	hot.counts->last = 0;
	if (!block)
		return NULL;
	room = usable(block);
	if (carries(room))
		take_seal(block, room); /* of a block that was freed behind NumPy's back */
	if (!record(block, size, 1)) {
		count_lost();
		return block;
	}
	hot.lent += size;
	return block;
}

/* lend_small lends a block below LEAST_LENT bytes: by malloc, or by calloc where it is to be zero. */
static __attribute__((noinline)) void *lend_small(size_t size, int zero)
{
	uint64_t since = clock_now();
	void *block = zero ? numpys.calloc(numpys.context, size, 1) : numpys.malloc(numpys.context, size);

	hot.counts->sample = 0;
	block = lent(block, size);
	pay_for_sample(&hot.samples, since);
	return block;
}

/* lend lends a block that is not counted here. */
static void *lend(size_t size, int zero)
{
	if (hot.samples.lend_from && size < LEAST_LENT)
		return lend_small(size, zero);
	return lent(zero ? numpys.calloc(numpys.context, size, 1) : numpys.malloc(numpys.context, size), size);
}

/* is_lent reports whether a new block comes from NumPy's own functions. */
static inline int is_lent(size_t size)
{
	if (UNLIKELY(size >= hot.samples.lend_from))
		return 1;
	return UNLIKELY((hot.samples.until -= (int64_t)size) < 0) && is_sample(&hot.samples, size, &hot.counts->sample);
}

/* unlent takes in that a lent block goes, or is resized. */
static void unlent(size_t size)
{
	if (hot.samples.lend_from == NEVER_LENT) {
		uint64_t most = hot.counts->peak + hot.lent;
		if (most > hot.high)
			hot.high = most;
		hot.counts->peak = hot.counts->current;
	}
	hot.lent -= size;
}

static void *numpy_malloc(void *context, size_t size)
{
	void *block;

	(void)context;
	if (is_lent(size))
		return lend(size, 0);
	block = malloc(padded(size));
	if (UNLIKELY(size >= LEAST_HUGE))
		ask_for_huge(block, size, HUGE_MALLOC);
	return counted(block, size);
}

static void *numpy_calloc(void *context, size_t items, size_t item)
{
	size_t size;
	void *block;

	(void)context;
	if (__builtin_mul_overflow(items, item, &size))
		return NULL;
	if (is_lent(size))
		return lend(size, 1);
	block = calloc(padded(size), 1);
	if (UNLIKELY(size >= LEAST_HUGE))
		ask_for_huge(block, size, HUGE_CALLOC);
	return counted(block, size);
}

static void numpy_free(void *context, void *block, size_t size)
{
	int was_lent;

	(void)context;
	(void)size;      /* NumPy's word, which differs where a size has been changed in place */
	if (!block)
		return;
	size = take(block, &was_lent);
	if (UNLIKELY(was_lent)) {
		unlent(size);
		numpys.free(numpys.context, block, size);
		return;
	}
	if (size != UNKNOWN)
		count_freed(size);
	free(block);
}

/* resize resizes a block that is not lent and stays so. before: its size, or UNKNOWN. */
static void *resize(void *block, size_t before, size_t size)
{
	void *moved = realloc(block, padded(size));

	if (!moved) {
		if (before != UNKNOWN && !keep(block, before))
			count_freed(before);
		return NULL;
	}
	/* The old block goes first, as a tracer's probes see it; inside realloc both may live at once. */
	if (before != UNKNOWN)
		count_freed(before);
	return counted(moved, size);
}

/* resize_lent resizes a block that is lent and stays so. */
static void *resize_lent(void *block, size_t before, size_t size)
{
	void *moved;

	unlent(before);
	moved = numpys.realloc(numpys.context, block, size);
	if (!moved) {
		lent(block, before);
		return NULL;
	}
	return lent(moved, size);
}

/* resize_and_lend resizes a block that is not lent and has to be. As elsewhere, the old block is counted out first. */
static void *resize_and_lend(void *block, size_t before, size_t size)
{
	void *moved;

	count_freed(before);
	moved = lend(size, 0);
	if (!moved) {
		if (keep(block, before))
			count_made(block, before);
		return NULL;
	}
	__builtin_memcpy(moved, block, before < size ? before : size);
	free(block);
	return moved;
}

/* resize_and_take_back resizes a lent block that is small from now on. */
static void *resize_and_take_back(void *block, size_t before, size_t size)
{
	void *moved = malloc(padded(size));

	if (!moved) {
		if (!record(block, before, 1))
			count_lost();
		return NULL;
	}
	__builtin_memcpy(moved, block, before < size ? before : size);
	unlent(before);
	numpys.free(numpys.context, block, before);
	return counted(moved, size);
}

static void *numpy_realloc(void *context, void *block, size_t size)
{
	size_t before;
	int was_lent;

	if (!block)
		return numpy_malloc(context, size);
	before = take(block, &was_lent);
	if (was_lent && size >= hot.samples.lend_from)
		return resize_lent(block, before, size);
	if (was_lent)
		return resize_and_take_back(block, before, size);
	if (before != UNKNOWN && UNLIKELY(size >= hot.samples.lend_from))
		return resize_and_lend(block, before, size);
	return resize(block, before, size);
}

static struct handler handler = {
	"ipytracer_counts", 1, { NULL, numpy_malloc, numpy_calloc, numpy_realloc, numpy_free },
};

/* ipytracer_counts_handler returns the PyDataMem_Handler. */
EXPORT void *ipytracer_counts_handler(void)
{
	return &handler;
}
