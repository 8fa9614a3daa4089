/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shared with user space: what is kept of traced processes, trees, threads and blocks. */
#ifndef IPYTRACER_WIRE_PROCESS_H
#define IPYTRACER_WIRE_PROCESS_H

/* A traced process. value and high are written by atomics only. */
#define MAX_MODULES 4 /* that a process's sys.path may have */

struct process {
	__u64 mm;
	__s64 value[METERS];
	__s64 high[METERS];	 /* maximum since the last boundary of the root */
	__u64 sent[METERS];	 /* the highest value that was sent in a segment: see sent_before() */
	__u64 segment;		 /* that its maxima are of now: changes of a cut that is under way belong to one side */
	__s64 told[METERS];	 /* value in the last record about this process */
	__s64 inherited[METERS]; /* what a forked child shares with its parent, until it executes a program */
	__s64 added[METERS];	 /* what is in the tree's sum for it: see tree_follows() */
	__s64 counter[4]; /* the kernel's counters when last seen, in pages; since 6.2 without the CPUs' shares */
	__s64 cpu_time;	  /* ns, as of the last boundary at which a window may begin or end; 0: not known */
	__u64 counted[COUNTERS]; /* the same */
	__u64 started;
	__u64 era;		    /* in which NumPy's blocks are seen without a gap; see struct block */
	__u64 first_era;	    /* the process's first one */
	__u64 heap_end;		    /* mm->brk, up to whole pages */
	__u64 code_pages;	    /* mm->exec_vm */
	__u64 modules[MAX_MODULES]; /* NumPy's files with probes in them, by their struct inode; 0 for none */
	__u32 tgid;
	__s32 pid;
	__u32 root;
	__u32 active;
	__u32 devices; /* bits: GPUs that it has used */
	__u32 cuda;    /* it has called the driver */
	__u32 cutting; /* boundaries that are being drawn of it now */
	__u32 heap;    /* it has called its allocator under trace */
	__u32 torch;   /* it has made tensors on the CPU */
	__u32 pools;   /* Arrow's pools have made blocks in it */
	__u32 arrays;  /* enum arrays */
	__u32 foreign; /* bits of enum foreign */
	__u32 loads;   /* it has mapped code of a file that is looked for, or may have */
	__u32 imports; /* bits of enum imports */
	__u32 request; /* the thread that carries out a front end's request, 0: none that would say when it is over */
	__u32 listed;  /* the entry of its mm in `spaces` is its own to delete */
	__u32 untold;  /* bits: meters that blocks have moved which were not told */
	__u32 padding;
};

/* Libraries that allocate and whose code a process has mapped since it executed its program, by their files' names. */
enum imports {
	IMPORTS_NUMPY = 1 << 0,
	IMPORTS_TORCH = 1 << 1,
	IMPORTS_CUDA = 1 << 2,
	IMPORTS_ARROW = 1 << 3,
};

/*
 * By which probes NumPy's blocks are counted. User space moves a process on. What is foreign ends that: those blocks do
 * not pass the probes in NumPy.
 */
enum arrays {
	ARRAYS_TRACKED,	 /* those on PyTraceMalloc_Track and _Untrack */
	ARRAYS_SETTLING, /* those in NumPy; Track adds what they have not seen */
	ARRAYS_INSIDE,	 /* those in NumPy */
	ARRAYS_LEAVING,	 /* the same, until the others are in place: foreign blocks are missed */
};

/*
 * Whose blocks pass the probes in NumPy by. One of them, or 0, is also the first_line of a MeterShed or MeterBack
 * boundary, which then is not about the budget.
 */
enum foreign {
	FOREIGN_HANDLER = 1, /* of a memory handler that is not NumPy's own (NEP 49) */
	FOREIGN_MODULE = 2,  /* of a NumPy without probes, that user space did not foresee or has not looked at yet */
};

/*
 * Where a block's address (bits 0-7 of a cookie), its size (bits 8-15) and what that is to be multiplied by (bits
 * 16-23) lie: the number of a register, as the processor numbers them, or with PLACE_STACK how many words above the
 * stack pointer.
 */
enum array_place { PLACE_STACK = 1 << 6, PLACE_NONE = 0xff };

/* A reallocation of NumPy's that has not come back. */
struct resize {
	__u64 address;
	__s64 size;    /* that it is to have */
	__s64 before;  /* that it had, SIZE_NOT_KNOWN */
	__s64 slack;   /* what it had at most, where that is not known and it may have counted */
	__u32 telling; /* of the block that it had */
	__u32 padding;
};

/*
 * What a function of the allocator does: bits 0-7 of the cookie of the probe where it is called. Bits 8-23: bytes on
 * the stack above the return address there. Bit 24: it is glibc's. Go has it as libc.Operation (bpf/wiregen).
 */
enum heap_operation {
	HEAP_NONE,
	HEAP_ALLOC,	    /* (size) */
	HEAP_ALLOC_ARRAY,   /* (count, size) */
	HEAP_ALLOC_ALIGNED, /* (alignment, size) */
	HEAP_ALLOC_INTO,    /* (pointer *, alignment, size), 0 for success */
	HEAP_RESIZE,	    /* (pointer, size) */
	HEAP_RESIZE_ARRAY,  /* (pointer, count, size) */
	HEAP_FREE,	    /* (pointer, …) */
	HEAP_OPERATIONS,
};

/* A call of the allocator that has not returned. */
struct heap_call {
	__u64 sp;      /* at its entry; 0: none is under way */
	__u64 address; /* the block that is resized; where the new one's address goes */
	__s64 size;    /* asked for */
	__s64 before;  /* of the block that is resized */
	__u32 operation;
	__u32 known; /* that block was in the table, and is not now */
};

/* A call of a function of Arrow's pools that has not returned. */
struct pool_call {
	__u64 sp;      /* at its entry; 0: none is under way */
	__u64 status;  /* where it says how it has ended */
	__u64 at;      /* where the block's address is, or will be */
	__u64 address; /* the block that is resized; 0 for none */
	__s64 size;    /* asked for */
	__s64 before;  /* of the block that is resized, and was in the table; 0 for none */
	__s64 unknown; /* of one that was not in it */
	__u32 telling; /* enum telling, of the block that was in the table */
	__u32 epoch;   /* of the group, as the call began */
};

/* A GPU, as one process uses it. */
struct device {
	__s64 value[DEVICE_METERS];
	__s64 high[DEVICE_METERS]; /* maximum since the last boundary of the root */
	__s64 told[DEVICE_METERS];
	__u64 sent[DEVICE_METERS]; /* totals: as a process's */
	__u64 torch_epoch;	   /* of the group in which PyTorch's totals were last heard; 0: never */
	__s64 foreign;		   /* blocks of other processes that are open */
	__s64 suspended;	   /* driver memory that a checkpoint has taken off the device */
};

/* A GPU, as a tree uses it. */
struct device_tree {
	__s64 value[DEVICE_METERS];
	__s64 high[DEVICE_METERS];
	__s64 told[DEVICE_METERS];
};

#define SMALL_STACK 65536 /* bytes */

/* An attached process and its tree. */
struct root {
	__u64 segment;
	__u64 stream;
	__u64 unknown[UNKNOWNS]; /* frees of what was not seen to be made; up to untraced_now as in struct boundary */
	__s64 slack[UNKNOWNS];	 /* an upper bound of their bytes */
	__s64 unsure[UNKNOWNS];	 /* by how many bytes a meter may be off, since it was paused */
	__u64 refused[REFUSED];
	__s64 missing[MISSINGS];
	__u64 untraced; /* see struct boundary */
	__u64 untraced_now;
	__u64 listening; /* frees of unknown arrays are remembered, see settle_array */
	__s64 tree[METERS];
	__s64 tree_high[METERS];
	__u32 processes;
	__u32 shared;  /* there has been more than one process */
	__u32 devices; /* bits: GPUs that the tree has used */
	__u32 down;    /* bits: groups that are stepped down, see budget.h */
	__s64 credit;  /* ns that probes may take; below 0 when they took more */
	__s64 floor;   /* the credit at which it is looked at next */
	__s64 looked;  /* what it was at the last look */
	__u64 topped_up;
	__u64 halved;
	__u64 spent[GROUPS]; /* ns since the last look */
	__u64 late[GROUPS];  /* ns before that, halved every second */
	__u32 epoch[GROUPS]; /* how often each group has been put back */
	__u32 looking;	     /* a CPU looks at the account */
	__u32 due;	     /* it is below the floor, and is to be looked at */
	__u32 small_tick;    /* the kernel's clock, in ticks, when small_credit was topped up */
	__u32 padding;
	__s64 small_credit; /* ns that small blocks may take that are told each, see blocks.h */
	__u64 small_since;  /* when it was topped up */
};

/* A slot that nobody has. */
struct closed_slot {
	__u64 since; /* ns, as bpf_ktime_get_ns */
	__u32 slot;
	__u32 padding;
};

/* Where a tgid's ledger is. */
struct member {
	__u32 root;
	__u32 slot;	/* NO_SLOT while it shares its parent's memory (vfork), or there was no room for it */
	__u32 untraced; /* the latter */
};

/* What BPF must know of one process's CPython. Offsets in bytes; see package cpython for their source. */
struct python {
	__u64 inputs;	   /* address of IPython's In list, 0 if not known */
	__u64 interpreter; /* address of the main interpreter state */
	__u64 main_thread; /* address of the main thread's state, a hint */
	__u64 result_type; /* cache: address of the type ExecutionResult */
	__u64 cell_type;   /* the same of cell, which a variable of nested functions is in */
	__u64 text;	   /* where the interpreter's code is */
	__u64 text_size;
	__u64 code_mask;
	__u32 code_filename;
	__u32 code_name;
	__u32 code_first_line;
	__u32 code_flags;
	__u32 code_line_table;
	__u32 code_full_name; /* co_qualname, co_name before 3.11 */
	__u32 code_bytes;     /* co_code_adaptive; 3.11+ */
	__u32 code_version;   /* co_version; 3.12+, else 0 */
	__u32 code_copies;    /* co_tlbc: threads' copies of the instructions; free-threaded 3.14+, else 0 */
	__u32 string_length;
	__u32 string_state;
	__u32 string_kind; /* the first bit of what that says of the characters */
	__u32 ascii_data;
	__u32 compact_data;
	__u32 object_type;
	__u32 type_name;
	__u32 var_size;
	__u32 bytes_data;
	__u32 thread_next;
	__u32 thread_id;
	__u32 thread_frame;
	__u32 cframe_current;
	__u32 frame_kind; /* 0 PyFrameObject, 1 through cframe, 2 direct */
	__u32 frame_back;
	__u32 frame_code;
	__u32 frame_owner;
	__u32 frame_instruction; /* f_lasti, prev_instr or instr_ptr */
	__u32 frame_copy;	 /* tlbc_index: the copy that instr_ptr points into; free-threaded 3.14+ */
	__u32 frame_size;	 /* bytes that are read of a frame; 0: stacks are not walked */
	__u32 owner_skip;
	__u32 owner_generator;
	__u32 frame_generator; /* PyFrameObject.f_gen; 3.9 and 3.10 */
	__u32 frame_locals;    /* the first local variable */
	__u32 generator_frame; /* offset of the frame in a generator (3.11+), or of gi_frame */
	__u32 generator_state; /* gi_frame_state; 3.11+ */
	__u32 frame_state;     /* f_state (3.10) or f_executing (3.9) */
	__u32 frame_stack_top; /* f_stacktop; 3.9 */
	__u32 state_kind;      /* 0: gi_frame is NULL when over, f_executing (3.9); 1: the same, f_state (3.10); 2:
				  gi_frame_state */
	__s32 state_executing;
	__s32 state_finished; /* states >= this one are over */
	__u32 threads_head;
	__u32 native; /* native stacks; 0: none, 1: of threads without Python frames, 2: of all */
	__u32 ready;
	__u32 terminal;	     /* its shell is a terminal's: PyOS_Readline is its simple prompt */
	__u32 instance_kind; /* enum instance_kind: where an instance's attributes are */
	__u32 type_basic_size;
	__u32 type_dict_offset;
	__u32 cached_keys; /* of a type: the names of its instances' attributes */
	__u32 dict_keys;
	__u32 dict_values;
	__u32 code_frees;	 /* each code object that is freed is seen */
	__u32 interp_collecting; /* an int: the garbage collector runs; 0 if it is not known where that is */
	__u32 free_threaded;	 /* no GIL: an object's header takes 32 bytes */
	__u32 padding;
};

/* Where an instance has its attributes: see results.h. */
enum instance_kind {
	INSTANCE_UNKNOWN,
	INSTANCE_POINTER,   /* 3.9, 3.10 */
	INSTANCE_TWO_WORDS, /* 3.11 */
	INSTANCE_TAGGED,    /* 3.12 */
	INSTANCE_INLINE,    /* 3.13 and newer */
};

#define MAX_ATTRIBUTES 16 /* an ExecutionResult has six at most */

/* One cell that runs on a thread. */
struct window {
	__u64 cell;
	__u64 coroutine;
	__u64 runner;	 /* the code object of its run_cell_async; 0: not known */
	__u64 result;	 /* IPython's ExecutionResult of it; 0: not known */
	__u64 statement; /* stack pointer at the place where the statement was seen to begin; 0: none runs */
	__u64 code;	 /* its code object */
	__u32 awaiting;	 /* the statement is a coroutine that IPython awaits */
	__u32 failed;
	__u32 statements;
	__u32 file_size;
	__u32 ended;	/* it has its result: display and hooks run. Its coroutine may be freed */
	__u32 returned; /* its coroutine has returned the result */
	__u32 awaited;	/* a statement of it was a coroutine */
	__u32 embedded; /* its shell is that of IPython.embed() */
	__u64 file[FILE_WORDS];
};

struct thread {
	__u32 depth;
	__u32 padding;
	struct window windows[MAX_NESTING];
};

/* A thread by its pthread_self(), of which user space has found out that cells run on it. */
struct thread_key {
	__u64 self;
	__u32 slot;
	__u32 padding;
};

/*
 * A block of NumPy, of PyTorch on the CPU, or of Arrow's pools, that lives. Its era is that of its process in which it
 * was last known for certain: each attach begins one, and each time that the probes are put back. No era is used twice.
 * An era before the process's first one is no block: it is of a process that had the slot before, or one of enum
 * no_era.
 */
struct block {
	__s64 size;
	__u64 era;
	__u32 telling; /* enum telling */
	__u32 spilt;   /* of the one in a place: how many in the tables belong there */
};

/* Where a block is looked for first, and mostly found: see places.h. */
struct place {
	__u64 key; /* of the block that is in it; 0 for none, PLACE_TAKEN while one is put there */
	struct block block;
};

/* Of a block's key: its address, a bit for PyTorch's, the slot, a bit for Arrow's. Go has the bits as kernelPlaceKey.
 */
enum place_key { PLACE_TAKEN = 1, PLACE_BITS = 17, ADDRESS_BITS = 47 };

#define TORCH_KEY (1ull << ADDRESS_BITS) /* no address of a process has it */
#define ARROW_KEY (1ull << 63)		 /* no slot has it */

/* How what a block does to its meter is told: see blocks.h. */
enum telling {
	TELL_BLOCK,  /* it is told itself */
	TELL_SAMPLE, /* the same, and stands for SAMPLE_OF bytes of blocks */
	TELL_NOT,    /* it only moves the meter */
};

#define SAMPLE_OF 65536 /* bytes: of blocks below it those are told that are samples; a power of two */

enum no_era {
	ERA_GONE, /* it was found out that the block had gone */
	ERA_FREE, /* something unknown was freed here, in the era that is in `size` */
	ERAS	  /* the first one */
};

/* The files of NumPy's module that have probes for a process, as open files of the tracer; -1 for none. */
struct foresight {
	__s32 files[MAX_MODULES];
	__u32 slot;
	__u32 padding;
};

/* What was found out about a block that may have gone or come while nobody looked. */
struct finding {
	__u64 address;
	__s64 known; /* bytes it had, 0: it is not in the table */
	__s64 found; /* bytes it has, 0: it has gone */
	__u32 slot;
	__u32 done; /* result: it was still so */
};

#endif
