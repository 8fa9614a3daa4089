/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include "counts.h"

#define FIRST 1024u          /* entries */

/* home returns the entry where a block's search begins, of a table of some capacity. */
static size_t home(uintptr_t block, size_t of)
{
	return (size_t)((uint64_t)(block >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (of - 1);
}

/* insert puts an entry in, and returns the word of the one that it replaces. */
static size_t insert(struct entry *into, size_t of, struct entry new)
{
	size_t at = home(new.block, of), before;

	while (into[at].block && into[at].block != new.block)
		at = (at + 1) & (of - 1);
	before = into[at].block ? into[at].word : NO_WORD;
	into[at] = new;
	return before;
}

static int grow(struct table *t)
{
	size_t larger = t->capacity ? 2 * t->capacity : FIRST;
	struct entry *next = calloc(larger, sizeof *next);

	if (!next)
		return 0;
	for (size_t i = 0; i < t->capacity; i++)
		if (t->entries[i].block)
			insert(next, larger, t->entries[i]);
	free(t->entries);
	t->entries = next;
	t->capacity = larger;
	return 1;
}

int put_entry(struct table *t, const void *block, size_t word, size_t *before)
{
	if (2 * (t->used + 1) > t->capacity && !grow(t))
		return 0;
	*before = insert(t->entries, t->capacity, (struct entry){ (uintptr_t)block, word });
	t->used += *before == NO_WORD;
	return 1;
}

/* close_gap moves the entries behind a free one forward, where a search for them would else end there. */
static void close_gap(struct table *t, size_t gap)
{
	size_t at = gap, mask = t->capacity - 1;

	for (;;) {
		at = (at + 1) & mask;
		if (!t->entries[at].block)
			break;
		/* An entry moves if its home is not between the gap (without it) and its place (with it), around the end. */
		if (((at - home(t->entries[at].block, t->capacity)) & mask) >= ((at - gap) & mask)) {
			t->entries[gap] = t->entries[at];
			gap = at;
		}
	}
	t->entries[gap].block = 0;
}

size_t take_entry(struct table *t, const void *block)
{
	size_t at, word;

	if (!t->used)
		return NO_WORD;
	at = home((uintptr_t)block, t->capacity);
	while (t->entries[at].block && t->entries[at].block != (uintptr_t)block)
		at = (at + 1) & (t->capacity - 1);
	if (!t->entries[at].block)
		return NO_WORD;
	word = t->entries[at].word;
	t->used--;
	close_gap(t, at);
	return word;
}
