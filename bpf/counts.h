/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The parts of cpu.numpy and of cpu.torch that a process counts itself: libipytracer_counts, as NumPy's memory handler
 * and in the place of PyTorch's reporter, adds up small blocks in a page that user space has given to the process (a
 * map's memory, which the process has mapped), one for each meter. No block of these is a hit. Larger blocks go to
 * NumPy's or PyTorch's own functions, where they have probes, and so do samples of small ones: the page says so
 * meanwhile. Their weights are estimates, whatever it says.
 *
 * The page has the live bytes, and the most of them since it was last read. It is read, and the most begins anew, at
 * each boundary of the process and before each hit that moves the meter: so the rest of the meter stayed the same in
 * between, and the most of the page is the most of the meter. At another process's boundary it is not read (there is no
 * room on the stack): no window of this process begins or ends there.
 *
 * cpu.heap of a process can be from a page as a whole: `tracer run --heap` has its command load a library
 * (internal/heapcounts) that adds up all of malloc's blocks. That page is read at the process's boundaries alone, since
 * nothing else moves the meter. Where several threads allocate in the very instant of a boundary, a most that was
 * reached just before it may count after it. See heaptold.h for the lines of its large blocks.
 *
 * The page is the process's word, and hostile: what it says is bounded by what the process has mapped. A page that says
 * more is not read again, and the meter's error is unknown from then on.
 */
#ifndef IPYTRACER_COUNTS_H
#define IPYTRACER_COUNTS_H

static __always_inline struct counts *page_of(struct process *p, __u32 what)
{
	__u32 page = *(volatile __u32 *)&p->pages[what & (COUNTS - 1)] - 1, first = 0;
	void *counts = page < HEAP_PAGE ? bpf_map_lookup_elem(&count_pages, &page) : NULL;

	return counts ? bpf_map_lookup_elem(counts, &first) : NULL;
}

_Static_assert(COUNTS_HEAP < COUNTS && COUNTS_TORCH < COUNTS && METER_NUMPY + COUNTS <= METERS, "the numbers below");

/* Returns the meter of what a process counts. */
static __always_inline __u32 meter_counted(__u32 what)
{
	return METER_NUMPY + (what & (COUNTS - 1));
}

/* Returns the kind of its missing blocks, without a branch: the verifier would follow each. */
static __always_inline __u32 missing_counted(__u32 what)
{
	return (COUNTS - what) & (COUNTS - 1);
}
_Static_assert(MISSING_NUMPY == 0 && MISSING_HEAP == COUNTS - COUNTS_HEAP && MISSING_TORCH == COUNTS - COUNTS_TORCH,
	       "the number above");

/* Reports whether a process can have so many bytes of blocks. */
static __always_inline bool is_plausible(struct process *p, __u64 bytes)
{
	return bytes <=
	       (__u64)BOTH_MAX(*(volatile __s64 *)&p->value[METER_MAPPED], *(volatile __s64 *)&p->high[METER_MAPPED]);
}

/* Ends the reading of a process's page: its blocks leave the meter. Returns whether it had one. */
static __always_inline bool drop_page(struct process *p, __u32 what)
{
	__u32 meter = meter_counted(what);

	if (!exchange(&p->pages[what & (COUNTS - 1)], 0))
		return false;
	raise_to(&p->high[meter], *(volatile __s64 *)&p->value[meter]);
	fetch_add(&p->value[meter], -exchange(&p->paged[what & (COUNTS - 1)], 0));
	return true;
}

/* Does the same where some blocks that will follow are missed: the page, user space or a probe says so. */
__attribute__((noinline)) int leave_counts(struct process *p, __u32 what)
{
	struct root *r = p ? root_of(p) : NULL;

	if (r && drop_page(p, what))
		misses_of(r, missing_counted(what), MISSING_UNKNOWN);
	return 0;
}

#define NO_FALL	 (-1ll)
#define NONSENSE (-2ll)

/*
 * Moves the meter up, from the page's value at the last reading to its maximum since then. The maximum is taken first:
 * of a block that another CPU adds meanwhile, either the value or the next maximum has it. Returns the page's value, to
 * which the meter falls then, NO_FALL, or NONSENSE.
 */
__attribute__((noinline)) __s64 counts_rise(__u32 slot, __u32 what)
{
	struct process *p = process_at(slot);
	struct counts *c = p ? page_of(p, what) : NULL;
	__u32 meter = meter_counted(what);

	if (!c)
		return NO_FALL;
	__u64 most = exchange(&c->peak, 0), now = *(volatile __u64 *)&c->current;
	most = most > now ? most : now;
	if (!is_plausible(p, most) || *(volatile __u64 *)&c->lost)
		return NONSENSE;
	__u64 before = *(volatile __u64 *)&p->paged[what & (COUNTS - 1)];
	most = most > before ? most : before;
	fetch_add(&p->value[meter], most - exchange(&p->paged[what & (COUNTS - 1)], most));
	raise_to(&p->high[meter], *(volatile __s64 *)&p->value[meter]);
	return now < most ? (__s64)now : NO_FALL;
}

/* Moves the meter down to the page's value. */
__attribute__((noinline)) int counts_fall(__u32 slot, __u32 what, __s64 now)
{
	struct process *p = process_at(slot);
	__u32 meter = meter_counted(what);

	if (!p)
		return 0;
	__u64 segment = *(volatile __u64 *)&p->segment;
	__s64 top = *(volatile __s64 *)&p->value[meter];
	__u64 number = unless_sent(p, segment, meter, top, SENT_BYTE);
	fetch_add(&p->value[meter], now - exchange(&p->paged[what & (COUNTS - 1)], now));
	fell(p, number, segment, meter, top);
	return 0;
}

/* Reads a page of a process's, if it has it. Not inlined: its callers have little room on the stack. */
__attribute__((noinline)) int read_counts(__u32 slot, __u32 what)
{
	struct process *p = process_at(slot);

	if (!p || !*(volatile __u32 *)&p->pages[what & (COUNTS - 1)])
		return 0;
	__s64 now = counts_rise(slot, what);
	if (now == NONSENSE)
		leave_counts(p, what);
	tree_follows(p, meter_counted(what));
	if (now < 0)
		return 0;
	counts_fall(slot, what, now);
	tree_follows(p, meter_counted(what));
	return 0;
}

/* Reads all pages of a process's. */
static __always_inline void read_all_counts(__u32 slot)
{
	read_counts(slot, COUNTS_NUMPY);
	read_counts(slot, COUNTS_HEAP);
	read_counts(slot, COUNTS_TORCH);
}

#endif
