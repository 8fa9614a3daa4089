/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cpu.torch: PyTorch's allocator for the CPU calls c10::ProfiledCPUMemoryReporter::New(this, pointer, bytes) after
 * every allocation and Delete(this, pointer) before every free, profiler or not, and OutOfMemory(this, bytes) where
 * malloc refuses (c10/core/CPUAllocator.cpp, since 1.6). They are C++ and may throw: entries only.
 *
 * Blocks have a table of their own: an array of NumPy's with a missed free can have had the same address. A free of an
 * unknown block changes no value, see numpy.h. While the probes are stepped down no block is seen; known blocks stay
 * known, and the meter may be off from then on by all that the process has mapped.
 *
 * A process can count small tensors itself, see counts.h. It says so now and then, by an empty block of a certain
 * address: a tracer that has not given it the page misses them.
 */
#ifndef IPYTRACER_TENSORS_H
#define IPYTRACER_TENSORS_H

/*
 * Returns the slot of the process of a tensor, or NO_SLOT. An empty tensor has no memory: it is reported at address 0.
 * What the process itself has counted until now moves the meter first.
 */
static __always_inline __u32 tensor_slot(struct pt_regs *regs, __u64 address)
{
	__u32 slot = current_slot();

	if (slot == NO_SLOT || !address || address >> ADDRESS_BITS ||
	    !spend(regs, GROUP_TORCH_CPU, slot, bpf_get_attach_cookie(regs)))
		return NO_SLOT;
	read_counts(slot, COUNTS_TORCH);
	return slot;
}

SEC("uprobe")
int tensor_made(struct pt_regs *regs)
{
	__u64 address = PT_REGS_PARM2(regs);
	__s64 size = PT_REGS_PARM3(regs);
	__u32 slot = size >= 0 ? tensor_slot(regs, address) : NO_SLOT;
	struct process *p = slot == NO_SLOT ? NULL : process_at(slot);
	struct root *r = p ? root_of(p) : NULL;
	if (!r)
		return 0;
	if (!size) {
		if (address == TENSORS_COUNTED && !p->pages[COUNTS_TORCH])
			misses_of(r, MISSING_TORCH, MISSING_UNKNOWN);
		return 0;
	}
	__u64 key = block_key(slot, address) | TORCH_KEY;
	struct block_move m = {
		.from = address,
		.to = address,
		.after = size,
		.slot = slot,
		.meter = METER_TORCH,
		.is = tells_block(slot, size, METER_TORCH),
	};
	struct block fresh = { .size = size, .era = p->era, .telling = m.is };
	struct block *known = block_at(&torch_blocks, key);
	p->torch = 1;
	if (known) { /* its free was missed */
		m.before = known->era >= p->first_era ? known->size : 0;
		m.was = known->telling;
	}
	if (!put_block(&torch_blocks, key, known, &fresh)) {
		lose(LOSS_FULL + MISSING_TORCH);
		unknown_of(r, UNKNOWN_TORCH, size);
		misses_of(r, MISSING_TORCH, size);
		return 0;
	}
	if (size > SMALL_BLOCK)
		m.stack = stack_of_block(regs, slot, size, m.is);
	one_block_moves(p, r, &m);
	return 0;
}

SEC("uprobe")
int tensor_freed(struct pt_regs *regs)
{
	__u64 address = PT_REGS_PARM2(regs);
	__u32 slot = tensor_slot(regs, address);
	struct process *p = slot == NO_SLOT ? NULL : process_at(slot);
	struct root *r = p ? root_of(p) : NULL;
	if (!r)
		return 0;
	__u64 key = block_key(slot, address) | TORCH_KEY;
	struct block *known = block_at(&torch_blocks, key);
	if (!known || known->era < p->first_era) {
		unknown_of(r, UNKNOWN_TORCH, freed_at_most(p, address));
		return 0;
	}
	struct block_move m = {
		.from = address,
		.to = address,
		.before = known->size,
		.slot = slot,
		.meter = METER_TORCH,
		.was = known->telling,
	};
	drop_block(&torch_blocks, key);
	if (m.was != TELL_NOT)
		m.flags = if_collected(slot);
	one_block_moves(p, r, &m);
	return 0;
}

SEC("uprobe")
int tensor_refused(struct pt_regs *regs)
{
	__u32 slot = current_slot();
	struct process *p = slot == NO_SLOT ? NULL : process_at(slot);

	if (p)
		refused(slot, METER_TORCH, p->value[METER_TORCH], PT_REGS_PARM2(regs), 0,
			stack_for(regs, slot, PT_REGS_PARM2(regs)));
	return 0;
}

#endif
