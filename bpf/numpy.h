/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cpu.numpy: NumPy calls PyTraceMalloc_Track(domain, pointer, size) after every allocation and
 * PyTraceMalloc_Untrack(domain, pointer) before every free of array data, whether or not tracemalloc runs.
 * A Track of a known pointer replaces its block (PyDataMem_RENEW in place).
 *
 * A free of a block that is not known (made before the attach, or while the probes were shed) changes no value.
 * glibc keeps a chunk's size in the word before it: an upper bound of what such frees were worth.
 */
#ifndef IPYTRACER_NUMPY_H
#define IPYTRACER_NUMPY_H

#define SMALL_BLOCK  64	    /* bytes: what scalars and NumPy's own helpers have; nobody asks who made one of those */
#define NUMPY_DOMAIN 389047 /* numpy/core/src/multiarray/alloc.c: NPY_TRACE_DOMAIN */

static __always_inline __u64 block_key(__u32 slot, __u64 address)
{
	return address | (__u64)slot << 48;
}

/* The slot of the process that tells of a block of NumPy's, or NO_SLOT. A refused allocation is told of at address 0.
 */
static __always_inline __u32 numpy_slot(struct pt_regs *regs)
{
	__u32 slot = current_slot();

	if (slot == NO_SLOT || !spend(GROUP_NUMPY, slot) || (__u32)regs->di != NUMPY_DOMAIN || !regs->si)
		return NO_SLOT;
	return slot;
}

SEC("uprobe")
int numpy_track(struct pt_regs *regs)
{
	__u32 slot = numpy_slot(regs);
	struct process *p = slot == NO_SLOT ? NULL : process_at(slot);
	struct root *r = p ? root_of(p) : NULL;
	if (!r)
		return 0;
	__u64 address = regs->si, key = block_key(slot, address);
	__s64 size = regs->dx;
	struct block fresh = { .size = size, .epoch = r->epoch[GROUP_NUMPY] };
	struct block *known = bpf_map_lookup_elem(&blocks, &key);
	__s64 before = 0;
	if (known) {
		before = known->epoch == fresh.epoch ? known->size : 0;
		*known = fresh;
	} else if (bpf_map_update_elem(&blocks, &key, &fresh, BPF_ANY)) {
		lose(LOSS_BLOCK);
		fetch_add(&r->unknown, 1);
		fetch_add(&r->slack, size);
		return 0;
	}
	__u64 stack = size > SMALL_BLOCK ? stack_for(regs, slot, size) : 0, segment = *(volatile __u64 *)&p->segment,
	      number = next_change(r);
	__s64 value = move(p, r, METER_NUMPY, size - before);
	send_change(p, r, number, segment, METER_NUMPY, value, size - before, address, stack);
	return 0;
}

/* At most what malloc can have handed out at this address: glibc 2.x, malloc_chunk.mchunk_size. */
static __always_inline __s64 usable_size(struct process *p, __u64 address)
{
	__u64 chunk = 0;

	if (bpf_probe_read_user(&chunk, sizeof(chunk), (void *)(address - 8)))
		return 0;
	chunk &= ~7ull;
	return chunk > (__u64)p->value[METER_MAPPED] ? p->value[METER_MAPPED] : chunk;
}

SEC("uprobe")
int numpy_untrack(struct pt_regs *regs)
{
	__u32 slot = numpy_slot(regs);
	struct process *p = slot == NO_SLOT ? NULL : process_at(slot);
	struct root *r = p ? root_of(p) : NULL;
	if (!r)
		return 0;
	__u64 address = regs->si, key = block_key(slot, address), segment = p->segment;
	struct block *known = bpf_map_lookup_elem(&blocks, &key);
	if (!known || known->epoch != r->epoch[GROUP_NUMPY]) {
		fetch_add(&r->unknown, 1);
		fetch_add(&r->slack, usable_size(p, address));
		return 0;
	}
	__s64 size = known->size;
	bpf_map_delete_elem(&blocks, &key);
	__u64 number = next_change(r);
	__s64 value = move(p, r, METER_NUMPY, -size);
	send_change(p, r, number, segment, METER_NUMPY, value, -size, address, 0);
	return 0;
}

#endif
