/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Everything that kernel and user space share: record layouts, map values, limits. Go's types are generated from these
 * files, wire*.h (bpf2go); nothing is mirrored by hand. Fields go widest first and every padding byte has a name.
 */
#ifndef IPYTRACER_WIRE_H
#define IPYTRACER_WIRE_H

#include "wire_meters.h"
#include "wire_container.h"

#define MAX_CPUS	 512  /* CPUs of which the RSS counters can be summed */
#define MAX_PROCESSES	 2048 /* traced at once, over all roots; a power of two */
#define MAX_ROOTS	 64   /* attached processes */
#define MAX_NESTING	 8    /* run_cell within run_cell, on one thread */
#define MAX_STORED	 4096 /* boundary records not yet acknowledged; a power of two */
#define ERROR_NAME	 64   /* bytes of the name of an exception's type, with its NUL */
#define TEXT_SIZE	 192  /* bytes of a file name, marker or line table in a boundary */
#define NAME_SIZE	 160  /* bytes of that for an experiment's name */
#define FILE_SIZE	 96   /* compared bytes of a cell's file name */
#define FILE_WORDS	 (FILE_SIZE / 8)
#define SOURCE_SHORT	 488   /* bytes of source in a short record: most cells */
#define SOURCE_CHUNK	 8192  /* bytes of cell source in one record */
#define SOURCE_CHUNKS	 64    /* at most 512 KiB of a cell's source are sent, as the process keeps it */
#define MAX_FRAMES	 64    /* frames of a Python stack; a power of two */
#define MAX_NATIVE	 128   /* return addresses of a native stack; a power of two */
#define STACK_COPY	 16384 /* copied bytes of a thread's stack */
#define SCAN_WORDS	 32    /* words of a stack in one read; a power of two */
#define MAX_SCANS	 4096  /* most new signatures of stacks before user space reads the next copy */
#define LINES_SIZE	 2048  /* bytes of a line table that are sent with its code object */
#define TABLE_UNREADABLE 0x80000000u
#define FRAME_BYTES	 128  /* most bytes of a frame that are read */
#define FRAME_STRETCH	 1024 /* bytes of a thread's frames, in front of one frame, in one read */
#define STRETCH_WORDS	 256  /* room for these and a frame; a power of two */
#define CODE_WORDS	 32   /* words of a code object; a power of two */
#define CODE_BYTES	 160  /* bytes of a code object that are read: the part that every version has */
#define NO_SLOT		 0xffffffffu

/* Go has it as event.BoundaryKind. Records never leave the tracer's ring reader. */
enum boundary_kind {
	BOUNDARY_NONE,
	BOUNDARY_ATTACHED,   /* a root process was seeded: its session begins */
	BOUNDARY_DETACHED,   /* the tracer detaches from a root process: its session ends */
	BOUNDARY_CELL_OPEN,  /* IPython compiled a cell */
	BOUNDARY_CELL_CLOSE, /* the front end is done with the cell; or the cell has its result, where no later end is
				reported */
	BOUNDARY_STATEMENT_OPEN,   /* one top-level statement of a cell begins */
	BOUNDARY_STATEMENT_CLOSE,  /* the statement ended */
	BOUNDARY_EXPERIMENT_BEGIN, /* the user's begin marker */
	BOUNDARY_EXPERIMENT_END,   /* the user's end marker */
	BOUNDARY_PROCESS_START,	   /* a traced process forked a child */
	BOUNDARY_PROCESS_EXEC,	   /* a traced process replaced its program */
	BOUNDARY_PROCESS_EXIT,	   /* a traced process ended */
	BOUNDARY_METER_SHED,	   /* a probe group was stepped down to keep the overhead budget */
	BOUNDARY_METER_BACK,	   /* the group was put back */
	BOUNDARY_CELL_RESULT,	   /* IPython's run_cell coroutine is over: display and hooks follow */
	BOUNDARY_METER_SETTLED, /* user space has searched for changes of NumPy's blocks during their group's pause */
	BOUNDARY_LINE,	/* the notebook's companion has opened a line to the tracer: text is the descriptor's number */
	BOUNDARY_ASKED, /* a value was requested for this instant: by the companion on its line, or by a viewer */
	RECORD_READING = 100, /* another process of the tree; belongs to the boundary before it */
	RECORD_SOURCE,	      /* struct source */
	RECORD_NUDGE,	      /* the change ring fills up: user space must read it */
	RECORD_DEVICE,	      /* a GPU's meters; belongs to the boundary or reading behind it; `device` is its number */
	RECORD_LIBRARY,	      /* struct header: a process loaded or unloaded a library */
	RECORD_CODE,	      /* struct code */
	RECORD_STACK,	      /* struct stack */
	RECORD_NATIVE,	      /* struct native */
	RECORD_COPY,	      /* struct copy */
};

/* Go has it as event.Outcome. */
enum outcome {
	OUTCOME_UNKNOWN, /* not reported, and it was too late to read it */
	OUTCOME_OK,
	OUTCOME_ERROR,	     /* an exception left it */
	OUTCOME_INTERRUPTED, /* a KeyboardInterrupt left it */
	OUTCOME_ABANDONED,   /* the front end abandoned it while it was suspended (Ctrl-C during a terminal await) */
	OUTCOME_MISSED,	     /* of a cell: the end of it, or of what followed its result, was not seen */
};

#define HEAP_TELLS	 0xff		   /* in heap_leave's cookie, in place of a register: heap_told */
#define STATEMENT_AWAITS 0x10000	   /* in statement_open's cookie: eval() calls there */
#define COROUTINE_FREED	 0x100000000000000 /* in statement_return's cookie: a coroutine is freed */
#define COMPILE_AUDITED	 1		   /* in cell_compile's cookie: a call of PySys_Audit */
#define SIGNAL_PROMPT	 1		   /* in cell_signal's cookie: PyOS_Readline */

#define OUTCOME_TOLD 1 /* the outcome is from IPython itself, and final */

/* The kernel's counters of each thread. Go has them as the first of event.Counter. */
enum counted {
	COUNTER_MINOR_FAULTS,
	COUNTER_MAJOR_FAULTS,
	COUNTER_WAITS,	     /* the thread gave up its CPU */
	COUNTER_PREEMPTIONS, /* another thread got the CPU */
	COUNTERS
};

/* A flag in the outcome of a process's end, beside the status that wait(2) returns. */
#define OUTCOME_OUT_OF_MEMORY 0x10000

/* Kinds of a root's boundaries for which there was no room, beginnings and ends. Go has it as event.RefusedKind. */
enum refused {
	REFUSED_STATEMENT, /* beginnings and ends of statements, or a cell's file name, which identifies them */
	REFUSED_MARKER,	   /* beginnings and ends of experiments, or an experiment's name */
	REFUSED_BOUNDARY,  /* those of cells, processes and probes */
	REFUSED_READING,   /* a boundary's readings of other processes, and of GPUs */
	REFUSED
};

/* A boundary, or one process's reading within it. `ticket` numbers them without gaps: it is the key in the store. */
struct boundary {
	__u64 ticket;
	__u64 number;
	__u64 time;
	__u64 cell;
	__u64 outer;
	__u64 segment;
	__u64 since; /* the first segment that the maxima cover; behind segment where a later cut came first */
	__u64 stream;
	__s64 inputs;
	__s64 cpu_time;		 /* ns of CPU time of the process, where a window may begin or end; 0: not known */
	__u64 counted[COUNTERS]; /* of the process, where cpu_time is known */
	__u64 unknown[UNKNOWNS]; /* so far, as in struct root */
	__s64 slack[UNKNOWNS];
	__s64 unsure[UNKNOWNS];
	__u64 refused[REFUSED]; /* so far */
	__s64 missing[MISSINGS];
	__u64 untraced;	    /* children without a ledger, so far */
	__u64 untraced_now; /* of these, those that are or may be alive */
	__s64 value[METERS];
	__s64 high[METERS];
	__s64 tree[METERS];
	__s64 tree_high[METERS];
	struct container container;
	__s64 swapped; /* bytes of the process in swap; at its end: at the boundary before */
	__u32 kind;
	__u32 root;
	__s32 pid;
	__s32 tid;
	__s32 parent;
	union {
		__s32 first_line;   /* a statement begins: co_firstlineno */
		__s32 late;	    /* a cell or a process begins: 1 for one that was there before it was seen */
		__s32 told;	    /* a cell has its result, or ends: OUTCOME_TOLD */
		__s32 named_python; /* a program is executed: 1 if the name of its file begins with python */
		__s32 foreign;	    /* probes are paused or resumed: enum foreign; 0: for the budget */
	};
	union {
		__u32 outcome; /* of a cell or a statement: enum outcome */
		__u32 status;  /* a process ends: of wait(2), and OUTCOME_OUT_OF_MEMORY */
	};
	union {
		__u32 group;   /* of probes that are paused or resumed */
		__u32 imports; /* a process executes a program or ends: enum imports, of the program before */
		__u32 device;  /* of RECORD_DEVICE */
	};
	__u32 text_kind; /* bytes in one character of text: 1, 2 or 4; 0 for raw bytes */
	__u32 text_size; /* valid bytes of text */
	__u8 text[TEXT_SIZE];
};

/* The beginning of every record without a ticket; struct boundary has its ticket in the same place. */
struct header {
	__u64 ticket; /* 0 */
	__u64 cell;
	__u32 kind;
	__s32 pid;
};

/*
 * One chunk of a cell's source. The source is sent twice: first as it was typed, the characters of a str; then as
 * IPython compiles it, UTF-8, with a NUL at the end of the last chunk. A chunk may be lost, and is counted.
 */
struct source {
	struct header header;
	__u32 offset;
	__u32 size;	 /* bytes of text, with the NUL if there is one */
	__u32 text_kind; /* as typed: bytes in one character; 0: as compiled */
	__u32 total;	 /* as typed: bytes of all chunks, also of those that do not fit */
	__u8 text[SOURCE_CHUNK];
};

/*
 * A code object, sent when it is first seen in a stack. The record may be lost, and is counted; then it is sent again.
 */
struct code {
	struct header header;
	__u64 number;
	__u64 table;	  /* address of the line table's bytes */
	__s32 first_line; /* co_firstlineno */
	__u32 table_size; /* bytes of the whole table, or TABLE_UNREADABLE */
	__u32 file_kind;  /* bytes in one character: 1, 2 or 4; 0: unreadable */
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

/*
 * A Python stack, innermost frame first, sent when it is first seen. The record may be lost, and is counted; then it is
 * sent again.
 */
struct stack {
	struct header header;
	__u64 number;
	__u32 count;
	__u32 more; /* the stack has more than MAX_FRAMES */
	struct frame frames[MAX_FRAMES];
};

/* The rule that gives the caller of a place in native code from the registers there. Same order as native.Base. */
enum rule_base {
	RULE_UNKNOWN,	/* no rule is known */
	RULE_OUTERMOST, /* it has no caller: a thread begins here */
	RULE_SP,	/* the frame's address (CFA) is the stack pointer plus cfa_offset */
	RULE_BP,	/* the frame pointer plus cfa_offset */
	RULE_BP_DEREF,	/* the value at the frame pointer plus cfa_offset (a realigned stack); the frame pointer points
			   to the caller's */
};

struct rule {
	__u32 base; /* where a call leaves no return address on the stack, bits 8-31 tell where it is: see machine.h */
	__s32 cfa_offset;
	__s32 bp_offset; /* from the frame's address to the caller's frame pointer; 0: it is still in its register */
	__u32 mapping;	 /* number of the mapping, never used again: another library at the same address has another
			    number */
};

/* The reason for the end of a native stack. Same order as ledger.NativeEnd. */
enum native_end {
	NATIVE_FULL,	  /* there is no room for more frames */
	NATIVE_OUTERMOST, /* the thread begins here */
	NATIVE_PYTHON,	  /* the interpreter called it: the Python frames follow */
	NATIVE_UNKNOWN,	  /* no rule leads on */
	NATIVE_MISSING,	  /* user space has not supplied the rule yet */
};

/*
 * A native stack, return address of the innermost call first, sent when it is first seen. It is sent in the same way as
 * a Python stack.
 */
struct native {
	struct header header;
	__u64 number;
	__u64 python; /* number of the Python stack behind it, 0 for none */
	__u32 count;
	__u32 end;
	__u32 leaf; /* the first address is the instruction that was reached, not a return address */
	__u32 padding;
	__u64 pcs[MAX_NATIVE];
};

/* The top of a thread's stack, for user space to unwind where rules are missing here. */
struct copy {
	struct header header;
	__u64 number; /* of the stack */
	__u64 python;
	__u64 ip;
	__u64 sp;
	__u64 bp;
	__u64 link; /* the register with the return address; 0 where a call puts that on the stack */
	__u32 slot;
	__u32 size; /* valid bytes, from sp upwards */
	__u8 memory[STACK_COPY];
};

/* The state that walks up a thread's frames keep. */
struct walk {
	struct stack stack;
	struct native native;
	__u64 pc; /* native frames: the next one's instruction */
	__u64 sp;
	__u64 bp;
	__u64 link; /* where the walk begins; as in struct copy */
	__u64 text; /* of the interpreter */
	__u64 text_size;
	__u64 last_native; /* number of the last native stack */
	__u64 signature;   /* of the stack */
	__u64 chunk[SCAN_WORDS];
	__u64 thread;	    /* its PyThreadState, as last found */
	__u64 first_thread; /* of the interpreter's list, when the thread had none */
	__u64 first_id;	    /* the thread that had it */
	__u64 last;	    /* number of the last stack */
	__u64 path;	    /* a hash of its frames and their code objects' addresses; see known_path() */
	__u64 last_path;    /* that of the last stack; 0: not reliable */
	__u64 frame;	    /* the next one */
	__u64 stop;	    /* the code object of the statement that runs; 0: none */
	__u64 seed;
	__u64 frames_copy[STRETCH_WORDS];
	__u64 stretch; /* address from which frames_copy begins; 0: it is empty */
	__u64 reach;   /* bytes from there to the last frame in the copy */
	__u64 code_copy[CODE_WORDS];
	__u64 table_head[5]; /* ob_size, ob_shash, the first 24 bytes */
	__u64 table_tail[4];
	__u32 slot;
	__s32 pid;
	__u32 missed;	  /* walks since the thread had no PyThreadState */
	__u32 frame_at;	  /* position of the frame in frames_copy, in words */
	__u32 unreadable; /* code objects without a number */
	__u32 padding;
};

/* One value of one meter. The record may be lost, and is counted. */
struct change {
	__u64 stream;
	__u64 segment;
	__u64 time;
	__u64 address;
	__u64 stack; /* number of the allocating stack; 0: not known */
	__s64 value;
	__s64 size;
	__u32 root;
	__s32 pid;
	__s32 tid;
	__u32 meter; /* the meter; METERS + device * DEVICE_METERS + device_meter for those of a GPU; see change_flag */
};

/* In change.meter, beside the meter in bits 0-7. */
enum change_flag {
	CHANGE_CALLER = 1 << 8,	 /* bits 8-15: the function of the CUDA runtime that called the driver, 0: none; of a
				    sample: its INTERVAL */
	CHANGE_PASSED = 1 << 16, /* bits 16-23: the most boundaries that were drawn meanwhile: the change belongs to its
				    segment or to one of that many behind it */
	PASSED_MOST = 255,
	CHANGE_UNCHAINED = 1 << 24, /* blocks without records may have moved the meter since the change before */
	CHANGE_COLLECTED = 1 << 25, /* a block was freed while Python's garbage collector ran, which alone runs then */
	CHANGE_BLOCK = 1 << 26,	    /* of a total: `address` and `size` are those of the allocated or freed block; of a
				       device's driver meter: PyTorch allocated the block, and does not report it */
	CHANGE_SAMPLE = 1 << 27,    /* the block is recorded as a sample: see TELL_SAMPLE */
	CHANGE_FOREIGN = 1 << 28,   /* nothing changed: memory of another process was opened or closed; value is the
				       number of such blocks that are open */
	CHANGE_LEARNED = 1 << 29,   /* the meter was not known before; value is its value before its next change */
	CHANGE_REFUSED = 1 << 30,   /* nothing changed: `size` requested bytes were refused; value is the amount held */
	CHANGE_FOUND = 1u << 31,    /* a search has found the block's allocation or free, from a time without probes */
};

#endif
