/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of blocks by their addresses, with open addressing and linear probing. It is at most half full. An entry that
 * goes is filled from behind it, so that there are no tombstones. One thread at a time may use a table.
 */
#ifndef IPYTRACER_TABLE_H
#define IPYTRACER_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct entry {
	uintptr_t block;     /* 0: free */
	size_t word;         /* the caller's */
};

struct table {
	struct entry *entries;
	size_t capacity;     /* a power of two, 0 at first */
	size_t used;
};

#define NO_WORD ((size_t)-1)

/*
 * put_entry gives a block its word, and stores the one that it had, NO_WORD if it had none. It returns 0 where there is
 * no memory.
 */
int put_entry(struct table *t, const void *block, size_t word, size_t *before) __attribute__((visibility("hidden")));
/* take_entry returns the word of a block and forgets it, NO_WORD for a block that is not there. */
size_t take_entry(struct table *t, const void *block) __attribute__((visibility("hidden")));

#endif
