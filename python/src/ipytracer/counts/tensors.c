/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's tensors on the CPU. Its allocator calls New(reporter, block, bytes) of c10::ProfiledCPUMemoryReporter after
 * each allocation and Delete(reporter, block) before each free, through libc10.so's own table of addresses. Once the
 * companion says so, these calls come here instead.
 *
 * While no tracer gives a page, each block is counted and passed on: to PyTorch's functions, where a tracer that nobody
 * has noticed yet has probes. With a page, blocks below LEAST_LENT bytes are counted there and passed on no more, but
 * for samples (samples.c) and while PyTorch's profiler runs in the thread. A free is passed on if its allocation was.
 * So for a tracer each block is either in the page or passes its probes.
 *
 * Another tracer than the one that gave the page sees none of these blocks. It is notified, by a call of New for NOTICE
 * with 0 bytes, for which PyTorch does nothing: as a page comes into use, as cells begin, and with some of the blocks.
 *
 * PyTorch allocates on many threads, without Python's lock. Blocks have a table and the counters under one lock of
 * their own. None of PyTorch's functions is called while it is held.
 */
#include "counts.h"
#include "slots.h"
#include "table.h"

typedef void made_function(void *reporter, void *block, size_t size);
typedef void freed_function(void *reporter, void *block);

enum mode {
	RESTS,               /* new blocks are passed on, and not counted */
	ALONE,               /* counted and passed on */
	SHARED,              /* in the page */
};

/* The way of a new block. */
enum way { PASSED, KEPT, NOTIFIED, LENT };

/* The word of a block in the table: its size, the number of the page in which it is counted, and a bit. */
#define SIZE_BITS  48
#define PAGE_BITS  15
#define SIZE       ((UINT64_C(1) << SIZE_BITS) - 1)
#define MOST_PAGES ((1u << PAGE_BITS) - 1)
#define PASSED_ON  (UINT64_C(1) << 63)

#define NOTICE ((void *)1)   /* TENSORS_COUNTED of bpf/wire_blocks.h */
#define BLOCKS_TO_NOTICE 256 /* counted ones, from one notice to the next */

static struct {
	int locked;
	uint32_t mode;
	struct counts *page; /* the tracer's, NULL: none */
	uint32_t pages;      /* that there have been: the number of the present one */
	uint32_t unnoticed;  /* counted blocks since the last notice */
	uint32_t lending;    /* a thread is lending a small block */
	int sealed;
	struct counts own;   /* of all blocks in the table */
	struct table table;
	struct samples samples;
	made_function *made; /* PyTorch's functions */
	freed_function *freed;
	_Bool (*profiles)(void);
	const volatile char *logs; /* not 0: PyTorch logs each block. NULL: it cannot */
} tensors __attribute__((aligned(64))) = { .samples = { .lend_from = NEVER_LENT, .until = NEVER, .least = 1 } };

/* count_out takes a block out of the counters that has left the table. */
static void count_out(uint64_t word)
{
	tensors.own.current -= word & SIZE;
	if (tensors.page && (word >> SIZE_BITS & MOST_PAGES) == tensors.pages)
		__atomic_store_n(&tensors.page->current, tensors.page->current - (word & SIZE), __ATOMIC_RELAXED);
}

/* keep counts a new block, in the page or not. It returns 0 where there is no memory to do so. */
static int keep(const void *block, size_t size, int in_page)
{
	uint64_t word = size | (in_page ? (uint64_t)tensors.pages << SIZE_BITS : PASSED_ON), now;
	size_t before;

	if (size > SIZE || !put_entry(&tensors.table, block, word, &before))
		return 0;
	if (UNLIKELY(before != NO_WORD)) /* its free was missed */
		count_out(before);
	tensors.own.current += size;
	if (tensors.own.current > tensors.own.peak)
		tensors.own.peak = tensors.own.current;
	if (!in_page)
		return 1;
	/* The tracer takes the peak first and then the current value, at any time. */
	now = __atomic_add_fetch(&tensors.page->current, size, __ATOMIC_SEQ_CST);
	if (now > __atomic_load_n(&tensors.page->peak, __ATOMIC_RELAXED))
		__atomic_store_n(&tensors.page->peak, now, __ATOMIC_RELAXED);
	return 1;
}

/* lends reports whether a small block is lent. One is at a time: the page has its sample meanwhile. */
static int lends(size_t size)
{
	struct samples *s = &tensors.samples;

	if (UNLIKELY(tensors.lending))
		return 0;
	if (size >= s->lend_from)
		tensors.page->sample = 0;
	else if ((s->until -= (int64_t)size) >= 0 || !is_sample(s, size, &tensors.page->sample))
		return 0;
	tensors.lending = 1;
	return 1;
}

/* is_watched reports whether PyTorch itself has a use for the calls of this thread. */
static int is_watched(void)
{
	return tensors.profiles() || (tensors.logs && *tensors.logs);
}

static enum way take_in(const void *block, size_t size)
{
	enum way way = PASSED;
	uint32_t mode = __atomic_load_n(&tensors.mode, __ATOMIC_RELAXED);
	int passes = mode != SHARED || size >= LEAST_LENT || is_watched();

	if (mode == RESTS)
		return PASSED;
	lock(&tensors.locked);
	if (UNLIKELY(tensors.mode != mode)) { /* it has just changed */
		passes = 1;
		mode = tensors.mode;
	}
	if (!passes && lends(size)) {
		passes = 1;
		way = LENT;
	}
	if (mode != RESTS && !keep(block, size, !passes)) {
		if (mode == ALONE)
			tensors.own.lost++;
	} else if (!passes) {
		way = UNLIKELY(++tensors.unnoticed >= BLOCKS_TO_NOTICE) ? NOTIFIED : KEPT;
		if (way == NOTIFIED)
			tensors.unnoticed = 0;
	}
	unlock(&tensors.locked);
	return way;
}

/* returned takes in that a small block has been lent: what it has cost from since until now. */
static void returned(uint64_t since)
{
	lock(&tensors.locked);
	tensors.lending = 0;
	if (tensors.page)
		tensors.page->sample = 0;
	if (tensors.mode == SHARED)
		pay_for_sample(&tensors.samples, since);
	unlock(&tensors.locked);
}

static void tensor_made(void *reporter, void *block, size_t size)
{
	uint64_t since;

	switch (block && size ? take_in(block, size) : PASSED) {
	case KEPT:
		return;
	case NOTIFIED:
		tensors.made(reporter, NOTICE, 0);
		return;
	case LENT:
		since = clock_now();
		tensors.made(reporter, block, size);
		returned(since);
		return;
	case PASSED:
		tensors.made(reporter, block, size);
	}
}

/* forget takes a block out of the table. It returns whether its free is PyTorch's to see. */
static int forget(const void *block)
{
	size_t word;

	if (!__atomic_load_n(&tensors.table.used, __ATOMIC_RELAXED))
		return 1;
	lock(&tensors.locked);
	word = take_entry(&tensors.table, block);
	if (word != NO_WORD)
		count_out(word);
	unlock(&tensors.locked);
	return word == NO_WORD || (word & PASSED_ON);
}

static void tensor_freed(void *reporter, void *block)
{
	if (!block || forget(block))
		tensors.freed(reporter, block);
}

/* notify tells other tracers that this process counts blocks itself. */
static void notify(void)
{
	if (tensors.mode == SHARED)
		tensors.made(NULL, NOTICE, 0);
}

static void set_mode(enum mode mode)
{
	__atomic_store_n(&tensors.mode, mode, __ATOMIC_RELAXED);
}

/* leave_page does as leave of counts.c, with the lock held. Blocks from the page are never passed on. */
static void leave_page(int parents)
{
	struct counts *left = tensors.page;

	if (!left)
		return;
	if (!parents)
		__atomic_store_n(&left->lost, 1, __ATOMIC_SEQ_CST);
	tensors.page = NULL;
	tensors.own.peak = tensors.own.current;
	end_samples(&tensors.samples, NEVER_LENT);
	unmap_page(left, tensors.sealed);
}

static void before_fork(void)
{
	lock(&tensors.locked);
}

static void in_parent(void)
{
	unlock(&tensors.locked);
}

/* in_child leaves the page to the parent. All new blocks of such a child are passed on: the tracer follows it. */
static void in_child(void)
{
	if (tensors.page) {
		leave_page(1);
		set_mode(RESTS);
	}
	tensors.lending = 0;
	unlock(&tensors.locked);
}

/*
 * ipytracer_tensors_begin leads the calls of PyTorch's functions here, where new blocks are passed on at first. made,
 * freed: New and Delete. profiles: c10::memoryProfilingEnabled. logs: FLAGS_caffe2_report_cpu_memory_usage, NULL if
 * there is none. It returns an enum untouched, -1 where the C library has no handlers for a fork. Once it was
 * successful, it does nothing.
 */
EXPORT int ipytracer_tensors_begin(void *made, void *freed, void *profiles, void *logs)
{
	static int prepared, begun;
	int why;

	if (begun)
		return DETOURED;
	tensors.made = (made_function *)made;
	tensors.freed = (freed_function *)freed;
	tensors.profiles = (_Bool (*)(void))profiles;
	tensors.logs = logs;
	const struct detour two[2] = {
		{ "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm", made, (void *)tensor_made },
		{ "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv", freed, (void *)tensor_freed },
	};
	if (!prepared && !at_fork(before_fork, in_parent, in_child))
		return -1;
	prepared = 1; /* once: a lock that is taken twice at a fork never opens */
	why = (int)lead_calls(two);
	begun = why == DETOURED;
	return why;
}

/* ipytracer_tensors_count says whether new blocks are counted: in the page, where there is one. */
EXPORT void ipytracer_tensors_count(int counts)
{
	lock(&tensors.locked);
	set_mode(!counts ? RESTS : tensors.page ? SHARED : ALONE);
	unlock(&tensors.locked);
}

/* ipytracer_tensors_take is ipytracer_counts_take for tensors. Nothing is lent then. */
EXPORT void ipytracer_tensors_take(uint64_t *current, uint64_t *peak, uint64_t *lost)
{
	lock(&tensors.locked);
	*current = tensors.own.current;
	*peak = tensors.own.peak;
	*lost = tensors.own.lost;
	tensors.own.peak = tensors.own.current;
	unlock(&tensors.locked);
}

/*
 * ipytracer_tensors_use counts new blocks in a tracer's page from now on, as ipytracer_counts_use does. It returns 0,
 * and changes nothing, where counting there is not possible.
 */
EXPORT int ipytracer_tensors_use(int descriptor, int seal)
{
	struct counts *page;

	if (!tensors.made || tensors.page || tensors.pages == MOST_PAGES)
		return 0;
	page = map_page(descriptor, seal, &tensors.sealed);
	if (!page)
		return 0;
	*page = (struct counts){ 0 };
	lock(&tensors.locked);
	tensors.page = page;
	tensors.pages++;
	begin_samples(&tensors.samples);
	set_mode(SHARED);
	unlock(&tensors.locked);
	notify();
	return 1;
}

/* ipytracer_tensors_leave counts no more in a page, where the tracer has ended. */
EXPORT void ipytracer_tensors_leave(void)
{
	lock(&tensors.locked);
	leave_page(0);
	set_mode(RESTS);
	unlock(&tensors.locked);
}

/* ipytracer_tensors_adjust is ipytracer_counts_adjust for tensors. */
EXPORT void ipytracer_tensors_adjust(void)
{
	lock(&tensors.locked);
	if (tensors.mode == SHARED)
		adjust_samples(&tensors.samples);
	unlock(&tensors.locked);
	notify();
}
