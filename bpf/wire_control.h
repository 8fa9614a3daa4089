/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shared with user space: losses, and requests of user space. */
#ifndef IPYTRACER_WIRE_CONTROL_H
#define IPYTRACER_WIRE_CONTROL_H

#define MOST_MISSINGS 8 /* kinds of enum missing that have room in enum loss */
_Static_assert(MISSINGS <= MOST_MISSINGS, "enum loss has no room");

/* Reasons for which something was not recorded. */
enum loss {
	LOSS_CHANGE_RING,			    /* no room in the change ring */
	LOSS_BOUNDARY_RING,			    /* no room in the boundary ring: the record is in the store */
	LOSS_BOUNDARY,				    /* nor in the store: the ledger has no such boundary */
	LOSS_SOURCE,				    /* no room for a cell's source */
	LOSS_BLOCK,				    /* no room in the table of live NumPy blocks */
	LOSS_PROCESS,				    /* more processes than MAX_PROCESSES */
	LOSS_NESTING,				    /* more nested cells than MAX_NESTING */
	LOSS_THREAD,				    /* more threads with cells than there is room for */
	LOSS_READ,				    /* unreadable memory of the target */
	LOSS_DEVICE,				    /* a GPU allocation on an unknown device */
	LOSS_OBJECT,				    /* no room in the tables of CUDA memory and contexts */
	LOSS_FORMAT,				    /* an array of a format of unknown size */
	LOSS_CODE,				    /* no room for a code object */
	LOSS_STACK,				    /* no room for a stack */
	LOSS_NATIVE,				    /* native frames were not known in time */
	LOSS_MAPPING,				    /* no room for a call that moves memory */
	LOSS_HEAP,				    /* no room in the tables of malloc's blocks and calls */
	LOSS_FULL,				    /* plus an enum missing: no room in the table of live blocks */
	LOSS_STATEMENT = LOSS_FULL + MOST_MISSINGS, /* see enum refused */
	LOSS_MARKER,
	LOSS_READING,
	LOSS_POOL, /* memory of an unknown CUDA pool: on any device, or in the host's memory */
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
	OP_SETTLED,
	OP_LOOK,   /* a boundary without an event */
	OP_COUNTS, /* the process counts small blocks of NumPy, or of PyTorch, itself */
	OP_HEAP,   /* the process counts malloc's blocks itself, or does not after all */
	OP_LEAVE   /* on all tasks: the processes of a root leave the ledger, as if they had ended */
};

struct control {
	__s64 unsure;  /* OP_SETTLED */
	__u64 cell;    /* OP_CELL: one that runs; OP_CELL_END: one that ended unseen */
	__u64 outer;   /* the cell in which it is nested */
	__u64 started; /* OP_ATTACH, OP_ADOPT: the start time that the process with the pid must have (started_at); 0:
			  any */
	__u64 handler; /* OP_COUNTS: the memory handler of NumPy that counts */
	__u32 operation;
	__s32 pid; /* in the tracer's pid namespace */
	__s32 parent;
	__u32 root;
	__u32 group;   /* OP_ARRAYS: an enum arrays; result: the present one */
	__u32 done;    /* number of tasks on which it was carried out */
	__u32 slot;    /* result: the process's slot */
	__u32 request; /* OP_CELL: the main thread carries out a front end's request. OP_ARRAYS, result: bits of enum
			  foreign */
	__u32 page;    /* OP_COUNTS: of count_pages, from 1; result: 0 if the process cannot have it now.
			  OP_HEAP: 1 if it counts */
	__u32 counts;  /* OP_COUNTS: COUNTS_NUMPY or COUNTS_TORCH */
};

/* Argument and result of try_account. */
struct trial {
	__u64 now;
	__u64 price;
	__u32 root;
	__u32 group;
	__u32 stepped; /* result: the group that was stepped down; GROUPS: none */
	__u32 padding;
};

#endif
