/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sizes of large blocks: a table with open addressing and linear probing, where an entry is found by its block's
 * address. It is at most half full. An entry that goes is filled from behind it, so that there are no tombstones.
 */
#include "counts.h"

struct entry {
	uintptr_t block;     /* 0: free */
	size_t size;         /* with LENT for a lent block */
};

#define LENT ((size_t)1 << (8 * sizeof(size_t) - 1))

static struct entry *entries;
static size_t capacity;      /* a power of two, 0 at first */
static size_t used;

int locked;

#define FIRST 1024u          /* entries */

extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) __attribute__((weak));
extern int pthread_atfork(void (*)(void), void (*)(void), void (*)(void)) __attribute__((weak));

static void (*after_fork)(void);

static void before_fork(void)
{
	lock();
}

static void in_parent(void)
{
	unlock();
}

static void in_child(void)
{
	unlock();
	after_fork();
}

int prepare_records(void (*forked)(void))
{
	after_fork = forked;
	/* The lock is held across a fork, so that the child has a whole table and a lock that it can open. */
	if (__register_atfork)
		return __register_atfork(before_fork, in_parent, in_child, NULL) == 0;
	return pthread_atfork && pthread_atfork(before_fork, in_parent, in_child) == 0;
}

/* home returns the entry where a block's search begins, of a table of some capacity. */
static size_t home(uintptr_t block, size_t of)
{
	return (size_t)((uint64_t)(block >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (of - 1);
}

static void insert(struct entry *into, size_t of, struct entry new)
{
	size_t at = home(new.block, of);

	while (into[at].block && into[at].block != new.block)
		at = (at + 1) & (of - 1);
	into[at] = new;
}

static int grow(void)
{
	size_t larger = capacity ? 2 * capacity : FIRST;
	struct entry *next = calloc(larger, sizeof *next);

	if (!next)
		return 0;
	for (size_t i = 0; i < capacity; i++)
		if (entries[i].block)
			insert(next, larger, entries[i]);
	free(entries);
	entries = next;
	capacity = larger;
	return 1;
}

int record(const void *block, size_t size, int lent)
{
	int kept;

	lock();
	kept = 2 * (used + 1) <= capacity || grow();
	if (kept) {
		insert(entries, capacity, (struct entry){ (uintptr_t)block, size | (lent ? LENT : 0) });
		used++;
		hot.large += !lent && size >= LEAST_LENT;
	}
	unlock();
	return kept;
}

/* close_gap moves the entries behind a free one forward, where a search for them would else end there. */
static void close_gap(size_t gap)
{
	size_t at = gap;

	for (;;) {
		at = (at + 1) & (capacity - 1);
		if (!entries[at].block)
			break;
		/* An entry moves if its home is not between the gap (without it) and its place (with it), around the end. */
		if (((at - home(entries[at].block, capacity)) & (capacity - 1)) >= ((at - gap) & (capacity - 1))) {
			entries[gap] = entries[at];
			gap = at;
		}
	}
	entries[gap].block = 0;
}

size_t take_record(const void *block, int *lent)
{
	size_t size = UNKNOWN;

	lock();
	if (capacity) {
		size_t at = home((uintptr_t)block, capacity);
		while (entries[at].block && entries[at].block != (uintptr_t)block)
			at = (at + 1) & (capacity - 1);
		if (entries[at].block) {
			size = entries[at].size & ~LENT;
			*lent = (entries[at].size & LENT) != 0;
			used--;
			hot.large -= !*lent && size >= LEAST_LENT;
			close_gap(at);
		}
	}
	unlock();
	return size;
}
