/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One process suspends the use of the GPUs of another: cuCheckpointProcessCheckpoint and its relatives. */
#ifndef IPYTRACER_CHECKPOINTS_H
#define IPYTRACER_CHECKPOINTS_H

/* ---- checkpoints ------------------------------------------------------------------------------------------------ */

struct checkpoint {
	__u32 pid;
	__u32 operation;
};

/* Moves a process's memory on one device off it, or back. Returns the number of devices, 0 or 1. */
__attribute__((noinline)) int device_checkpointed(__u32 slot, __u32 number, __u32 operation, bool first)
{
	struct device *d = device_at(slot, number);

	if (!d)
		return 0;
	bool out = operation == CUDA_CHECKPOINT;
	__s64 amount = out ? -d->value[DEVICE_DRIVER] : d->suspended;
	struct device_move move = { .slot = slot,
				    .number = number,
				    .meter = DEVICE_DRIVER,
				    .amount = amount,
				    .size = amount,
				    .flags = CHANGE_CALLER * (out ? CALLER_MOVED_OUT : CALLER_MOVED_BACK) };
	d->suspended -= amount;
	if (operation == CUDA_RESTORE)
		d->suspended = 0;
	if (amount || first) /* even without memory a change is sent once: it records the suspension */
		device_moves(&move);
	return 1;
}

/* Does the same for all devices. */
static __always_inline long checkpointed(__u32 slot, struct checkpoint *c)
{
	struct process *p = process_at(slot);

	if (!p || !p->active || p->pid != (__s32)c->pid)
		return 0;
	__u32 used = p->devices;
	int told = 0;
	FORGET(told);
	for (__u32 number = 0; number < MAX_DEVICES; number++) {
		if (used & 1u << number)
			told += device_checkpointed(slot, number, c->operation, !told);
	}
	return 1;
}
REPEATED_SLOTS(checkpointed, struct checkpoint *)

/*
 * cuCheckpointProcessCheckpoint(int pid, …) and cuCheckpointProcessRestore(int pid, …) (CUDA 12.8). Any process may
 * call them. The caller is usually not the suspended process, which calls nothing. The pid must be the one that the
 * tracer would use.
 */
SEC("uprobe")
int checkpoint_enter(struct pt_regs *regs)
{
	struct call *c = call_of((__u32)bpf_get_current_pid_tgid(), current_slot());

	if (!c)
		return 0;
	c->sp = PT_REGS_SP(regs);
	c->argument[0] = PT_REGS_PARM1(regs);
	c->operation = bpf_get_attach_cookie(regs) & 0xff;
	return 0;
}

SEC("uretprobe")
int checkpoint_leave(struct pt_regs *regs)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct call *c = bpf_map_lookup_elem(&calls, &tid);

	if (!c || PT_REGS_SP(regs) != c->sp + RETURN_ADDRESS)
		return 0;
	struct checkpoint about = { .pid = c->argument[0], .operation = c->operation };
	bpf_map_delete_elem(&calls, &tid);
	if (!(__u32)PT_REGS_RC(regs))
		REPEAT_SLOTS(checkpointed, &about);
	return 0;
}

#endif
