/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libipytracer_counts counts the live bytes of NumPy's arrays inside the process, and those of PyTorch's tensors
 * (tensors.c): what is live, and the most since a reader last asked. The companion loads it with ctypes, when the user
 * asks for it, and never unloads it: each array keeps the functions that made it.
 *
 * It uses no header of Python or NumPy and names no library that it needs: every function that it calls is one of the
 * process's own C library. So one file works with glibc from 2.17 and with musl.
 *
 * A block's size is kept, because NumPy does not say the old size where it resizes one:
 *   - in the block's last 8 bytes, where the block has at most SMALL usable bytes. The size is sealed with the block's
 *     address, so that bytes which others have written are recognised;
 *   - in a table (records.c) for a larger block: the last page of such a block may never be touched, and writing a size
 *     there would make it resident.
 * A block is always what malloc returned, so code that takes an array's data over may free it with free.
 *
 * While a tracer listens, the counters lie in a page that it has given to the process (ipytracer_counts_use), and it
 * reads the most of them there. Blocks from LEAST_LENT bytes on are then lent: they come from NumPy's own functions,
 * where the tracer has probes, and are not in the page. So do samples of smaller blocks (samples.c), for the sake of
 * their lines. The tracer follows forked children, which have no page: all of their new blocks are lent.
 */
#ifndef IPYTRACER_COUNTS_H
#define IPYTRACER_COUNTS_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The C library's, without the attributes that its headers give them: by those (and by its own knowledge of malloc,
 * which -fno-builtin takes away) a compiler infers that there is nothing of a block beyond the size that was asked for.
 */
void *malloc(size_t size);
void *calloc(size_t items, size_t item);
void *realloc(void *block, size_t size);
void free(void *block);
size_t malloc_usable_size(void *block);

#define EXPORT __attribute__((visibility("default")))
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

#define SMALL (32u << 10)    /* usable bytes of the largest block that carries its own size */

/*
 * The counters, in bytes and blocks. A page of the tracer begins with them (bpf/wire_blocks.h).
 */
struct counts {
	uint64_t current;    /* bytes of live blocks that are not lent, as NumPy asked for them */
	uint64_t peak;       /* the most of current since it was last taken */
	uint64_t lost;       /* blocks that could not be counted, or had no valid size when they were freed */
	uint64_t last;       /* address of the block that was made last; 0 once it has gone, and for a lent one */
	uint64_t sample;     /* of a sample that is being lent: 1 + e, where 1 KiB << e is the interval; else 0 */
};

/* Which small blocks are lent, for the sake of their lines: samples.c. */
struct samples {
	size_t lend_from;    /* bytes of the smallest block that is lent */
	int64_t until;       /* bytes of blocks until the next sample */
	size_t least;        /* bytes of the smallest sample */
	int64_t credit;      /* nanoseconds */
	uint64_t counted_to; /* the time until which credit has accrued */
	uint64_t random;
	uint32_t doublings;  /* of the interval */
};

/* What the counting functions look at for each block: the first part of it, in one cache line. */
struct hot {
	struct counts *counts;
	uint32_t alone;      /* one thread at a time calls in here: it holds Python's global interpreter lock */
	uint32_t chunks;     /* malloc is glibc's own: the usable size is read from the block's header */
	struct samples samples;
	uint64_t lent;       /* bytes of live lent blocks */
	uint64_t high;       /* the most of all blocks before the last lent one went, since ipytracer_counts_take */
	size_t large;        /* blocks from LEAST_LENT bytes on that are not lent */
	uint32_t huge;       /* HUGE_*: which blocks NumPy itself would ask huge pages for */
};

#define HUGE_MALLOC 1u
#define HUGE_CALLOC 2u

#define LEAST_LENT (64u << 10)   /* bytes; COUNTED_BELOW of bpf/wire_blocks.h */
#define NEVER_LENT ((size_t)-1)
#define NEVER      INT64_MAX     /* bytes until a sample */
#define UNKNOWN ((size_t)-1)     /* the size of a block that is not counted */

extern struct hot hot __attribute__((visibility("hidden")));

/* The lock of the counters and the records. Only where several threads may come at once does anybody take it. */
extern int locked __attribute__((visibility("hidden")));

/* lock waits for a lock that several threads use, unlock opens it. */
void lock(int *held) __attribute__((visibility("hidden")));
static inline void unlock(int *held)
{
	__atomic_store_n(held, 0, __ATOMIC_RELEASE);
}

static inline void lock_blocks(void)
{
	if (!hot.alone)
		lock(&locked);
}

static inline void unlock_blocks(void)
{
	if (UNLIKELY(!hot.alone))
		unlock(&locked);
}

/* record keeps the size of a block in the table, and whether it is lent. It returns 0 where there is no memory. */
int record(const void *block, size_t size, int lent) __attribute__((visibility("hidden")));
/* take_record returns the size of a block in the table and forgets it, UNKNOWN for a block that is not there. */
size_t take_record(const void *block, int *lent) __attribute__((visibility("hidden")));
/*
 * prepare_records makes the records usable in the child of a fork, where forked is called. It returns 0 where that is
 * not possible.
 */
int prepare_records(void (*forked)(void)) __attribute__((visibility("hidden")));
/*
 * begin_samples has small blocks lent for the sake of their lines, end_samples ends that. Only one thread at a time may
 * make blocks meanwhile.
 */
void begin_samples(struct samples *s) __attribute__((visibility("hidden")));
void end_samples(struct samples *s, size_t lend_from) __attribute__((visibility("hidden")));
/*
 * is_sample reports whether a block is a sample, once as many bytes were made as s->until. note: the page's sample,
 * which is set then.
 */
int is_sample(struct samples *s, size_t size, uint64_t *note) __attribute__((visibility("hidden")));
/* adjust_samples takes in the time that has passed. */
void adjust_samples(struct samples *s) __attribute__((visibility("hidden")));
/* clock_now returns the time, in nanoseconds. */
uint64_t clock_now(void) __attribute__((visibility("hidden")));
/* pay_for_sample takes in that a small block was lent: what it has cost from since until now. */
void pay_for_sample(struct samples *s, uint64_t since) __attribute__((visibility("hidden")));
/* at_fork has functions called around each fork. It returns 0 where that is not possible. */
int at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
	__attribute__((visibility("hidden")));
/* map_page maps a tracer's page, and seals the mapping if it may: see ipytracer_counts_use. NULL: it cannot. */
struct counts *map_page(int descriptor, int seal, int *sealed) __attribute__((visibility("hidden")));
/* unmap_page unmaps a page that is not sealed. */
void unmap_page(struct counts *page, int sealed) __attribute__((visibility("hidden")));
/*
 * use_allocator sets the PyDataMem_Handler that lends blocks: NumPy's own. From then on its functions count the blocks
 * that other code makes with them. It returns 0 where that is not possible.
 */
int use_allocator(void *handler) __attribute__((visibility("hidden")));
/* take_beside returns how many blocks other code has made with NumPy's own functions since it was last called. */
uint64_t take_beside(void) __attribute__((visibility("hidden")));

#endif
