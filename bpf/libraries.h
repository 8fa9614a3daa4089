/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shared libraries that a process loads, for user space to look at. */
#ifndef IPYTRACER_LIBRARIES_H
#define IPYTRACER_LIBRARIES_H

/* ---- libraries -------------------------------------------------------------------------------------------------- */

/*
 * _dl_debug_state() of ld.so: the list of loaded libraries has changed, or is about to. To wake user space costs some
 * 20 us of the program's time, and an import loads hundreds of libraries: user space is woken when one is loaded that
 * it looks for (code_mapped() in modules.h), and reads the records of the others when it is awake. Where native stacks
 * are requested, it is woken for each library: its rules depend on them.
 */
SEC("uprobe")
int library_changed(struct pt_regs *regs)
{
	__u32 slot = current_slot();
	struct process *p = slot == NO_SLOT ? NULL : process_at(slot);

	if (!p)
		return 0;
	fetch_add(&code_changes[slot & (MAX_PROCESSES - 1)], 1);
	if (!spend(regs, GROUP_LOADER, slot, 0))
		return 0;
	struct header h = { .kind = RECORD_LIBRARY, .pid = p->pid };
	struct python *py = python_at(slot);
	bool wakes = *(volatile __u32 *)&p->loads || (py && py->native > 1);
	p->loads = 0;
	bpf_ringbuf_output(&boundaries, &h, sizeof(h), wakes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	return 0;
}

#endif
