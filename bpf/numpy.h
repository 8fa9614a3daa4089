/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cpu.numpy: blocks of array data of at least LARGE_BLOCK bytes; all of them if user space requests it.
 *
 * There are two kinds of places where blocks are seen. NumPy calls PyTraceMalloc_Track(domain, pointer, size) after
 * every allocation and PyTraceMalloc_Untrack(domain, pointer) before every free, whether or not tracemalloc runs; a
 * Track of a known pointer replaces its block. And NumPy's own code has places that hardly any small block passes
 * (package numpy): behind malloc and calloc, before free, before and behind realloc. The probes' cookies give these
 * places' registers for the address and the size. Where the file of the NumPy that a process would import is known,
 * probes of the second kind are in place before it is mapped and the others are not needed (modules.h). Else a process
 * goes from the first kind to the second at once (enum arrays); until a moment later Track still adds blocks that were
 * allocated unseen before, and Untrack does nothing any more: so no block is missed, and none is counted twice.
 *
 * While the probes are stepped down no block is seen. Known blocks stay known: the account goes on from there, with all
 * blocks of the eras before in doubt. A block in doubt that is freed or replaced has gone, whatever happened to it
 * meanwhile. User space finds out about the others, by looking for the arrays that have them, and reports it here
 * (settle_array).
 *
 * A free of an unknown block (allocated before the attach, or while the probes were shed) changes no value. Its size is
 * known at some places; at others glibc keeps a chunk's size in the word before it: an upper bound of the size of such
 * a block. A refused allocation, at address 0, changes nothing.
 */
#ifndef IPYTRACER_NUMPY_H
#define IPYTRACER_NUMPY_H

#define SMALL_BLOCK    64	   /* bytes: the size of scalars and NumPy's own helpers, which have no stacks */
#define LARGE_BLOCK    1024	   /* bytes: NumPy caches smaller ones when they are freed (alloc.c, NBUCKETS) */
#define NUMPY_DOMAIN   389047	   /* numpy/core/src/multiarray/alloc.c: NPY_TRACE_DOMAIN */
#define IMPLAUSIBLE    (1ll << 40) /* bytes: no block is as large, and every pointer is larger */
#define SIZE_NOT_KNOWN (-1ll)
#define SMALL_FREE     6 /* eighths of the price: hardly more than the hit alone */

/* Reports whether blocks of a size are in the meter. */
static __always_inline bool array_counts(__s64 size)
{
	return small_arrays || size >= LARGE_BLOCK;
}

/* Counts a free of memory with an unseen allocation, or an allocation that is not kept: at most `slack` bytes. */
static __always_inline void array_unknown(__u32 slot, __s64 slack)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (!r)
		return;
	unknown_of(r, UNKNOWN_NUMPY, slack);
}

/* Returns the block at an address, NULL if it is not known. */
static __always_inline struct block *array_at(__u32 slot, __u64 key)
{
	struct block *known = block_at(&blocks, key);
	struct process *p = process_at(slot);

	return known && p && known->era >= p->first_era ? known : NULL;
}

/* Puts a block into the table. If the address has an old block that counts, the move is from that. */
static __always_inline bool array_in(struct block_move *m, __u64 address, __s64 size, __u32 telling)
{
	__u32 slot = m->slot;
	__u64 key = block_key(slot, address);
	struct process *p = process_at(slot);
	struct block fresh = { .size = size, .era = p ? p->era : 0, .telling = telling };
	struct block *there = block_at(&blocks, key);

	if (there && p && there->era >= p->first_era && array_counts(there->size)) {
		if (!m->before)
			m->was = there->telling;
		m->before += there->size;
	}
	if (put_block(&blocks, key, there, &fresh))
		return true;
	lose(LOSS_BLOCK);
	array_unknown(slot, size);
	misses(slot, MISSING_NUMPY, size);
	return false;
}

/* Takes a block out of the table. Returns its size, or SIZE_NOT_KNOWN. */
static __always_inline __s64 array_out(__u32 slot, __u64 address, __u32 *telling)
{
	__u64 key = block_key(slot, address);
	struct block *known = array_at(slot, key);

	if (!known)
		return SIZE_NOT_KNOWN;
	__s64 size = known->size;
	*telling = known->telling;
	drop_block(&blocks, key);
	return size;
}

static __always_inline void array_made(struct pt_regs *regs, __u32 slot, __u64 address, __s64 size)
{
	struct block_move m = {
		.from = address,
		.to = address,
		.after = array_counts(size) ? size : 0,
		.slot = slot,
		.meter = METER_NUMPY,
		.is = tells_block(slot, size, METER_NUMPY),
	};

	if (!array_in(&m, address, size, m.is))
		m.after = 0;
	if (m.after > SMALL_BLOCK)
		m.stack = stack_of_block(regs, slot, size, m.is);
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;
	if (r)
		one_block_moves(p, r, &m);
}

/*
 * Returns an upper bound of the size that malloc can have returned at this address: glibc 2.x,
 * malloc_chunk.mchunk_size. 0: unreadable.
 */
static __always_inline __s64 usable_size(struct process *p, __u64 address)
{
	__u64 chunk = 0;

	if (bpf_probe_read_user(&chunk, sizeof(chunk), (void *)(address - 8)))
		return 0;
	chunk &= ~7ull;
	return chunk > (__u64)p->value[METER_MAPPED] ? p->value[METER_MAPPED] : chunk;
}

/* Does the same for a block that is freed; if unreadable, returns all that is mapped. */
static __always_inline __s64 freed_at_most(struct process *p, __u64 address)
{
	__s64 usable = usable_size(p, address);

	return usable ? usable : p->value[METER_MAPPED];
}

/* Returns the size in malloc's header, or 0 for a block that is too small to count. */
static __always_inline __s64 array_bound(__u32 slot, __u64 address)
{
	struct process *p = process_at(slot);
	__s64 usable = p ? usable_size(p, address) - 8 : 0;

	return usable > 0 && array_counts(usable) ? usable : 0;
}

/* Remembers a free while user space looks for arrays: the array may be freed before user space reports it. */
static __always_inline void remember_free(__u32 slot, __u64 address)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (!r || !*(volatile __u64 *)&r->listening)
		return;
	__u64 key = block_key(slot, address);
	struct block none = { .size = p->era, .era = ERA_FREE };
	if (!put_block(&blocks, key, block_at(&blocks, key), &none)) {
		lose(LOSS_BLOCK);
		misses_of(r, MISSING_NUMPY, MISSING_UNKNOWN);
	}
}

/* Handles the free of a block. told: its size, if it is known at the place, or SIZE_NOT_KNOWN. */
static __always_inline void array_gone(__u32 slot, __u64 address, __s64 told)
{
	struct block_move m = { .from = address, .to = address, .slot = slot, .meter = METER_NUMPY };
	__u32 telling = TELL_BLOCK;
	__s64 size = array_out(slot, address, &telling);

	if (size == SIZE_NOT_KNOWN) {
		__s64 slack = told == SIZE_NOT_KNOWN		? array_bound(slot, address)
			      : told >= IMPLAUSIBLE || told < 0 ? 0
								: told;
		if (slack && array_counts(slack))
			array_unknown(slot, slack);
		remember_free(slot, address);
		return;
	}
	if (!array_counts(size))
		return;
	m.before = size;
	m.was = telling;
	if (m.was != TELL_NOT)
		m.flags = if_collected(slot);
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;
	if (r)
		one_block_moves(p, r, &m);
}

/*
 * Returns the process of a block, if places of this kind count its blocks, or NULL. Pays the given eighths for the hit.
 * What the process itself has counted until now moves the meter first.
 */
static __always_inline struct process *array_process(struct pt_regs *regs, __u32 slot, bool inside, __u64 cookie,
						     __u32 eighths)
{
	if (slot == NO_SLOT || !spend_eighths(regs, GROUP_NUMPY, slot, cookie, eighths))
		return NULL;
	struct process *p = process_at(slot);
	if (!p)
		return NULL;
	__u32 by = p->arrays;
	if (!(inside ? by != ARRAYS_TRACKED : by == ARRAYS_TRACKED || by == ARRAYS_SETTLING))
		return NULL;
	read_counts(slot, COUNTS_NUMPY);
	return p;
}
#endif
