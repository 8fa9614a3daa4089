/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The part of cpu.numpy that a process counts itself: libipytracer_counts, as NumPy's memory handler, adds up small
 * blocks in a page that user space has given to the process (a map's memory, which the process has mapped). No block of
 * these is a hit. Larger blocks go to NumPy's own handler, where they have probes, and so do samples of small ones: the
 * page says so meanwhile. Their weights are estimates, whatever it says.
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
	__u32 page = *(volatile __u32 *)&p->pages[what & 1] - 1, first = 0;
	void *counts = page < HEAP_PAGE ? bpf_map_lookup_elem(&count_pages, &page) : NULL;

	return counts ? bpf_map_lookup_elem(counts, &first) : NULL;
}

static __always_inline struct counts *counts_of(struct process *p)
{
	return page_of(p, COUNTS_NUMPY);
}

_Static_assert(COUNTS_NUMPY == 0 && COUNTS_HEAP == 1 && COUNTS == 2, "the numbers below");

/* Returns the meter of what a process counts, without a branch: the verifier would follow each. */
static __always_inline __u32 meter_counted(__u32 what)
{
	return METER_NUMPY + (what & 1) * (METER_HEAP - METER_NUMPY);
}

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

	if (!exchange(&p->pages[what & 1], 0))
		return false;
	raise_to(&p->high[meter], *(volatile __s64 *)&p->value[meter]);
	fetch_add(&p->value[meter], -exchange(&p->paged[what & 1], 0));
	return true;
}

/* Does the same where some blocks that will follow are missed. */
static __always_inline void leave_page(struct process *p, struct root *r, __u32 what)
{
	if (drop_page(p, what))
		misses_of(r, MISSING_NUMPY + (what & 1) * (MISSING_HEAP - MISSING_NUMPY), MISSING_UNKNOWN);
}

/* Does the same where user space or another probe finds that some blocks are not seen. */
__attribute__((noinline)) int leave_counts(struct process *p)
{
	struct root *r = p ? root_of(p) : NULL;

	if (!r)
		return 0;
	leave_page(p, r, COUNTS_NUMPY);
	tree_follows(p, METER_NUMPY);
	return 0;
}

#define NO_FALL (-1ll)

/*
 * Moves the meter up, from the page's value at the last reading to its maximum since then. The maximum is taken first:
 * of a block that another CPU adds meanwhile, either the value or the next maximum has it. Returns the page's value, to
 * which the meter falls then, or NO_FALL.
 */
__attribute__((noinline)) __s64 counts_rise(__u32 slot, __u32 what)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;
	struct counts *c = r ? page_of(p, what) : NULL;
	__u32 meter = meter_counted(what);

	if (!c)
		return NO_FALL;
	__u64 most = exchange(&c->peak, 0), now = *(volatile __u64 *)&c->current;
	most = most > now ? most : now;
	if (!is_plausible(p, most) || *(volatile __u64 *)&c->lost) {
		leave_page(p, r, what);
		return NO_FALL;
	}
	__u64 before = *(volatile __u64 *)&p->paged[what & 1];
	most = most > before ? most : before;
	fetch_add(&p->value[meter], most - exchange(&p->paged[what & 1], most));
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
	fetch_add(&p->value[meter], now - exchange(&p->paged[what & 1], now));
	fell(p, number, segment, meter, top);
	return 0;
}

/* Reads a page of a process's, if it has it. Not inlined: its callers have little room on the stack. */
__attribute__((noinline)) int read_counts(__u32 slot, __u32 what)
{
	struct process *p = process_at(slot);

	if (!p || !*(volatile __u32 *)&p->pages[what & 1])
		return 0;
	__s64 now = counts_rise(slot, what);
	tree_follows(p, meter_counted(what));
	if (now == NO_FALL)
		return 0;
	counts_fall(slot, what, now);
	tree_follows(p, meter_counted(what));
	return 0;
}

#endif
