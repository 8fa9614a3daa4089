/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The overhead budget: probes that fire too often are stepped down, in groups, by the kernel itself. */
#ifndef IPYTRACER_BUDGET_H
#define IPYTRACER_BUDGET_H

/* The slot of the process that runs now, or NO_SLOT. */
static __always_inline __u32 current_slot(void)
{
	return slot_of(FIELD(bpf_get_current_task(), task_struct, mm));
}

/* Whether a group is stepped down. */
static __always_inline bool is_shed(__u32 which)
{
	which &= GROUPS - 1;
	return group_shed[which] == group_epoch[which];
}

/* Counts a hit of a probe group. False once the group is shed. */
static __always_inline bool spend(__u32 which, __u32 slot)
{
	which &= GROUPS - 1;
	__u64 epoch = group_epoch[which];
	if (group_shed[which] == epoch)
		return false;
	__u64 hits = fetch_add(&group_hits[which], 1) + 1;
	__u32 stride = group_stride[which];
	if (!stride || hits & (stride - 1))
		return true;
	__u64 now = bpf_ktime_get_ns();
	__u64 before = exchange(&group_checked[which], now);
	if (now - before >= group_slice[which] || exchange(&group_shed[which], epoch) == epoch)
		return true;
	struct occasion why = { .kind = BOUNDARY_METER_SHED, .slot = slot, .group = which, .inputs = -1 };
	draw_boundary(&why);
	return false;
}

#endif
