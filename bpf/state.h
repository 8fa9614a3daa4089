/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Maps and globals: all the state there is. */
#ifndef IPYTRACER_STATE_H
#define IPYTRACER_STATE_H

#define MAP(kind, key_type, value_type, entries, flags) \
	{                                               \
		__uint(type, kind);                     \
		__uint(max_entries, entries);           \
		__uint(map_flags, flags);               \
		__type(key, key_type);                  \
		__type(value, value_type);              \
	}

#define F_NO_PREALLOC 1 /* before kernel 6.1 user space clears it, and makes the table smaller */

struct MAP(BPF_MAP_TYPE_ARRAY, __u32, struct process, MAX_PROCESSES, 0) processes SEC(".maps");
struct MAP(BPF_MAP_TYPE_ARRAY, __u32, struct python, MAX_PROCESSES, 0) pythons SEC(".maps");
struct MAP(BPF_MAP_TYPE_ARRAY, __u32, struct contained, MAX_PROCESSES, 0) containers SEC(".maps");
struct MAP(BPF_MAP_TYPE_ARRAY, __u32, struct resets, 1 << RESET_BITS, 0) resets SEC(".maps");
struct MAP(BPF_MAP_TYPE_ARRAY, __u32, struct root, MAX_ROOTS, 0) roots SEC(".maps");
struct MAP(BPF_MAP_TYPE_ARRAY, __u32, struct boundary, MAX_STORED, 0) store SEC(".maps");
struct MAP(BPF_MAP_TYPE_HASH, __u64, __u32, MAX_PROCESSES * 2, 0) spaces SEC(".maps");		/* mm -> slot */
struct MAP(BPF_MAP_TYPE_HASH, __u32, struct member, MAX_PROCESSES * 2, 0) members SEC(".maps"); /* tgid -> ledger */
struct MAP(BPF_MAP_TYPE_HASH, __u32, struct thread, 4096, F_NO_PREALLOC) threads SEC(".maps");	/* tid -> cells */
/* The same for threads on which cells ran when the process was attached to, until their first event. */
struct MAP(BPF_MAP_TYPE_HASH, struct thread_key, struct thread, 256, F_NO_PREALLOC) found SEC(".maps");
/* One entry unless they are noted. */
struct MAP(BPF_MAP_TYPE_ARRAY, __u32, struct birth, BIRTHS, 0) births SEC(".maps");
/*
 * Live blocks of NumPy, of PyTorch on the CPU and of Arrow's pools, by a hash of their keys. Blocks without room there
 * are in the next three.
 */
struct MAP(BPF_MAP_TYPE_ARRAY, __u32, struct place, 1 << PLACE_BITS, 0) places SEC(".maps");
/* NumPy's by address | slot << SLOT_BIT. Never an LRU map: those forget silently. */
struct MAP(BPF_MAP_TYPE_HASH, __u64, struct block, 1 << 20, F_NO_PREALLOC) blocks SEC(".maps");
/* The same for PyTorch on the CPU. */
struct MAP(BPF_MAP_TYPE_HASH, __u64, struct block, 1 << 19, F_NO_PREALLOC) torch_blocks SEC(".maps");
/* The same for Arrow's pools. */
struct MAP(BPF_MAP_TYPE_HASH, __u64, struct block, 1 << 19, F_NO_PREALLOC) arrow_blocks SEC(".maps");
/* The pages in which processes count blocks themselves, each a struct counts; user space creates them. */
struct count_page {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct counts));
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, HEAP_PAGE);
	__type(key, __u32);
	__array(values, struct count_page);
} count_pages SEC(".maps");
struct MAP(BPF_MAP_TYPE_HASH, __u32, struct pool_call, 4096, F_NO_PREALLOC) pool_calls SEC(".maps"); /* tid -> */
struct MAP(BPF_MAP_TYPE_HASH, __u32, struct resize, 4096, F_NO_PREALLOC) resizes SEC(".maps");	     /* tid -> */
/* Sizes of malloc's live blocks by address | slot << SLOT_BIT. One entry unless they are counted. */
struct MAP(BPF_MAP_TYPE_HASH, __u64, __s64, 1 << 21, F_NO_PREALLOC) heap_blocks SEC(".maps");
struct MAP(BPF_MAP_TYPE_HASH, __u32, struct heap_call, 4096, F_NO_PREALLOC) heap_calls SEC(".maps"); /* tid -> */
struct MAP(BPF_MAP_TYPE_ARRAY, __u32, struct device, MAX_PROCESSES *MAX_DEVICES, 0) devices SEC(".maps");
struct MAP(BPF_MAP_TYPE_ARRAY, __u32, struct device_tree, MAX_ROOTS *MAX_DEVICES, 0) device_trees SEC(".maps");
struct MAP(BPF_MAP_TYPE_ARRAY, __u32, struct cuda_devices, MAX_PROCESSES, 0) ordinals SEC(".maps");
struct MAP(BPF_MAP_TYPE_HASH, __u32, struct call, 4096, 0) calls SEC(".maps"); /* tid -> */
struct MAP(BPF_MAP_TYPE_HASH, __u32, struct cuda_thread, 4096, F_NO_PREALLOC) cuda_threads SEC(".maps");
struct MAP(BPF_MAP_TYPE_HASH, struct cuda_key, struct cuda_object, 1 << 20, F_NO_PREALLOC) cuda_objects SEC(".maps");
struct MAP(BPF_MAP_TYPE_HASH, __u32, __s64, MAX_BATCHES, F_NO_PREALLOC) torch_batches SEC(".maps");
/* tid -> old address of the range that it resizes */
struct MAP(BPF_MAP_TYPE_HASH, __u32, __u64, 4096, 0) resized SEC(".maps");
struct MAP(BPF_MAP_TYPE_HASH, __u32, struct walk, 4096, F_NO_PREALLOC) walks SEC(".maps"); /* tid -> */
struct MAP(BPF_MAP_TYPE_HASH, __u64, __u32, 1 << 16, F_NO_PREALLOC) codes SEC(".maps");	   /* sent */
struct MAP(BPF_MAP_TYPE_HASH, __u64, __u32, 1 << 17, F_NO_PREALLOC) stacks SEC(".maps");   /* sent */
struct MAP(BPF_MAP_TYPE_LRU_HASH, __u64, __u64, 1 << 14, 0) code_numbers SEC(".maps");	   /* by address */
struct MAP(BPF_MAP_TYPE_LRU_HASH, __u64, __u64, 1 << 14, 0) paths
	SEC(".maps"); /* path -> number of a stack that was sent */
struct MAP(BPF_MAP_TYPE_HASH, __u64, struct rule, 1 << 17, F_NO_PREALLOC) rules SEC(".maps"); /* see native.h */
/* Slots that no process has had, the lowest first: loops over all slots stop at used_slots. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, MAX_PROCESSES);
	__uint(key_size, 0);
	__uint(value_size, 4);
} free_slots SEC(".maps");
/* Slots that processes have had, the one that was closed first in front. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, MAX_PROCESSES);
	__uint(key_size, 0);
	__uint(value_size, sizeof(struct closed_slot));
} closed_slots SEC(".maps");
struct MAP(BPF_MAP_TYPE_PERCPU_ARRAY, __u32, __u64, 1, 0) anchor SEC(".maps");
/* Notes of the copies of the programs at tracepoints on a CPU: see copies.h. */
#define COPIES 3
enum tracepoint { AT_RSS_STAT, AT_MMAP_LOCK_RELEASED, AT_FORK, AT_EXEC, AT_EXIT, AT_PAGE_FAULT, TRACEPOINTS };
struct notes {
	__u64 began[TRACEPOINTS][COPIES - 1];
};
struct MAP(BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct notes, 1, 0) copy_notes SEC(".maps");
/*
 * Each CPU's share of each RSS counter when it was last seen, with the shares of one CPU together: by (CPU *
 * MAX_PROCESSES + slot) * NR_MM_COUNTERS + counter. User space makes the map large enough for all CPUs: 16 KiB for
 * each.
 */
struct MAP(BPF_MAP_TYPE_ARRAY, __u32, __s64, MAX_PROCESSES * 4, 0) shares SEC(".maps");
/* By CPU: a perf event that counts its clock. */
struct MAP(BPF_MAP_TYPE_PERF_EVENT_ARRAY, __u32, __u32, MAX_CPUS, 0) clocks SEC(".maps");

/* Sizes are set by user space before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} boundaries SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} changes SEC(".maps");

/* Set before loading. */
const volatile __s64 boot_offset = 0;  /* ns that the tracer's time namespace adds to the time since boot */
const volatile __u32 cpus = 1;	       /* possible CPUs, at most MAX_CPUS */
const volatile __u32 page_size = 4096; /* bytes, a power of two */
const volatile __u32 have_loop = 1;    /* kernel 5.17: bpf_loop */
const volatile __u32 have_cast = 1;    /* kernel 6.2: bpf_rdonly_cast */
const volatile __u32 percpu_rss = 1;   /* kernel 6.2: RSS counters are per CPU */
const volatile __u32 rss_offset = 0;   /* of mm->rss_stat: an array, before 6.2 a structure */
const volatile __u32 held_offset = 0;  /* before 6.2: of task->rss_stat.count; 0: threads hold nothing back */
const volatile __u32 tree_offset = 0;  /* before 6.1: of mm->mm_rb, the tree of areas */
const volatile __u32 node_offset = 0;  /* before 6.1: of area->vm_rb, its node there */
const volatile struct container_fields container_at = {};
const volatile __u32 change_ring_size = 1 << 22;
const volatile __u32 boundary_ring_size = 1 << 20;
const volatile __u32 counting = 0;	 /* page faults and switches are read with the CPU time */
const volatile __u32 lingering = 0;	 /* tests: how often linger() reads the clock */
const volatile __u32 program_copies = 1; /* kernel 7.0: COPIES of the programs at tracepoints */
const volatile __u32 program_copy = 0;	 /* number of this copy */
const volatile __u32 watch_births = 0;	 /* Pythons that are not traced are noted */
const volatile __u32 small_arrays = 0;	 /* all of NumPy's blocks count */

/* Filled by discover_cpus: the address of each CPU's copy of a per-CPU variable, relative to its per-CPU pointer. */
__u64 cpu_offset[MAX_CPUS];

/* The time of each CPU's scheduler clock when its event of `clocks` began to count, or earlier: see cputime.h. */
__s64 clock_began[MAX_CPUS];

__u32 resets_are_seen; /* the programs at memory.peak are attached */

__u64 born;	 /* number of the last entry of `births` */
__u64 born_told; /* when user space was last woken up for one */

/* The tracer's depth in the pid namespaces, so that pids are those that it sees. */
__u32 pid_level;
__u64 pid_space; /* the tracer's pid namespace: a struct pid_namespace */

/* A cheap first test of an mm: counts of traced mm's with that hash. */
#define FILTER_SIZE 4096
__u32 space_filter[FILTER_SIZE];

__u32 used_slots; /* slots from this one on have never been used */

/*
 * The mm that is looked up most, the first root's, so that it needs no hash look-up; its lowest bits, which are 0 in
 * every mm's address (mm_cachep, kernel/fork.c: SLAB_HWCACHE_ALIGN), are the slot. One word: no reader sees one
 * process's mm with another's slot.
 */
#define FIRST_SLOTS 64
#define NO_SPACE    (~0ull)
__u64 first_space = NO_SPACE;

/* The processes that ended last, by the lowest bits of their tgid: some of their threads may still be exiting. */
#define ENDED_LAST 1024
__u32 ended_last[ENDED_LAST];

__u64 next_ticket = 1;
__u64 next_number = 1;
__u64 next_cell = 1;
__u64 next_era = ERAS;
__u32 found_threads; /* entries of found */
__u32 next_batch = 1;
__u64 shared_begun; /* boundaries of trees of more than one process */
__u64 shared_told;  /* of those, the complete ones: all their readings are in the ring, or lost */
__u64 acknowledged; /* tickets up to this one are stored safely; written by user space */
__u64 losses[LOSSES];

/*
 * code_changes: by slot, the number of loads and unloads of libraries. code_checked: that number plus one when user
 * space last knew that the rules are right; 0: never.
 */
__u32 code_changes[MAX_PROCESSES];
/* The number of code objects that each process has freed, where the frees have a probe. */
__u32 code_frees[MAX_PROCESSES];
__u32 code_checked[MAX_PROCESSES]; /* written by user space */

__u64 copies_sent;
__u64 copies_read; /* written by user space */
__u64 scans;
__u64 scans_seen; /* as of the last copy; written by user space */

/* The overhead budget; user space writes all of it but the hits. */
__u64 budget_share; /* in millionths of the time; 0: no limit */
__u64 budget_full;  /* ns: the most that an account holds */
/* ns: a hit at a site of each kind, with the usual work of its program */
__u32 hit_price[GROUPS * SITE_KINDS];
__u32 group_shift[GROUPS]; /* the spending of a group counts 1/2^n */
__u64 group_hits[GROUPS];

struct control request;

#endif
