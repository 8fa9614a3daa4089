/* The log of marks. */
#pragma once

#include "truth.h"

enum {
	CAPACITY = 4096,	/* marks in the log; later ones are counted and dropped */
};

enum flags {
	BY_WALK = 1,		/* rss and its parts come from the page tables; else from the counters */
	SETTLED = 2,		/* counters before, walk and counters after agree in every part */
};

/* One mark, all sizes in bytes. Read by marks.py as "<10q2i2I40s"; lies in memory shared with forked children. */
struct mark {
	int64_t ns;		/* CLOCK_MONOTONIC, when the reading was complete */
	int64_t data, rss, anon, file, shmem;
	int64_t counted_before, counted_after;	/* VmRSS of the counters around the walk */
	int64_t reserved[2];
	int32_t pid, tid;
	uint32_t flags;
	uint32_t ready;		/* 1 once everything else is written */
	char label[LABEL];
};

struct log {
	char magic[8];
	uint32_t capacity, mark_size;
	uint32_t next;		/* marks made so far, more than capacity when some were dropped */
	uint32_t page;
	char padding[sizeof(struct mark) - 24];
	struct mark marks[CAPACITY];
};

_Static_assert(sizeof(struct mark) == 136, "marks.py knows this layout");

extern struct log *log_ __attribute__((visibility("hidden")));
