/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The CPU time of a process, at the instant of a boundary.
 *
 * It is the sum of thread_group_cputime (kernel/sched/cputime.c): signal->sum_sched_runtime, of the threads that have
 * ended, and se.sum_exec_runtime of each that lives. The kernel updates the latter at a tick and a switch only. So a
 * thread that runs has used more: the time of the scheduler's clock since se.exec_start, less the time of interrupts
 * and the hypervisor, which rq->clock_task leaves out of rq->clock.
 *
 * No program can read the scheduler's clock. But a perf event that counts a CPU's clock counts it, from the instant at
 * which the event was opened; that instant is learned. rq->clock is the clock's value at its last update. So rq->clock
 * less the count is never later than that instant, and the latest difference is kept. User space has it computed on
 * each CPU right behind a system call that updates rq->clock (observe_clock).
 *
 * A thread that ends moves its time to sum_sched_runtime under signal->stats_lock, and the lock's sequence shows
 * whether that has happened meanwhile: then all is added up again, as the kernel does. p->cpu_time only rises.
 *
 * Page faults and switches are added up on the way, if they are requested.
 *
 * The structures are walked by their types where the kernel can (bpf_rdonly_cast), so that it takes the verifier few
 * steps; a pointer to nothing leads to zeros.
 */
#ifndef IPYTRACER_CPUTIME_H
#define IPYTRACER_CPUTIME_H

static __always_inline struct task_struct *typed_task(__u64 task)
{
	return bpf_rdonly_cast((void *)task, bpf_core_type_id_kernel(struct task_struct));
}

/* The run queue of the CPU on which a task runs or ran last. */
static __always_inline __u64 queue_of(__u64 task)
{
	return FIELD(FIELD(task, task_struct, se.cfs_rq), cfs_rq, rq);
}

/* Returns the time of the scheduler's clock, in ns; 0 if no event counts it. */
static __always_inline __s64 clock_now(void)
{
	struct bpf_perf_event_value counted = {};
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 task = bpf_get_current_task();
	__s64 seen = have_cast ? typed_task(task)->se.cfs_rq->rq->clock : FIELD(queue_of(task), rq, clock);

	barrier(); /* the count comes behind it */
	if (cpu >= MAX_CPUS || bpf_perf_event_read_value(&clocks, BPF_F_CURRENT_CPU, &counted, sizeof(counted)))
		return 0;
	raise_to(&clock_began[cpu], seen - (__s64)counted.counter);
	return clock_began[cpu] + (__s64)counted.counter;
}

/* The fields that are read of a thread, in this order. */
struct used_by_thread {
	__u64 next; /* in the list */
	__u64 began;
	__s64 time; /* up to then */
	__u64 clock;
	__s64 clock_task;
	__u64 runs;
	__u64 moved; /* one of the clocks has changed meanwhile */
};

static __always_inline void look_at_thread(__u64 at, struct used_by_thread *t)
{
	if (have_cast) {
		struct task_struct *task = typed_task(at);
		struct rq *queue = task->se.cfs_rq->rq;
		t->next = (__u64)task->thread_node.next;
		t->began = task->se.exec_start;
		t->clock = queue->clock;
		barrier();
		t->time = task->se.sum_exec_runtime;
		t->clock_task = queue->clock_task;
		t->runs = queue->curr == task;
		barrier();
		t->moved = (queue->clock ^ t->clock) | (task->se.exec_start ^ t->began);
	} else {
		__u64 queue = queue_of(at);
		t->next = FIELD(at, task_struct, thread_node.next);
		t->began = FIELD(at, task_struct, se.exec_start);
		t->clock = FIELD(queue, rq, clock);
		t->time = FIELD(at, task_struct, se.sum_exec_runtime);
		t->clock_task = FIELD(queue, rq, clock_task);
		t->runs = (__u64)FIELD(queue, rq, curr) == at;
		t->moved = (FIELD(queue, rq, clock) ^ t->clock) | (FIELD(at, task_struct, se.exec_start) ^ t->began);
	}
}

struct used {
	__u64 counted[COUNTERS];
	__u64 signal;
	__u64 node; /* of the next thread */
	__s64 now;
	__s64 time;
	__u32 sequence;
	__u32 done;
};

/* Copies the kernel's counters of a thread, or those of the threads that have ended, which have the same names. */
#define COUNT(counted, how, of, type)                                         \
	do {                                                                  \
		(counted)[COUNTER_MINOR_FAULTS] how FIELD(of, type, min_flt); \
		(counted)[COUNTER_MAJOR_FAULTS] how FIELD(of, type, maj_flt); \
		(counted)[COUNTER_WAITS] how FIELD(of, type, nvcsw);          \
		(counted)[COUNTER_PREEMPTIONS] how FIELD(of, type, nivcsw);   \
	} while (0)

/* Adds one thread's time; or, at the end of the list, begins again, unless the sum is valid. */
static __always_inline long add_used(__u32 i, struct used *u)
{
	if (u->node == u->signal + bpf_core_field_offset(struct signal_struct, thread_head)) {
		__u32 sequence = INT_FIELD(u->signal, signal_struct, stats_lock.seqcount.seqcount.sequence);
		if (sequence == u->sequence && !(sequence & 1)) {
			u->done = 1;
			return 1;
		}
		u->sequence = sequence;
		u->time = FIELD(u->signal, signal_struct, sum_sched_runtime);
		if (counting)
			COUNT(u->counted, =, u->signal, signal_struct);
		u->node = word_at(u->node);
		return 0;
	}
	struct used_by_thread t;
	__u64 task = u->node - bpf_core_field_offset(struct task_struct, thread_node);
	look_at_thread(task, &t);
	if (t.moved)
		return 0; /* once more */
	__s64 since = u->now - ((__s64)t.clock - t.clock_task) - (__s64)t.began;
	if (t.runs && u->now && since > 0)
		t.time += since;
	fetch_add(&u->time, t.time);
	if (counting)
		COUNT(u->counted, +=, task, task_struct);
	u->node = t.next;
	return 0;
}
REPEATED(add_used, struct used *)

/*
 * Updates a process's CPU time, in front of a boundary at which a window may begin or end. task: one of its threads.
 * Not part of the boundary: the verifier would walk it in all the programs that only step a group down.
 */
__attribute__((noinline)) int use_cpu(__u32 slot, __u64 task)
{
	struct process *p = process_at(slot);
	struct used u = { .sequence = 1, .now = clock_now() };

	if (!p)
		return 0;
	u.signal = FIELD(task, task_struct, signal);
	u.node = u.signal + bpf_core_field_offset(struct signal_struct, thread_head);
	FORGET(u.sequence);
	FORGET(u.done);
	FORGET(u.time);
	FORGET(u.now);
	FORGET(u.node);
	FORGET(u.signal);
	REPEAT(MAX_THREADS, add_used, &u);
	if (counting)
		__builtin_memcpy(p->counted, u.counted, sizeof(p->counted));
	if (u.done)
		raise_to(&p->cpu_time, u.time);
	else
		exchange(&p->cpu_time, 0); /* there are too many threads: not known */
	return 0;
}

/* Draws a boundary at which a window of the process that runs begins or ends. */
static __always_inline void draw_window(struct occasion *why)
{
	use_cpu(why->slot, bpf_get_current_task());
	draw_boundary(why);
}

/*
 * Observes the clock of the CPU on which user space runs it. Of a program type that cannot sleep: the others have no
 * access to perf events.
 */
SEC("raw_tp")
int observe_clock(struct bpf_raw_tracepoint_args *ctx)
{
	return !clock_now();
}

#endif
