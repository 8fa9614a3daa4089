/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shared with user space: the layout of a CPython, and the cells that run on a thread. */
#ifndef IPYTRACER_WIRE_PYTHON_H
#define IPYTRACER_WIRE_PYTHON_H

/* The layout of one process's CPython. Offsets are in bytes; package cpython has their sources. */
struct python {
	__u64 inputs;	   /* address of IPython's In list; 0: not known */
	__u64 interpreter; /* address of the main interpreter state */
	__u64 runtime;	   /* address of the word that has that address; 0: it is known */
	__u64 main_thread; /* address of the main thread's state, a hint */
	__u64 result_type; /* address of the type ExecutionResult, as last seen */
	__u64 cell_type;   /* address of the type cell, which holds a variable of nested functions */
	__u64 text;	   /* address of the interpreter's code */
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
	__u32 string_kind; /* number of the first bit of the kind of its characters */
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
	__u32 frame_size;	 /* bytes of a frame that are read; 0: stacks are not walked */
	__u32 owner_skip;
	__u32 owner_generator;
	__u32 frame_generator; /* PyFrameObject.f_gen; 3.9 and 3.10 */
	__u32 frame_locals;    /* the first local variable */
	__u32 generator_frame; /* offset of the frame in a generator (3.11+), or of gi_frame */
	__u32 generator_state; /* gi_frame_state; 3.11+ */
	__u32 frame_state;     /* f_state (3.10) or f_executing (3.9) */
	__u32 frame_stack_top; /* f_stacktop; 3.9 */
	__u32 state_kind; /* 0: gi_frame is NULL at the end, f_executing (3.9); 1: f_state (3.10); 2: gi_frame_state */
	__s32 state_executing;
	__s32 state_finished; /* the first state of generators that are over */
	__u32 threads_head;
	__u32 native; /* native stacks; 0: none, 1: of threads without Python frames, 2: of all */
	__u32 ready;
	__u32 terminal;	     /* its shell is a terminal's: PyOS_Readline is its simple prompt */
	__u32 instance_kind; /* enum instance_kind */
	__u32 type_basic_size;
	__u32 type_dict_offset;
	__u32 cached_keys; /* of a type: offset of the names of its instances' attributes */
	__u32 dict_keys;
	__u32 dict_values;
	__u32 code_frees;	 /* each free of a code object is seen */
	__u32 interp_collecting; /* an int: whether the garbage collector runs; 0: not known */
	__u32 free_threaded;	 /* no GIL: an object's header takes 32 bytes */
	__u32 below_pointer; /* bytes from a thread's pthread_self() up to its thread pointer; 0: none, or not known */
	__u32 thread_raised; /* the exception on its way, or up to 3.11 its type; 0: not known */
	__u32 marimo; /* it may run cells of marimo: the instructions of code that only loads a name or a constant */
};

/* The place of an instance's attributes: see results.h. */
enum instance_kind {
	INSTANCE_UNKNOWN,
	INSTANCE_POINTER,   /* 3.9, 3.10 */
	INSTANCE_TWO_WORDS, /* 3.11 */
	INSTANCE_TAGGED,    /* 3.12 */
	INSTANCE_INLINE,    /* 3.13 and newer */
};

#define MAX_ATTRIBUTES 16 /* an ExecutionResult has six at most */
#define MAX_NAMES      64 /* of the attributes of an object that are looked through; a CellImpl has some 20 */

/* A cell that runs on a thread. */
struct window {
	__u64 cell;
	__u64 coroutine;
	__u64 runner;	   /* code object of its run_cell_async; 0: not known */
	__u64 result;	   /* its ExecutionResult of IPython; 0: not known */
	__u64 statement;   /* stack pointer at the beginning of the statement; 0: none runs */
	__u64 code;	   /* the statement's code object */
	__u64 frame;	   /* of the function of marimo that runs the cell; 0: a cell of IPython. See marimo.h */
	__u64 at;	   /* the instruction of that function at which the last part of the cell began */
	__u64 awaited_one; /* the coroutine that the part has made */
	__u64 error;	   /* address of the name of the type of the exception that ended the cell */
	__u32 awaiting;	   /* the statement is a coroutine that IPython awaits */
	__u32 failed;
	__u32 statements;
	__u32 file_size;
	__u32 ended;	/* it has its result: display and hooks run. Its coroutine may be freed */
	__u32 returned; /* its coroutine has returned the result */
	__u32 awaited;	/* one of its statements was a coroutine */
	__u32 embedded; /* its shell is that of IPython.embed() */
	__u32 last;	/* the last expression of marimo's cell has begun */
	__u32 padding;
	__u64 file[FILE_WORDS];
};

struct thread {
	__u32 depth;
	__u32 padding;
	struct window windows[MAX_NESTING];
};

/* A thread by its pthread_self(). User space has found out that cells run on it. */
struct thread_key {
	__u64 self;
	__u32 slot;
	__u32 padding;
};

#endif
