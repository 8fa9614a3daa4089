/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sizes of large blocks: a table with open addressing and linear probing, where an entry is found by its block's
 * address. It is at most half full. An entry that goes is filled from behind it, so that there are no tombstones.
 */
#include "heap.h"

#include <sched.h>
#include <sys/mman.h>

struct entry {
	uintptr_t block;     /* 0: free */
	size_t size;
};

static struct entry *entries;
static size_t capacity;      /* a power of two, 0 at first */
static size_t used;
static int locked;

#define FIRST 4096u          /* entries */

/* A forked child does not count, so it never waits for a lock that another thread held at the fork. */
static void lock(void)
{
	while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void unlock(void)
{
	__atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
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
	struct entry *next;

	next = mmap(NULL, larger * sizeof *next, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (next == MAP_FAILED)
		return 0;
	for (size_t i = 0; i < capacity; i++)
		if (entries[i].block)
			insert(next, larger, entries[i]);
	if (entries)
		munmap(entries, capacity * sizeof *entries);
	entries = next;
	capacity = larger;
	return 1;
}

int record(const void *block, size_t size)
{
	int kept;

	lock();
	kept = 2 * (used + 1) <= capacity || grow();
	if (kept) {
		insert(entries, capacity, (struct entry){ (uintptr_t)block, size });
		used++;
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
		size_t from_home = (at - home(entries[at].block, capacity)) & (capacity - 1);
		if (from_home >= ((at - gap) & (capacity - 1))) {
			entries[gap] = entries[at];
			gap = at;
		}
	}
	entries[gap].block = 0;
}

/* find returns the place of a block's entry, capacity if there is none. */
static size_t find(const void *block)
{
	size_t at = capacity ? home((uintptr_t)block, capacity) : 0;

	if (!capacity)
		return capacity;
	while (entries[at].block && entries[at].block != (uintptr_t)block)
		at = (at + 1) & (capacity - 1);
	return entries[at].block ? at : capacity;
}

int is_recorded(const void *block)
{
	int is;

	lock();
	is = find(block) < capacity;
	unlock();
	return is;
}

size_t take_record(const void *block)
{
	size_t size = UNKNOWN, at;

	lock();
	at = find(block);
	if (at < capacity) {
		size = entries[at].size;
		used--;
		close_gap(at);
	}
	unlock();
	return size;
}
