/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Everything kernel and user space share: record layouts, map values, limits. Go's types are generated from
 * this file (bpf2go); nothing is mirrored by hand. Fields go widest first and every padding byte has a name.
 */
#ifndef IPYTRACER_WIRE_H
#define IPYTRACER_WIRE_H

#define METERS		 9    /* of the CPU side; a device has DEVICE_METERS more */
#define MAX_DEVICES	 16   /* GPUs of one process */
#define MAX_CPUS	 512  /* CPUs whose RSS counters can be summed */
#define MAX_PROCESSES	 2048 /* traced at once, over all roots; a power of two */
#define MAX_ROOTS	 64   /* attached processes */
#define MAX_NESTING	 8    /* run_cell within run_cell, on one thread */
#define MAX_STORED	 4096 /* boundary records not yet acknowledged; a power of two */
#define ERROR_NAME	 64   /* bytes of the name of an exception's type, with its NUL */
#define TEXT_SIZE	 192  /* bytes of a file name, marker or line table in a boundary */
#define NAME_SIZE	 160  /* bytes of an experiment's name, of it */
#define FILE_SIZE	 96   /* bytes of a cell's file name that are compared */
#define FILE_WORDS	 (FILE_SIZE / 8)
#define SOURCE_SHORT	 488   /* bytes of source in a short record: most cells */
#define SOURCE_CHUNK	 8192  /* bytes of cell source in one record */
#define SOURCE_CHUNKS	 64    /* at most 512 KiB of a cell's source are sent, as the process keeps it */
#define MAX_FRAMES	 64    /* of a Python stack; a power of two */
#define MAX_NATIVE	 128   /* of a native one; a power of two */
#define STACK_COPY	 16384 /* bytes of a thread's stack that are copied */
#define SCAN_WORDS	 32    /* of a stack that are read at once; a power of two */
#define MAX_COPIES	 16    /* copies that user space has not read */
#define MAX_SCANS	 512   /* signatures of stacks that are made before user space reads the next copy */
#define LINES_SIZE	 2048  /* bytes of a line table that travel with its code object */
#define TABLE_UNREADABLE 0x80000000u
#define FRAME_BYTES	 128  /* of a frame that are read at most */
#define FRAME_STRETCH	 1024 /* bytes of a thread's frames that are read at once, in front of one */
#define STRETCH_WORDS	 256  /* room for that and a frame; a power of two */
#define CODE_WORDS	 32   /* of a code object; a power of two */
#define CODE_BYTES	 160  /* of them: what every version has */
#define NO_SLOT		 0xffffffffu
#define PAGE		 4096

/* Same order as event.Meter. */
enum meter {
	METER_MAPPED,
	METER_RESIDENT,
	METER_ANON,
	METER_FILE,
	METER_SHMEM,
	METER_NUMPY,
	METER_PINNED,
	METER_HEAP,
	METER_TORCH
};
enum device_meter { DEVICE_DRIVER, DEVICE_ACTIVE, DEVICE_RESERVED, DEVICE_METERS };

/* Same order as event.BoundaryKind; the last two never leave the tracer's ring reader. */
enum boundary_kind {
	BOUNDARY_NONE,
	BOUNDARY_ATTACHED,
	BOUNDARY_DETACHED,
	BOUNDARY_CELL_OPEN,
	BOUNDARY_CELL_CLOSE,
	BOUNDARY_STATEMENT_OPEN,
	BOUNDARY_STATEMENT_CLOSE,
	BOUNDARY_EXPERIMENT_BEGIN,
	BOUNDARY_EXPERIMENT_END,
	BOUNDARY_PROCESS_START,
	BOUNDARY_PROCESS_EXEC,
	BOUNDARY_PROCESS_EXIT,
	BOUNDARY_METER_SHED,
	BOUNDARY_METER_BACK,
	BOUNDARY_CELL_RESULT,
	BOUNDARY_METER_SETTLED,
	RECORD_READING = 100, /* another process of the tree, belongs to the boundary before it */
	RECORD_SOURCE,	      /* struct source */
	RECORD_NUDGE,	      /* the change ring fills up: come and read */
	RECORD_DEVICE,	      /* a GPU's meters, belongs to the boundary or reading behind it; `group` is the device */
	RECORD_LIBRARY,	      /* struct header: a process loaded or unloaded a library */
	RECORD_CODE,	      /* struct code */
	RECORD_STACK,	      /* struct stack */
	RECORD_NATIVE,	      /* struct native */
	RECORD_COPY,	      /* struct copy */
};

/* Same order as event.Outcome. */
enum outcome {
	OUTCOME_UNKNOWN,
	OUTCOME_OK,
	OUTCOME_ERROR,
	OUTCOME_INTERRUPTED,
	OUTCOME_ABANDONED,
	OUTCOME_MISSED, /* of a cell: nobody said when it, or what followed its result, was over */
};

#define OUTCOME_TOLD 1 /* the outcome is IPython's own word, and final */

/* What a process's end has in its outcome: what wait(2) says of it, and this. */
#define OUTCOME_OUT_OF_MEMORY 0x10000

/* What a root's boundaries were about that found no room, beginnings and ends. Same order as event.Refused. */
enum refused {
	REFUSED_STATEMENT, /* statements, or a cell's file name, by which they are known */
	REFUSED_MARKER,	   /* experiments, or an experiment's name */
	REFUSED_BOUNDARY,  /* cells, processes, probes */
	REFUSED_READING,   /* what a boundary says of other processes, and of GPUs */
	REFUSED
};

/*
 * By how many bytes a root's meters may be off from then on, because something found no room or was guessed. Same order
 * as event.Missing.
 */
enum missing {
	MISSING_NUMPY,
	MISSING_TORCH,
	MISSING_HEAP,
	MISSING_DEVICE, /* GPU memory: on which GPU it is was guessed */
	MISSING_CUDA,	/* GPU or page-locked memory */
	MISSINGS
};

#define MISSING_MOST	(1ll << 48) /* more than any address space has */
#define MISSING_UNKNOWN (1ll << 61) /* a bit of it: nobody can say how many */

/* A boundary, or one process's reading within it. `ticket` numbers them without gaps: it is the key in the store. */
struct boundary {
	__u64 ticket;
	__u64 number;
	__u64 time;
	__u64 cell;
	__u64 outer;
	__u64 segment;
	__u64 stream;
	__s64 inputs;
	__u64 unknown;
	__s64 slack;
	__u64 unknown_device;
	__u64 unknown_heap;
	__s64 heap_slack;
	__s64 unsure;
	__s64 unsure_torch;
	__u64 unknown_torch;
	__s64 torch_slack;
	__u64 refused[REFUSED]; /* so far */
	__s64 missing[MISSINGS];
	__u64 untraced;	    /* children that were not taken in, so far */
	__u64 untraced_now; /* of these, those that live or may live */
	__s64 value[METERS];
	__s64 high[METERS];
	__s64 tree[METERS];
	__s64 tree_high[METERS];
	__u32 kind;
	__u32 root;
	__s32 pid;
	__s32 tid;
	__s32 parent;
	__s32 first_line; /* statements: co_firstlineno; cells: 1 for one that ran before it was seen, at the end
			     OUTCOME_TOLD; programs that are executed: 1 if their file is named python… */
	__u32 outcome;
	__u32 group;	 /* of processes that execute a program or end: enum imports, of what they were */
	__u32 text_kind; /* bytes in one character of text: 1, 2 or 4; 0 for raw bytes */
	__u32 text_size; /* bytes of text that are valid */
	__u8 text[TEXT_SIZE];
};

/* What every record without a ticket begins with; struct boundary has its ticket in the same place. */
struct header {
	__u64 ticket; /* 0 */
	__u64 cell;
	__u32 kind;
	__s32 pid;
};

/*
 * One chunk of a cell's source: first as it was typed, the characters of a str, then as IPython compiles it, UTF-8, and
 * NUL-terminated when it is the last. May be lost, and is counted.
 */
struct source {
	struct header header;
	__u32 offset;
	__u32 size;	 /* bytes of text, with the NUL if there is one */
	__u32 text_kind; /* as typed: bytes in one character; 0: as compiled */
	__u32 total;	 /* as typed: bytes of all chunks, if there were room for them */
	__u8 text[SOURCE_CHUNK];
};

/* A code object, when it is seen first in a stack. May be lost, and is counted; then it is sent again. */
struct code {
	struct header header;
	__u64 number;
	__u64 table;	  /* address of the line table's bytes */
	__s32 first_line; /* co_firstlineno */
	__u32 table_size; /* bytes of the whole table, or TABLE_UNREADABLE */
	__u32 file_kind;  /* bytes in one character: 1, 2 or 4; 0: it could not be read */
	__u32 file_size;  /* bytes in all, at most TEXT_SIZE */
	__u32 name_kind;
	__u32 name_size;
	__u8 file[TEXT_SIZE];
	__u8 name[TEXT_SIZE];
	__u8 lines[LINES_SIZE];
};

/* A code object and an instruction in it: f_lasti before 3.11, bytes from the first instruction since. */
struct frame {
	__u64 code;
	__s64 at;
};

/* A Python stack, innermost frame first, when it is seen first. May be lost, and is counted; then it is sent again. */
struct stack {
	struct header header;
	__u64 number;
	__u32 count;
	__u32 more; /* there were more than MAX_FRAMES */
	struct frame frames[MAX_FRAMES];
};

/* How the caller of a place in native code is found, from the registers there. Same order as native.Base. */
enum rule_base {
	RULE_UNKNOWN,	/* nobody knows */
	RULE_OUTERMOST, /* nobody called it: a thread begins here */
	RULE_SP,	/* the frame's address (CFA) is the stack pointer plus cfa_offset */
	RULE_BP,	/* rbp plus cfa_offset */
	RULE_BP_DEREF,	/* what lies at rbp plus cfa_offset (a realigned stack); the caller's rbp is where rbp points */
};

struct rule {
	__u32 base;
	__s32 cfa_offset;
	__s32 bp_offset; /* from the frame's address to where the caller's rbp is kept; 0: it is still in rbp */
	__u32 mapping;	 /* which of all that was ever mapped: another library at the same address is another number */
};

/* Why a native stack ends where it does. Same order as ledger.NativeEnd. */
enum native_end {
	NATIVE_FULL,	  /* there is no room for more */
	NATIVE_OUTERMOST, /* the thread begins here */
	NATIVE_PYTHON,	  /* the interpreter called it: the Python frames follow */
	NATIVE_UNKNOWN,	  /* no rule leads on */
	NATIVE_MISSING,	  /* user space has not said yet how to go on */
};

/* A native stack, return addresses of the innermost call first, when it is seen first. Sent as a Python stack is. */
struct native {
	struct header header;
	__u64 number;
	__u64 python; /* number of the Python stack behind it, 0 for none */
	__u32 count;
	__u32 end;
	__u32 leaf; /* the first is the instruction that was reached, not a return address */
	__u32 padding;
	__u64 pcs[MAX_NATIVE];
};

/* The top of a thread's stack, for user space to unwind where rules are missing here. */
struct copy {
	struct header header;
	__u64 number; /* of the stack that it is */
	__u64 python;
	__u64 ip;
	__u64 sp;
	__u64 bp;
	__u32 slot;
	__u32 size; /* bytes that are valid, from sp upwards */
	__u8 memory[STACK_COPY];
};

/* What walks up a thread's frames keep. */
struct walk {
	struct stack stack;
	struct native native;
	__u64 pc; /* native frames: where the one to look at next is */
	__u64 sp;
	__u64 bp;
	__u64 text; /* of the interpreter */
	__u64 text_size;
	__u64 last_native; /* number of the last native stack */
	__u64 signature;   /* of the stack */
	__u64 chunk[SCAN_WORDS];
	__u64 thread;	    /* its PyThreadState, as found last */
	__u64 first_thread; /* of the interpreter's list, when it had none */
	__u64 first_id;	    /* whose it was */
	__u64 last;	    /* number of the last stack */
	__u64 path;	    /* a hash of its frames and their code objects' addresses; see known_path() */
	__u64 last_path;    /* that of the last stack, 0: not to be relied on */
	__u64 frame;	    /* to look at next */
	__u64 stop;	    /* the code object of the statement that runs, 0 for none */
	__u64 seed;
	__u64 frames_copy[STRETCH_WORDS];
	__u64 stretch; /* where its beginning is from, 0: nothing is there */
	__u64 reach;   /* how far behind that is the last frame there, in bytes */
	__u64 code_copy[CODE_WORDS];
	__u64 table_head[5]; /* ob_size, ob_shash, the first 24 bytes */
	__u64 table_tail[4];
	__u32 slot;
	__s32 pid;
	__u32 missed;	  /* walks since it had none */
	__u32 frame_at;	  /* where in frames_copy the frame is, in words */
	__u32 unreadable; /* code objects without a number */
	__u32 padding;
};

/* One value one meter took. May be lost, and is counted. */
struct change {
	__u64 stream;
	__u64 segment;
	__u64 time;
	__u64 address;
	__u64 stack; /* who allocated: the number of a stack, 0 for not known */
	__s64 value;
	__s64 size;
	__u32 root;
	__s32 pid;
	__s32 tid;
	__u32 meter; /* METERS + device * DEVICE_METERS + device_meter for those of a GPU; see change_flag */
};

/* In change.meter, beside the meter in bits 0-7. */
enum change_flag {
	CHANGE_CALLER =
		1 << 8, /* bits 8-15: the function of the CUDA runtime that the driver was called from, 0: none */
	CHANGE_REFUSED = 1 << 30, /* nothing changed: `size` bytes were asked for and refused; value is what was held */
	CHANGE_FOREIGN =
		1 << 28, /* nothing changed: memory of another process was opened or closed; value is how many are */
	CHANGE_BLOCK = 1 << 26,	    /* of a total: `address` and `size` are the block that was made or freed */
	CHANGE_BETWEEN = 1 << 27,   /* a boundary was being drawn: it may belong to its segment or to the next */
	CHANGE_COLLECTED = 1 << 25, /* a block was freed while Python's garbage collector ran: nothing else does then */
	CHANGE_LEARNED = 1 << 29,   /* the meter was not known before; value is what it was before its next change */
};

/* A traced process. value and high are written by atomics only. */
#define MAX_MODULES 4 /* that a process's sys.path may have */

struct process {
	__u64 mm;
	__s64 value[METERS];
	__s64 high[METERS];    /* maximum since the last boundary of the root */
	__s64 emitted[METERS]; /* highest value sent in segment emitted_in */
	__u64 emitted_in[METERS];
	__u64 segment;		 /* that its maxima are of now: changes of a cut that is under way belong to one side */
	__s64 told[METERS];	 /* value in the last record about this process */
	__s64 inherited[METERS]; /* what a forked child shares with its parent, until it executes a program */
	__s64 counter[4]; /* the kernel's counters when last seen, in pages; since 6.2 without the CPUs' shares */
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
	__u32 arrays;  /* enum arrays */
	__u32 foreign; /* bits of enum foreign */
	__u32 loads;   /* it has mapped code of a file that is looked for, or may have */
	__u32 imports; /* bits of enum imports */
	__u32 request; /* the thread that carries out a front end's request, 0: none that would say when it is over */
};

/* Libraries that allocate and whose code a process has mapped since it executed its program, by their files' names. */
enum imports {
	IMPORTS_NUMPY = 1 << 0,
	IMPORTS_TORCH = 1 << 1,
	IMPORTS_CUDA = 1 << 2,
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
 * Where a block's address (bits 0-7 of a cookie) and its size (bits 8-15) lie: the number of a register, as the
 * processor numbers them, or with PLACE_STACK how many words above the stack pointer.
 */
enum array_place { PLACE_STACK = 1 << 6, PLACE_NONE = 0xff };

/* A reallocation of NumPy's that has not come back. */
struct resize {
	__u64 address;
	__s64 size;   /* that it is to have */
	__s64 before; /* that it had, SIZE_NOT_KNOWN */
	__s64 slack;  /* what it had at most, where that is not known and it may have counted */
};

/*
 * What a function of the allocator does: bits 0-7 of the cookie of the probe where it is called. Bits 8-23: bytes on
 * the stack above the return address there. Bit 24: it is glibc's. Same order as memory.Operation.
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

/* A GPU, as one process uses it. */
struct device {
	__s64 value[DEVICE_METERS];
	__s64 high[DEVICE_METERS]; /* maximum since the last boundary of the root */
	__s64 told[DEVICE_METERS];
	__s64 emitted[DEVICE_METERS]; /* totals: highest value sent in segment emitted_in */
	__u64 emitted_in[DEVICE_METERS];
	__u64 torch_epoch; /* of the group in which PyTorch's totals were last heard; 0: never */
	__s64 foreign;	   /* blocks of other processes that are open */
	__s64 suspended;   /* driver memory that a checkpoint has taken off the device */
};

/* A GPU, as a tree uses it. */
struct device_tree {
	__s64 value[DEVICE_METERS];
	__s64 high[DEVICE_METERS];
	__s64 told[DEVICE_METERS];
};

/* Probes that are stepped down together when they cost more than the budget. */
enum group {
	GROUP_NUMPY,
	GROUP_STATEMENT,
	GROUP_RESULT,
	GROUP_CELL,
	GROUP_SIGNAL,
	GROUP_CODE, /* code objects that are freed; never stepped down, nor are stacks known by their addresses without
		       it */
	GROUP_DRIVER,
	GROUP_TORCH,
	GROUP_LOADER,
	GROUP_FRAMES,	    /* no probes of its own: stacks of NumPy's and the driver's blocks */
	GROUP_TENSORS,	    /* nor this: the same for PyTorch's blocks, each of which is streamed then */
	GROUP_MAPPING,	    /* stacks of mapped memory; its probes in the C library are never out */
	GROUP_HEAP,	    /* the allocator's functions */
	GROUP_BLOCKS,	    /* no probes of its own: stacks of malloc's blocks, each of which is streamed then */
	GROUP_NATIVE,	    /* nor this: native frames of all stacks */
	GROUP_SMALL_STACKS, /* nor this: stacks of blocks and ranges below SMALL_STACK */
	GROUP_SMALL,	    /* nor this: NumPy's blocks below 1,024 bytes, where they are counted */
	GROUP_TORCH_CPU,    /* every tensor that PyTorch makes and frees on the CPU */
	GROUPS = 32
};

#define SMALL_STACK 65536 /* bytes */

/* An attached process and its tree. */
struct root {
	__u64 segment;
	__u64 stream;
	__u64 unknown;
	__s64 slack;
	__u64 unknown_device; /* frees of device or pinned memory whose size, allocations whose device is not known */
	__u64 unknown_heap;   /* frees of malloc's blocks whose making was not seen */
	__s64 heap_slack;     /* an upper bound of their bytes */
	__s64 unsure;	      /* by how many bytes the NumPy meter may be off, since it was paused */
	__s64 unsure_torch;   /* likewise for PyTorch's on the CPU */
	__u64 listening;      /* frees of unknown arrays are remembered, see settle_array */
	__u64 unknown_torch;  /* frees of tensors on the CPU whose making was not seen */
	__s64 torch_slack;    /* an upper bound of their bytes */
	__u64 refused[REFUSED];
	__s64 missing[MISSINGS];
	__u64 untraced; /* see struct boundary */
	__u64 untraced_now;
	__s64 tree[METERS];
	__s64 tree_high[METERS];
	__u32 processes;
	__u32 shared;  /* there has been more than one process */
	__u32 devices; /* bits: GPUs that the tree has used */
	__u32 down;    /* bits: groups that are stepped down, see budget.h */
	__s64 credit;  /* ns that probes may take; below 0 when they took more */
	__s64 floor;   /* the credit at which it is looked at next */
	__u64 topped_up;
	__u64 halved;
	__u64 spent[GROUPS]; /* ns of late: halved every second that it is looked at */
	__u32 epoch[GROUPS]; /* how often each group has been put back */
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
	__u32 native;	   /* native stacks; 0: none, 1: of threads without Python frames, 2: of all */
	__u32 pushed_eval; /* bytes between EvalCode's entry and its probe site */
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
	__u64 statement; /* stack pointer at the entry of the statement's PyEval_EvalCode; 0: none runs */
	__u64 code;	 /* its code object */
	__u32 awaiting;	 /* the statement returned a coroutine that IPython now awaits */
	__u32 failed;
	__u32 statements;
	__u32 file_size;
	__u32 ended;	/* it has its result: display and hooks run. Its coroutine may be freed */
	__u32 returned; /* its coroutine has returned the result */
	__u32 awaited;	/* a statement of it returned a coroutine */
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
 * A block of NumPy, or of PyTorch on the CPU, that lives. Its era is that of its process in which it was last known for
 * certain: each attach begins one, and each time that the probes are put back. No era is used twice. An era before the
 * process's first one is no block: it is of a process that had the slot before, or one of enum no_era.
 */
struct block {
	__s64 size;
	__u64 era;
};

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

/*
 * What a function of the CUDA driver does: bits 0-7 of its probes' cookie. Bits 8-15 are the argument that names the
 * device, where it is not always the same one. Bit 16: a first version of CUDA 3.1 and before, in which addresses,
 * sizes and the numbers in descriptors have 32 bits. Same order as cuda.Operation.
 */
enum cuda_operation {
	CUDA_NONE,
	CUDA_ALLOC,	      /* (pointer *, size): the current context's device */
	CUDA_ALLOC_PITCH,     /* (pointer *, pitch *, width, height, element) */
	CUDA_ALLOC_POOL,      /* (pointer *, size, pool, stream) */
	CUDA_ALLOC_ASYNC,     /* (pointer *, size, stream): from the device's pool, which outlives contexts */
	CUDA_FREE,	      /* (pointer) */
	CUDA_HOST_ALLOC,      /* (pointer *, size, flags) */
	CUDA_HOST_FREE,	      /* (pointer) */
	CUDA_HOST_REGISTER,   /* (pointer, size, flags) */
	CUDA_CREATE,	      /* (handle *, size, properties *, flags) */
	CUDA_RELEASE,	      /* (handle) */
	CUDA_MAP,	      /* (pointer, size, offset, handle, flags) */
	CUDA_UNMAP,	      /* (pointer, size) */
	CUDA_RETAIN,	      /* (handle *, pointer) */
	CUDA_IMPORT,	      /* (handle *, …): memory of another process */
	CUDA_IPC_OPEN,	      /* (pointer *, …): memory of another process */
	CUDA_IPC_CLOSE,	      /* (pointer) */
	CUDA_ARRAY,	      /* (array *, descriptor *) */
	CUDA_ARRAY_3D,	      /* (array *, descriptor *) */
	CUDA_MIPMAP,	      /* (array *, descriptor *, levels) */
	CUDA_ARRAY_DESTROY,   /* (array), mipmapped ones as well */
	CUDA_POOL_CREATE,     /* (pool *, properties *) */
	CUDA_POOL_DEFAULT,    /* (pool *, device): cuDeviceGetDefaultMemPool, cuDeviceGetMemPool */
	CUDA_CTX_CREATE,      /* (context *, …, device) */
	CUDA_CTX_DESTROY,     /* (context) */
	CUDA_CTX_SET,	      /* (context) */
	CUDA_CTX_PUSH,	      /* (context) */
	CUDA_CTX_POP,	      /* (context *) */
	CUDA_PRIMARY_RETAIN,  /* (context *, device) */
	CUDA_PRIMARY_RELEASE, /* (device) */
	CUDA_PRIMARY_RESET,   /* (device) */
	CUDA_CHECKPOINT,      /* (pid, …): by any process. What the process has on its devices goes to the host */
	CUDA_RESTORE,	      /* (pid, …): and comes back */
	CUDA_OPERATIONS,
};

/* A call of the driver that has not returned. */
struct call {
	__u64 sp; /* at its entry */
	__u64 argument[5];
	__s64 size; /* frees: what goes if the call succeeds */
	__u64 owner;
	__u64 stack; /* who calls it, where it makes memory */
	__u32 operation;
	__u32 device; /* frees */
	__u32 batch;  /* frees */
	__u32 known;  /* frees: the block was in the table */
	__u32 narrow; /* a first version: 32 bits */
	__u32 padding;
};

/* What a handle or an address of a process stands for. */
enum cuda_kind {
	CUDA_POINTER,
	CUDA_HOST,
	CUDA_HANDLE,
	CUDA_MAPPING,
	CUDA_IS_ARRAY,
	CUDA_POOL,
	CUDA_CONTEXT,
	CUDA_FOREIGN
};

struct cuda_key {
	__u64 address;
	__u32 slot;
	__u32 kind;
};

struct cuda_object {
	__s64 size;
	__u64 owner;	  /* memory: its context, 0 if it outlives that; mappings: their handle; primary contexts: 1 */
	__u32 device;	  /* physical; HOST_DEVICE: page-locked host memory */
	__u32 references; /* handles and primary contexts */
	__u32 mappings;	  /* handles */
	__u32 batch;	  /* see torch.h */
};

#define HOST_DEVICE   0xffffu
#define CONTEXT_STACK 8
#define MAX_BATCHES   65536

/* What a thread that uses CUDA is about. */
struct cuda_thread {
	__u64 contexts[CONTEXT_STACK];
	struct cuda_key last; /* the block allocated last */
	__u64 retained;	      /* the primary context it asked for last */
	__s64 pending;	      /* bytes allocated since PyTorch's last report on this thread */
	__s64 last_size;
	__u32 depth;
	__u32 batch;
	__u64 runtime_sp; /* at the entry of the runtime's function that was called last */
	__u32 runtime;	  /* which function; 0 once it has had its effect */
	__u32 calling;	  /* the same while the driver's call in it returns */
	__u32 reported;	  /* device of PyTorch's last report, plus one; only while no context is known */
	__u32 padding;
};

/* A process's CUDA devices: ordinals as the process counts them, physical as NVML does. Zero: the same. */
struct cuda_devices {
	__u8 physical[MAX_DEVICES]; /* plus one */
	__u32 only;		    /* there is but one device: this one, plus one */
	__u32 retained;		    /* a device in which the process has a context, plus one */
	__u32 several;		    /* there are others */
	__u32 late;		    /* contexts may have been made before the attach */
};

/* Reasons for which something was not recorded. */
enum loss {
	LOSS_CHANGE_RING,   /* no room in the change ring */
	LOSS_BOUNDARY_RING, /* no room in the boundary ring: the record is in the store */
	LOSS_BOUNDARY,	    /* nor in the store: the boundary did not happen for the ledger */
	LOSS_SOURCE,	    /* no room for a cell's source */
	LOSS_BLOCK,	    /* no room in the table of live NumPy blocks */
	LOSS_PROCESS,	    /* more processes than MAX_PROCESSES */
	LOSS_NESTING,	    /* more nested cells than MAX_NESTING */
	LOSS_THREAD,	    /* more threads with cells than fit */
	LOSS_READ,	    /* memory of the target that could not be read */
	LOSS_DEVICE,	    /* a GPU allocation whose device is not known */
	LOSS_OBJECT,	    /* no room in the tables of CUDA memory and contexts */
	LOSS_FORMAT,	    /* an array of a format whose size is not known */
	LOSS_CODE,	    /* a code object found no room */
	LOSS_STACK,	    /* a stack found no room */
	LOSS_NATIVE,	    /* native frames were not known in time */
	LOSS_MAPPING,	    /* no room for a call that moves memory */
	LOSS_HEAP,	    /* no room in the tables of malloc's blocks and calls */
	LOSS_TORCH,	    /* no room in the table of live tensors on the CPU */
	LOSS_STATEMENT,	    /* see enum refused */
	LOSS_MARKER,
	LOSS_READING,
	LOSSES = 32,
};

/* A request of user space, carried out by the control iterator on the task with that pid. */
enum operation {
	OP_NONE,
	OP_ATTACH,
	OP_ADOPT,
	OP_DETACH,
	OP_BACK,
	OP_ARRAYS,
	OP_LATE,
	OP_CELL,
	OP_CELL_END,
	OP_SETTLED
};

struct control {
	__s64 unsure;  /* OP_SETTLED */
	__u64 cell;    /* OP_CELL: one that runs; OP_CELL_END: nobody has seen how it ended */
	__u64 outer;   /* the one it is nested in */
	__u64 started; /* OP_ATTACH, OP_ADOPT: who has the pid must have started then (started_at); 0: anybody */
	__u32 operation;
	__s32 pid; /* in the tracer's pid namespace */
	__s32 parent;
	__u32 root;
	__u32 group;   /* OP_ARRAYS: an enum arrays, and result: the one it is */
	__u32 done;    /* tasks it was carried out on */
	__u32 slot;    /* result: the process's slot */
	__u32 request; /* OP_CELL: the main thread carries out a front end's request. OP_ARRAYS, result: bits of enum
			  foreign */
};

/* What try_account is given, and says. */
struct trial {
	__u64 now;
	__u64 price;
	__u32 root;
	__u32 group;
	__u32 stepped; /* the group that was stepped down, GROUPS for none */
	__u32 padding;
};

#endif
