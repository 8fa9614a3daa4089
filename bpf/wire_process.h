/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shared with user space: traced processes, their trees, and the GPUs that both use. */
#ifndef IPYTRACER_WIRE_PROCESS_H
#define IPYTRACER_WIRE_PROCESS_H

/* What a process may count itself, each in a page of its own, see counts.h: a meter's number less that of NumPy's. */
enum own_counts {
	COUNTS_NUMPY,
	COUNTS_HEAP = METER_HEAP - METER_NUMPY,
	COUNTS_TORCH = METER_TORCH - METER_NUMPY,
	COUNTS = 4, /* a power of two */
};

#define MAX_MODULES 4 /* files of NumPy in which a process may have probes */

/* A traced process. value and high are written by atomics only. */
struct process {
	__u64 mm;
	__s64 value[METERS];
	__s64 high[METERS];	 /* maximum since the last boundary of the root */
	__u64 sent[METERS];	 /* the highest value sent in a segment: see sent_before() */
	__u64 segment;		 /* of its maxima. A change during a cut belongs to one side of it */
	__s64 told[METERS];	 /* value in the last record about this process */
	__s64 inherited[METERS]; /* memory that a forked child shares with its parent, until it executes a program */
	__s64 added[METERS];	 /* its part of the tree's sum: see tree_follows() */
	__s64 counter[4];	 /* the kernel's, when last seen, in pages. Since 6.2 without the CPUs' shares */
	__s64 swapped;		 /* pages in swap, at its last boundary */
	__s64 cpu_time;		 /* ns, at the last boundary that can begin or end a window; 0: not known */
	__u64 counted[COUNTERS]; /* at the same boundary */
	__u64 started;
	__u64 era;		    /* the present one: NumPy's blocks are seen without a gap; see struct block */
	__u64 first_era;	    /* the process's first one */
	__u64 heap_end;		    /* mm->brk, up to whole pages */
	__u64 code_pages;	    /* mm->exec_vm */
	__u64 modules[MAX_MODULES]; /* files of NumPy with probes, as addresses of struct inode; 0: none */
	__u32 tgid;
	__s32 pid;
	__u32 root;
	__u32 active;
	__u32 devices; /* bits: GPUs that it has used */
	__u32 cuda;    /* it has called the driver */
	__u32 cutting; /* number of its boundaries that are being drawn */
	__u32 heap;    /* it has called its allocator while that was probed */
	__u32 torch;   /* it has allocated tensors on the CPU */
	__u32 pools;   /* Arrow's pools have allocated blocks in it */
	__u32 arrays;  /* enum arrays */
	__u32 foreign; /* bits of enum foreign */
	__u32 loads;   /* it may have mapped code of a file that is looked for */
	__u32 imports; /* bits of enum imports */
	__u32 request; /* the thread that serves a front end's request; 0: no end of a request will be seen */
	__u32 listed;  /* the entry of its mm in `spaces` is its own, and it deletes it */
	__u32 untold;  /* bits: meters that were moved by blocks without a record */
	__u32 has_forked;
	__u64 swaps;			 /* 1: its count of pages in swap has moved, or was not 0 at its beginning */
	__u64 handler;			 /* the memory handler of NumPy that counts in pages[COUNTS_NUMPY] */
	__s64 paged[COUNTS];		 /* bytes of the meter that are from the page */
	__u32 pages[COUNTS];		 /* of count_pages, from 1, in which it counts blocks itself; 0: none */
	__s64 touch_at[RESIDENT_PARTS];	 /* value of a part of resident at which a page is sampled: see touched.h */
	__s64 touch_gap[RESIDENT_PARTS]; /* bytes between that page and the one before */
	__s64 touch_interval;
	__s64 touch_credit;  /* ns that samples may take */
	__u64 touch_paid;    /* the time of the last one */
	__u64 touched_page;  /* address of the last fault with a sample */
	__u64 touched_again; /* bytes behind it, of the last one of several samples of that fault */
	__u64 gone_from;     /* the range of pages that went last; no page was sampled since, unless the size is 0 */
	__u64 gone_size;
	__u64 last_copy; /* the page that it has copied last: see forked.h */
	__s64 copy_at;	 /* value of METER_COPIED at which a copied page is recorded as a sample */
	__s64 copy_from; /* that value at the sample before */
};

/*
 * Libraries that allocate. A process has mapped code of them since it executed its program. They are known by the
 * names of their files.
 */
enum imports {
	IMPORTS_NUMPY = 1 << 0,
	IMPORTS_TORCH = 1 << 1,
	IMPORTS_CUDA = 1 << 2,
	IMPORTS_ARROW = 1 << 3,
};

#define BIRTHS	   512 /* a power of two */
#define BIRTH_TEXT 224 /* bytes of the arguments */

/* A process that executes a Python, or is the fork of one, and is not traced. */
struct birth {
	__u64 number;  /* from 1; 0 while it is being written */
	__u64 started; /* the start of the process, in 1/100 s since boot */
	__s32 pid;
	__u16 size;	       /* bytes of the text */
	__u16 forked;	       /* 1: the text is that of its parent */
	char text[BIRTH_TEXT]; /* the beginning of its arguments, with a NUL after each */
};

/* A GPU, as one process uses it. */
struct device {
	__s64 value[DEVICE_METERS];
	__s64 high[DEVICE_METERS]; /* maximum since the last boundary of the root */
	__s64 told[DEVICE_METERS];
	__u64 sent[DEVICE_METERS]; /* totals: as a process's */
	__u64 torch_epoch;	   /* of the group at PyTorch's last report of its totals; 0: never */
	__s64 foreign;		   /* blocks of other processes that are open */
	__s64 suspended;	   /* driver memory that a checkpoint has taken off the device */
};

/* A GPU, as a tree uses it. */
struct device_tree {
	__s64 value[DEVICE_METERS];
	__s64 high[DEVICE_METERS];
	__s64 told[DEVICE_METERS];
};

/* An attached process and its tree. */
struct root {
	__u64 segment;
	__u64 stream;
	__u64 unknown[UNKNOWNS]; /* frees of unknown blocks. Up to untraced_now: as in struct boundary */
	__s64 slack[UNKNOWNS];	 /* the most bytes that these can have had */
	__s64 unsure[UNKNOWNS];	 /* bytes by which a meter may be off since its pause */
	__u64 refused[REFUSED];
	__s64 missing[MISSINGS];
	__u64 untraced; /* see struct boundary */
	__u64 untraced_now;
	__u64 listening; /* frees of unknown arrays are remembered: see settle_array */
	__s64 tree[METERS];
	__s64 tree_high[METERS];
	__u32 processes;
	__u32 shared;  /* there has been more than one process */
	__u32 devices; /* bits: GPUs that the tree has used */
	__u32 down;    /* bits: groups that are stepped down, see budget.h */
	__s64 credit;  /* ns that probes may take; below 0 if they took more */
	__s64 floor;   /* the credit at which the account is looked at next */
	__s64 looked;  /* the credit at the last look */
	__u64 topped_up;
	__u64 halved;
	__u64 spent[GROUPS]; /* ns since the last look */
	__u64 late[GROUPS];  /* ns before that, halved every second */
	__u32 epoch[GROUPS]; /* number of times that each group has been put back */
	__u32 looking;	     /* a CPU looks at the account */
	__u32 due;	     /* the credit is below the floor: a look is due */
	__u32 small_tick;    /* ticks of the kernel's clock when small_credit was topped up */
	__u32 padding;
	__s64 small_credit; /* ns that records of single small blocks may take: see blocks.h */
	__u64 small_since;  /* when small_credit was topped up */
};

/* A slot that no process has. */
struct closed_slot {
	__u64 since; /* ns, as bpf_ktime_get_ns */
	__u32 slot;
	__u32 padding;
};

/* The place of a process's ledger, by its tgid. */
struct member {
	__u32 root;
	__u32 slot;	/* NO_SLOT while it shares its parent's memory (vfork), or if there was no room for it */
	__u32 untraced; /* there was no room */
};

#endif
