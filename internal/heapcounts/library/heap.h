/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libipytracer_heap counts the live bytes of malloc's blocks inside a process: what is live, and the most since the
 * tracer last looked. `tracer run --heap` has the dynamic linker load it in front of the C library (LD_PRELOAD), with a
 * page of the tracer's, in which it counts. It passes each call on to the C library.
 *
 * It names no library that it needs: what it calls is the process's own C library's, found in the dynamic linker's
 * list. So one file works with glibc from 2.17 on. It is not for musl, whose calloc touches all of a block where
 * another library has malloc.
 *
 * A block's size, as it was asked for, is kept:
 *   - of a block below LARGE in its last 8 bytes, for which 8 bytes more are asked. It is sealed with the block's
 *     address, so that bytes which others have written are recognised. malloc writes beside them anyway: no page is
 *     touched for it;
 *   - of a larger block in a table (sizes.c). Its last page may never be touched.
 * Each larger block is told to the tracer, which has a probe at told(): so its lines are known.
 *
 * The library only passes calls on (PASS) in a process that did not get the page: a forked child, a program that
 * another one has executed, or one whose malloc is not the C library's.
 */
#ifndef IPYTRACER_HEAP_H
#define IPYTRACER_HEAP_H

#include <stddef.h>
#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))
#define EXPORT __attribute__((visibility("default")))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

#define LARGE (64u << 10)        /* bytes: larger blocks are told; COUNTED_BELOW of bpf/wire_blocks.h */
#define UNKNOWN ((size_t)-1)     /* the size of a block that is not counted */

/* The beginning of the tracer's page: struct counts of bpf/wire_blocks.h. */
struct counts {
	uint64_t current;    /* bytes of live blocks, as they were asked for */
	uint64_t peak;       /* the most of current since the tracer last took it */
	uint64_t lost;       /* blocks that could not be counted */
	uint32_t state;      /* enum heap_state; a process that counts says so here */
	uint32_t pid;        /* of the process that may count here, as it sees itself */
};

enum heap_state { HEAP_NOT_OFFERED, HEAP_OFFERED, HEAP_COUNTED, HEAP_REFUSED };

enum mode { UNDECIDED, PASS, COUNTS };

/* What the process does. While it counts, this is in memory that a forked child finds wiped: UNDECIDED. */
struct state {
	uint32_t mode;
};

extern struct state *state HIDDEN;
extern struct counts *counts HIDDEN;
extern const char *single HIDDEN;    /* not 0 while the process has one thread, as the C library says */
extern uint32_t chunks HIDDEN;       /* malloc is glibc's: a usable size is read from the block's header */
extern uint32_t counted HIDDEN;      /* the process has counted, or its parent had when it forked */

/* The functions that the process would call without this library. */
struct next {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*malloc_usable_size)(void *);
};

extern struct next next HIDDEN;

/* find_next fills in next. It returns whether calls of malloc would reach the C library's, without this library. */
int find_next(void) HIDDEN;
/* begin decides what the process does: at its first call of malloc, and at the first one of a forked child. */
void begin(void) HIDDEN;

/* record keeps the size of a large block. It returns 0 where there is no memory. */
int record(const void *block, size_t size) HIDDEN;
/* is_recorded reports whether the size of a block is kept. */
int is_recorded(const void *block) HIDDEN;
/* take_record returns the size of a large block and forgets it, UNKNOWN for a block that is not there. */
size_t take_record(const void *block) HIDDEN;

/* The tracer's probe is here. 0 and NULL stand for no block. */
EXPORT void ipytracer_heap_told(void *old, size_t before, void *new, size_t after);

static inline uint32_t mode(void)
{
	uint32_t now = __atomic_load_n(&__atomic_load_n(&state, __ATOMIC_RELAXED)->mode, __ATOMIC_RELAXED);

	if (LIKELY(now != UNDECIDED))
		return now;
	begin();
	return state->mode;
}

#endif
