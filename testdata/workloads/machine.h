/* What this machine's kernel does with memory, where kernels differ. */
#pragma once

#include <stdint.h>

/* Answers, all in bytes. */
struct machine {
	int64_t read_small;	/* resident of an area of SMALL bytes of which every page was read and none written */
	int64_t read_large;	/* the same of a large area, in which huge pages have room */
	int64_t write;		/* resident of a large area after a write of one byte */
	int64_t advised;	/* the same where huge pages were asked for (MADV_HUGEPAGE) */
	int64_t behind;		/* how far the counters in /proc lag behind pages that one thread touches */
	int64_t freed;		/* resident of a small area some time after MADV_FREE */
	int64_t collapsed;	/* what khugepaged adds within WAIT to two pages that were written */
	int64_t heap;		/* what a thread's first small block makes resident where malloc asks for huge pages; else 0 */
};

void machine_ask(struct machine *m);
/* How far the counters lag, in a moment. */
int64_t machine_behind(void);

/* Sizes of the areas that are asked about. */
enum {
	SMALL = 64 << 10,
	LARGE = 4 << 20,
};
