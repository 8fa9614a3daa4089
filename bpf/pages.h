/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Requests of user space that a process count blocks itself: see counts.h. */
#ifndef IPYTRACER_PAGES_H
#define IPYTRACER_PAGES_H

/* Has a process count small blocks itself, in a page that nobody else has had. */
static __always_inline void use_page(struct process *p, struct root *r, struct occasion *why, __u32 what)
{
	__sync_fetch_and_or(&p->untold, 1u << meter_counted(what));
	p->paged[what] = 0;
	exchange(&p->pages[what], request.page);
	if (is_down(r, why->group)) /* the hits that have spent the account come no more */
		top_up(r, 2 * budget_full);
}

/* Has a process count small tensors itself. Returns false if it has a page for them already. */
static __noinline bool give_tensors_page(struct process *p, struct occasion *why)
{
	struct root *r = p ? root_of(p) : NULL;

	if (!r || !why || p->pages[COUNTS_TORCH] || request.page - 1 >= COUNT_PAGES)
		return false;
	why->group = GROUP_TORCH_CPU;
	use_page(p, r, why, COUNTS_TORCH);
	why->kind = BOUNDARY_METER_SHED;
	why->foreign = FOREIGN_COUNTED;
	draw_boundary(why);
	return true;
}

/*
 * Has a process count small blocks of NumPy itself. All of its other blocks must have their probes in NumPy. If the
 * process had set its memory handler before, the meter was paused: the page has the blocks that were missed. Returns
 * false if it has a page already, or other blocks are missed.
 */
static __noinline bool give_page(struct process *p, struct occasion *why)
{
	__u32 page = request.page;

	bool paused = p && p->arrays == ARRAYS_LEAVING && p->foreign == FOREIGN_HANDLER;
	struct root *r = p ? root_of(p) : NULL;

	if (!r || !why || p->pages[COUNTS_NUMPY] || page - 1 >= COUNT_PAGES ||
	    !(paused || (p->arrays == ARRAYS_INSIDE && !p->foreign)))
		return false;
	p->handler = request.handler;
	why->group = GROUP_NUMPY;
	use_page(p, r, why, COUNTS_NUMPY);
	if (paused) {
		p->foreign = 0;
		p->arrays = ARRAYS_INSIDE;
		why->kind = BOUNDARY_METER_BACK;
		why->foreign = FOREIGN_HANDLER;
		draw_boundary(why);
		exchange(&r->unsure[UNKNOWN_NUMPY], 0);
		why->kind = BOUNDARY_METER_SETTLED;
		why->foreign = 0;
		draw_boundary(why);
	}
	why->kind = BOUNDARY_METER_SHED;
	why->foreign = FOREIGN_COUNTED;
	draw_boundary(why);
	return true;
}

/* Has a process count malloc's blocks itself, before its first one; or finds that it does not. */
static __noinline int offer_heap_page(struct process *p, struct occasion *why)
{
	if (!p || !why)
		return 0;
	if (request.page) {
		__sync_fetch_and_or(&p->untold, 1u << METER_HEAP);
		exchange(&p->pages[COUNTS_HEAP], HEAP_PAGE);
	} else if (drop_page(p, COUNTS_HEAP)) {
		tree_follows(p, METER_HEAP);
	}
	why->kind = request.page ? BOUNDARY_METER_SHED : BOUNDARY_METER_BACK;
	why->group = GROUP_HEAP;
	why->foreign = FOREIGN_COUNTED;
	draw_boundary(why);
	return 0;
}

#endif
