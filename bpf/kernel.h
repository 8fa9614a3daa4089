/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The few kernel types that the ledger reads, relocated against the running kernel's BTF (CO-RE). Only the fields named
 * here are used; their offsets are the running kernel's.
 */
#ifndef IPYTRACER_KERNEL_H
#define IPYTRACER_KERNEL_H

#include <linux/types.h>
#include <stdbool.h>

/* bpf/bpf.h of the kernel headers brings enum bpf_map_type, flags and struct bpf_... */
#include <linux/bpf.h>

/* The kernel decides on the padding here. */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpadded"

#define KERNEL_TYPE __attribute__((preserve_access_index))

typedef __s32 pid_t;

/* Kernel 6.2 and later: a per-CPU counter for each kind of page. */
struct percpu_counter {
	__s64 count;
	__s32 *counters;
} KERNEL_TYPE;

enum { MM_FILEPAGES, MM_ANONPAGES, MM_SWAPENTS, MM_SHMEMPAGES, NR_MM_COUNTERS };

/* kernel/locking/rwsem.c; not in a real-time kernel, which has other locks. */
struct rw_semaphore {
	struct {
		long counter;
	} count; /* RWSEM_WRITER_LOCKED, or the number of readers; 0 where no thread has the lock or waits for it */
} KERNEL_TYPE;

#define RWSEM_WRITER_LOCKED 1

/*
 * Not here: rss_stat, which has changed its type. An offset that cannot be relocated makes the verifier refuse even a
 * branch that is never taken, when the compiler has moved the offset out of it.
 */
struct mm_struct {
	unsigned long data_vm;
	unsigned long exec_vm;
	unsigned long brk;
	unsigned long arg_start;
	unsigned long arg_end;
	struct file *exe_file;
	struct rw_semaphore mmap_lock;
	struct task_struct *owner;
} KERNEL_TYPE;

struct upid {
	int nr;
	void *ns;
} KERNEL_TYPE;

struct pid {
	unsigned int level;
	struct upid numbers[1];
} KERNEL_TYPE;

struct list_head {
	struct list_head *next;
} KERNEL_TYPE;

struct signal_struct {
	struct list_head thread_head;
	struct {
		int counter;
	} live;
	int group_exit_code;
	unsigned int flags;
	unsigned long nvcsw, nivcsw, min_flt, maj_flt; /* of the threads that have ended */
	unsigned long long sum_sched_runtime;	       /* ns, of the threads that have ended */
	struct {
		struct {
			struct {
				unsigned int sequence;
			} seqcount;
		} seqcount;
	} stats_lock;
	struct mm_struct *oom_mm; /* set for a process that the OOM killer chose (mark_oom_victim, mm/oom_kill.c) */
} KERNEL_TYPE;

#define SIGNAL_GROUP_EXIT 4

struct sigaction {
	void *sa_handler;
} KERNEL_TYPE;

struct k_sigaction {
	struct sigaction sa;
} KERNEL_TYPE;

/* The action of a process for each signal; signal n is at n - 1. */
struct sighand_struct {
	struct k_sigaction action[64];
} KERNEL_TYPE;

struct qstr {
	const unsigned char *name;
} KERNEL_TYPE;

struct dentry {
	struct qstr d_name;
} KERNEL_TYPE;

struct path {
	struct dentry *dentry;
} KERNEL_TYPE;

struct file {
	struct path f_path;
	struct inode *f_inode;
} KERNEL_TYPE;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} KERNEL_TYPE;

struct rb_node {
	struct rb_node *rb_right, *rb_left;
} KERNEL_TYPE;

/* A range of addresses of a process. */
struct vm_area_struct {
	unsigned long vm_start, vm_end;
	struct mm_struct *vm_mm;
	struct file *vm_file;
} KERNEL_TYPE;

/* The open files of a process. */
struct files_struct {
	struct fdtable *fdt;
} KERNEL_TYPE;

/* The run queue of a CPU; kernel/sched/sched.h. */
struct rq {
	__u64 clock;	  /* ns, at its last update */
	__u64 clock_task; /* the same without the time of interrupts and the hypervisor */
	__u64 nr_switches;
	struct task_struct *curr;
} KERNEL_TYPE;

struct cfs_rq {
	struct rq *rq;
} KERNEL_TYPE;

struct sched_entity {
	__u64 exec_start;	/* rq->clock_task as of the last tick or switch */
	__u64 sum_exec_runtime; /* ns, up to then */
	struct cfs_rq *cfs_rq;
} KERNEL_TYPE;

struct task_struct {
	struct sched_entity se;
	struct mm_struct *mm;
	pid_t pid;
	pid_t tgid;
	int exit_code;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct signal_struct *signal;
	struct sighand_struct *sighand;
	struct files_struct *files;
	struct list_head thread_node;
	unsigned long nvcsw, nivcsw, min_flt, maj_flt; /* voluntary and other switches; page faults */
	__u64 start_boottime; /* ns; of the process, with the same one for a thread that took it over (de_thread) */
	char comm[16];
} KERNEL_TYPE;

struct linux_binprm {
	const char *filename;
} KERNEL_TYPE;

/* A kernel structure that begins with a 64-bit integer, likewise. */
struct timespec64 {
	__s64 tv_sec;
} KERNEL_TYPE;

struct bpf_iter_meta {
	__u64 session_id;
} KERNEL_TYPE;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} KERNEL_TYPE;

struct bpf_array {
	void *pptrs[1];
} KERNEL_TYPE;

/* A kernel structure that begins with an int: the type through which single counters are read. */
struct refcount_struct {
	struct {
		int counter;
	} refs;
} KERNEL_TYPE;

#pragma clang diagnostic pop

#endif
