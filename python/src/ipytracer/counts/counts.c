/* SPDX-License-Identifier: Apache-2.0 */
/* The counters, and the functions that the companion calls. */
#include "counts.h"

#include <sys/mman.h>
#include <unistd.h>

#define MSEAL 462            /* the system call's number on every processor, from Linux 6.10 on */

static struct counts own __attribute__((aligned(64)));

#define LEAST_SEEN 1024u     /* bytes: NumPy keeps smaller blocks that are freed, without a probe in the way */

struct hot hot __attribute__((aligned(64))) = {
	.counts = &own,
	.samples = { .lend_from = NEVER_LENT, .until = NEVER, .least = LEAST_SEEN },
};

static struct counts *page;  /* the tracer's, while it is in use */
static int sealed;           /* the page stays mapped until the process ends */

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

struct counts *map_page(int descriptor, int seal, int *is_sealed)
{
	void *at = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);

	if (at == MAP_FAILED)
		return NULL;
	*is_sealed = seal && !syscall(MSEAL, at, page_size(), 0ul);
	return at;
}

void unmap_page(struct counts *mapped, int is_sealed)
{
	if (!is_sealed)
		munmap(mapped, page_size());
}

/*
 * leave goes back to counters of the process's own. A tracer that still reads the page finds a lost block there, and no
 * longer trusts it, unless the parent of this process still counts in it.
 */
static void leave(int parents)
{
	struct counts *left = page;

	if (!page)
		return;
	own = *left;
	own.peak = own.current;
	if (!parents)
		__atomic_store_n(&left->lost, 1, __ATOMIC_SEQ_CST);
	hot.high = 0;
	hot.counts = &own;
	end_samples(&hot.samples, NEVER_LENT);
	unmap_page(page, sealed);
	page = NULL;
}

/* forked gives the child of a fork counters of its own: its parent has the page. */
static void forked(void)
{
	if (!page)
		return;
	leave(1);
	end_samples(&hot.samples, 0);
}

/*
 * ipytracer_counts_begin says how to count. alone: Python has its global interpreter lock, which NumPy holds whenever
 * it calls a data allocator. chunks: malloc and free are glibc's own. huge: HUGE_*. allocator: NumPy's own
 * PyDataMem_Handler. It returns 0; 1 where a fork cannot be noticed, 2 where blocks of NumPy's own allocator cannot.
 * Called again, it changes nothing: blocks that are live were made by the first call's rules.
 */
EXPORT int ipytracer_counts_begin(uint32_t alone, uint32_t chunks, uint32_t huge, void *allocator)
{
	static int prepared, begun;

	if (begun)
		return 0;
	if (!prepared && !prepare_records(forked))
		return 1;
	prepared = 1;
	if (!use_allocator(allocator))
		return 2;
	hot.alone = alone;
	hot.chunks = chunks;
	hot.huge = huge;
	begun = 1;
	return 0;
}

/*
 * ipytracer_counts_take stores what is live, lent blocks included, the most that was, and the number of blocks that are
 * not in it: lost ones, and those that other code has made with NumPy's own functions meanwhile. A new peak begins at
 * what is live now.
 */
EXPORT void ipytracer_counts_take(uint64_t *current, uint64_t *peak, uint64_t *lost)
{
	struct counts *counts = hot.counts;

	lock_blocks();
	*current = counts->current + hot.lent;
	*peak = counts->peak + hot.lent;
	counts->peak = counts->current;
	unlock_blocks();
	*lost = __atomic_load_n(&counts->lost, __ATOMIC_RELAXED) + take_beside();
	if (*peak < hot.high)
		*peak = hot.high;
	hot.high = 0;
}

/*
 * ipytracer_counts_shareable reports whether the counters can move to a tracer's page, and stores the bytes of live
 * blocks. They cannot without the global interpreter lock, after a block was lost, nor while large blocks are live that
 * the tracer would look for elsewhere.
 */
EXPORT int ipytracer_counts_shareable(uint64_t *live)
{
	*live = own.current;
	return !page && hot.alone && !own.lost && !hot.large;
}

/*
 * ipytracer_counts_use moves the counters to a tracer's page, by its descriptor, which the caller closes. seal: no code
 * of the process may take the mapping away, which the next array would write to; where Linux has that. It returns 0,
 * and changes nothing, where counting there is not possible.
 */
EXPORT int ipytracer_counts_use(int descriptor, int seal)
{
	uint64_t live;

	if (!ipytracer_counts_shareable(&live))
		return 0;
	page = map_page(descriptor, seal, &sealed);
	if (!page)
		return 0;
	*page = (struct counts){ .current = live, .peak = live };
	hot.counts = page;
	begin_samples(&hot.samples);
	return 1;
}

/* ipytracer_counts_leave goes back to counters of the process's own, where the tracer has ended. */
EXPORT void ipytracer_counts_leave(void)
{
	leave(0);
}
