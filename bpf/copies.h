/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The programs at tracepoints, loaded more than once.
 *
 * Since Linux 7.0 a thread can lose its CPU within a program at a tracepoint: tracepoints are guarded by SRCU
 * (__DECLARE_TRACE, include/linux/tracepoint.h), no longer by switching preemption off. Until that thread has its CPU
 * again, the kernel runs the program for no other thread there, and counts a miss (__bpf_trace_run, kernel/trace/
 * bpf_trace.c). So user space loads further copies of the program and attaches them behind it. For the kernel they are
 * programs of their own. An event is lost only if a thread has lost its CPU in each of them, on one CPU, at the same
 * time.
 *
 * A copy does nothing where an earlier one has run for the same event. Each notes the CPU's count of switches when it
 * begins. Where an earlier copy's note equals the present count, only this thread has run here since then: that copy
 * ran for this thread, and no other thread can have entered it and been stopped there. So it ran for this event, too,
 * or an interrupt's event met this thread within it: an interrupt only releases the lock of a process for reading
 * (irq_work of stack maps, mmap_read_unlock_non_owner), which moves no meter. Where the thread has lost its CPU between
 * two copies, the note differs, and the work is done once more. That must do no harm: every program at a tracepoint
 * compares the kernel's values with the ledger's.
 */
#ifndef IPYTRACER_COPIES_H
#define IPYTRACER_COPIES_H

/* Returns the number of this CPU's switches from one thread to another. */
static __always_inline __u64 switches_here(void)
{
	__u64 task = bpf_get_current_task();

	return FIELD(FIELD(FIELD(task, task_struct, se.cfs_rq), cfs_rq, rq), rq, nr_switches);
}

/* Reports whether an earlier copy of the program has run for this event. */
static __always_inline bool ran_before(enum tracepoint where)
{
	__u32 zero = 0, own = program_copy;

	if (program_copies < 2)
		return false;
	struct notes *notes = bpf_map_lookup_elem(&copy_notes, &zero);
	__u64 switches = switches_here();
	if (!notes || !switches)
		return false;
	if (own > 0 && notes->began[where][0] == switches)
		return true;
	if (own > 1 && notes->began[where][1] == switches)
		return true;
	if (own < COPIES - 1)
		notes->began[where][own] = switches;
	return false;
}

#endif
