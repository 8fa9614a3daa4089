#include <stdlib.h>

#include "internal.h"

/* Where the H200's expandable segments began (0x302000000); nothing of a normal process lies there. */
static const uint64_t FIRST = 0x302000000, LAST = 0x500000000000;

struct range {
	uint64_t begin, end;
	struct range *next;
};

static struct range *ranges;	/* by address */

static int64_t rounded(int64_t span)
{
	return (span + GRANULARITY - 1) / GRANULARITY * GRANULARITY;
}

static uint64_t insert(struct range **at, uint64_t begin, int64_t span)
{
	struct range *r = malloc(sizeof *r);

	*r = (struct range){ begin, begin + (uint64_t)span, *at };
	*at = r;
	return begin;
}

/* The real driver, too, reuses an address as soon as it can: this reveals a tracer that misses a free. */
uint64_t range_take(int64_t span)
{
	struct range **at = &ranges;
	uint64_t begin = FIRST;

	span = rounded(span ? span : 1);
	for (; *at && (*at)->begin - begin < (uint64_t)span; at = &(*at)->next)
		begin = (*at)->end;
	return begin + (uint64_t)span > LAST ? 0 : insert(at, begin, span);
}

/* At a fixed address, if it is free; else anywhere. */
uint64_t range_take_at(uint64_t address, int64_t span)
{
	struct range **at = &ranges;

	span = rounded(span);
	if (address < FIRST || address % GRANULARITY || address + (uint64_t)span > LAST)
		return range_take(span);
	while (*at && (*at)->end <= address)
		at = &(*at)->next;
	if (*at && (*at)->begin < address + (uint64_t)span)
		return range_take(span);
	return insert(at, address, span);
}

void range_give(uint64_t address)
{
	for (struct range **at = &ranges; *at; at = &(*at)->next) {
		struct range *r = *at;

		if (r->begin != address)
			continue;
		*at = r->next;
		free(r);
		return;
	}
}
