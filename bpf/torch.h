/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * gpu.N.active and gpu.N.reserved: PyTorch hands its running totals to c10::reportMemoryUsageToProfiler on every
 * allocation and free of its caching allocator, profiler or not (c10/core/Allocator.cpp, since 1.12).
 *
 * It reports nothing when it gives cached memory back to the driver (empty_cache): see torch_blocks.h.
 */
#ifndef IPYTRACER_TORCH_H
#define IPYTRACER_TORCH_H

#define DEVICE_TYPE_CUDA 1 /* c10/core/DeviceType.h */

static __always_inline __u32 device_meter(__u32 number, __u32 m)
{
	return METERS + (number & (MAX_DEVICES - 1)) * DEVICE_METERS + m;
}

static __always_inline void told(__u32 slot, __u32 number, __u32 m, __s64 total, __s64 size, __u64 address, __u64 stack,
				 __u32 flags)
{
	struct device_move move = {
		.slot = slot,
		.number = number,
		.meter = m,
		.to = 1,
		.amount = total,
		.size = size,
		.address = address,
		.stack = stack,
		.flags = flags,
	};
	device_moves(&move);
}

/* c10::reportMemoryUsageToProfiler(void *, int64_t size, size_t allocated, size_t reserved, c10::Device) */
SEC("uprobe")
int torch_report(struct pt_regs *regs)
{
	__u32 slot = current_slot(), type = PT_REGS_PARM5(regs) & 0xff, ordinal = PT_REGS_PARM5(regs) >> 8 & 0xff;
	__s64 size = PT_REGS_PARM2(regs), allocated = PT_REGS_PARM3(regs), reserved = PT_REGS_PARM4(regs);

	if (slot == NO_SLOT || type != DEVICE_TYPE_CUDA || ordinal >= MAX_DEVICES ||
	    !spend(regs, GROUP_TORCH, slot, bpf_get_attach_cookie(regs)))
		return 0;
	__u32 number = physical_device(slot, ordinal);
	struct device *d = device_at(slot, number);
	struct process *p = process_at(slot);
	struct root *root = p ? root_of(p) : NULL;
	if (!d || !root)
		return 0;
	__u64 epoch = root->epoch[GROUP_TORCH] + 1;
	bool first = d->torch_epoch != epoch;
	__s64 rise = reserved - d->value[DEVICE_RESERVED];
	struct cuda_thread *t = cuda_thread(true);
	if (t)
		t->reported = number + 1;
	if (first) {
		d->torch_epoch = epoch;
		/* The memory from before this call is the value with which the open windows began. */
		__s64 fresh = !t ? 0 : t->torch.bytes ? t->torch.bytes : t->others.bytes;
		fresh = fresh > 0 && fresh <= reserved ? fresh : 0;
		told(slot, number, DEVICE_ACTIVE, allocated - size, 0, 0, 0, CHANGE_LEARNED);
		told(slot, number, DEVICE_RESERVED, reserved - fresh, 0, 0, 0, CHANGE_LEARNED);
		rise = reserved;
	}
	claim_blocks(root, t, rise, first);
	/* Only an allocated block is worth a walk, which is the cost: where allocations are recorded, so are frees. */
	bool walks = walks_stacks(slot) && !is_shed(GROUP_TENSORS, slot);
	__u64 stack = walks && size > 0 ? stack_of(regs, slot, GROUP_TENSORS) : 0;
	__u32 block = walks ? CHANGE_BLOCK : 0;
	told(slot, number, DEVICE_ACTIVE, allocated, size, PT_REGS_PARM1(regs), stack,
	     walks && size < 0 ? CHANGE_BLOCK | if_collected(slot) : block);
	rise = reserved - d->value[DEVICE_RESERVED];
	if (rise) /* the flag has it streamed in any case: the driver's memory is PyTorch's */
		told(slot, number, DEVICE_RESERVED, reserved, rise, 0, 0, block);
	return 0;
}

/* c10::reportOutOfMemoryToProfiler(int64_t size, size_t allocated, size_t reserved, c10::Device) */
SEC("uprobe")
int torch_refused(struct pt_regs *regs)
{
	__u32 slot = current_slot(), type = PT_REGS_PARM4(regs) & 0xff, ordinal = PT_REGS_PARM4(regs) >> 8 & 0xff;

	if (slot == NO_SLOT || type != DEVICE_TYPE_CUDA || ordinal >= MAX_DEVICES)
		return 0;
	refused(slot, device_meter(physical_device(slot, ordinal), DEVICE_ACTIVE), PT_REGS_PARM2(regs),
		PT_REGS_PARM1(regs), PT_REGS_PARM3(regs), stack_here(regs, slot));
	return 0;
}

#endif
