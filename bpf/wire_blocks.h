/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shared with user space: live blocks, the places at which they are seen, and calls of allocators under way. */
#ifndef IPYTRACER_WIRE_BLOCKS_H
#define IPYTRACER_WIRE_BLOCKS_H

/*
 * A live block of NumPy, of PyTorch on the CPU, or of Arrow's pools. Each attach begins an era of the process, and so
 * does each return of the probes. No era is used twice. A block keeps the era in which it was last known for certain.
 * An entry with an era before the process's first one is no block: it belongs to a process that had the slot before, or
 * its era is one of enum no_era.
 */
struct block {
	__s64 size;
	__u64 era;
	__u32 telling; /* enum telling */
	__u32 spilt;   /* of a block in a place: number of blocks in the tables that belong there */
};

/* The place where a block is looked for first, and mostly found: see places.h. */
struct place {
	__u64 key; /* of the block that is in it; 0: none; PLACE_TAKEN while one is put there */
	struct block block;
};

/* The bits of a block's key: address, a bit for PyTorch's, slot, a bit for Arrow's. Go has them as kernelPlaceKey. */
enum place_key { PLACE_TAKEN = 1, PLACE_BITS = 17, ADDRESS_BITS = USER_BITS };

#define TORCH_KEY (1ull << ADDRESS_BITS) /* no address of a process has it */
#define SLOT_BIT  (ADDRESS_BITS + 1)	 /* the slot begins there */
#define ARROW_KEY (1ull << 63)		 /* no slot has it */

/* Which records a block has: see blocks.h. Each block moves its meter. */
enum telling {
	TELL_BLOCK,  /* its own */
	TELL_SAMPLE, /* its own, which stand for blocks of its size: SAMPLE_OF bytes, or by an INTERVAL */
	TELL_NOT,    /* none */
};

/*
 * With TELL_SAMPLE, of a sample that the process has drawn itself: 1 + e in bits 8-12. It was drawn with a probability
 * of 1 - exp(-size / interval), where the interval is 1 KiB << e.
 */
#define INTERVAL_SHIFT 8
#define INTERVAL_MOST  31
#define INTERVAL       (INTERVAL_MOST << INTERVAL_SHIFT)

#define SAMPLE_OF   65536 /* bytes: of smaller blocks only samples have records; a power of two */
#define SMALL_STACK 65536 /* bytes: stacks of smaller blocks and ranges may be left out */

/* Values in place of an era, for an entry that is no block. */
enum no_era {
	ERA_GONE, /* the block has gone, as was found out later */
	ERA_FREE, /* something unknown was freed here, in the era that is in `size` */
	ERAS	  /* the first real era */
};

/*
 * The probes by which NumPy's blocks are counted. User space moves a process on from one value to the next. Foreign
 * blocks do not pass the probes in NumPy, so a process that has them goes back.
 */
enum arrays {
	ARRAYS_TRACKED,	 /* probes on PyTraceMalloc_Track and _Untrack */
	ARRAYS_SETTLING, /* probes in NumPy. Track adds blocks that they have not seen */
	ARRAYS_INSIDE,	 /* probes in NumPy */
	ARRAYS_LEAVING,	 /* probes in NumPy, until the others are in place: foreign blocks are missed */
};

/*
 * Owners of blocks that do not pass the probes in NumPy. One of them, or 0, is also the foreign of a MeterShed or
 * MeterBack boundary. Such a boundary is not about the budget. FOREIGN_COUNTED is in no process's bits.
 */
enum foreign {
	FOREIGN_HANDLER = 1, /* of a memory handler that is not NumPy's own (NEP 49) */
	FOREIGN_MODULE = 2,  /* of a NumPy without probes: user space did not foresee it, or has not looked at it yet */
	FOREIGN_COUNTED = 4, /* of small blocks of NumPy's, or others', that the process counts itself: counts.h */
};

/*
 * The page in which a process counts small blocks of NumPy, or of PyTorch on the CPU, or all of malloc's blocks. The
 * libraries that count have it, too: python/src/ipytracer/counts/counts.h, internal/heapcounts/library/heap.h. Hostile.
 */
struct counts {
	__u64 current; /* bytes of live blocks */
	__u64 peak;    /* the most of current since the kernel half last read it */
	__u64 lost;    /* blocks that could not be counted */
	__u64 last;    /* address of NumPy's block that was made last, 0 if it was not counted here or has gone. Of
			  malloc's blocks: enum heap_state */
	__u64 sample;  /* of a sample that passes the probes now: 1 + e, see INTERVAL; else 0 */
};

#define COUNTED_BELOW	65536 /* bytes: larger blocks pass the probes, also in such a process */
#define COUNT_PAGES	32    /* that a session can give for blocks of NumPy or PyTorch; a page is used once */
#define TENSORS_COUNTED 1     /* address of a block of 0 bytes: small tensors are counted in a page */
#define HEAP_PAGE	33    /* the page of the one that can count malloc's */

/* Whether a process counts malloc's blocks: lower half of the page's `last`. The upper half has the process's pid. */
enum heap_state {
	HEAP_NOT_OFFERED,
	HEAP_OFFERED, /* to a process that has not begun */
	HEAP_COUNTED, /* the process counts */
	HEAP_REFUSED, /* its calls of malloc do not reach the C library's */
};

/*
 * The places of a block's address (bits 0-7 of a cookie), of its size (bits 8-15) and of the factor of that size (bits
 * 16-23). A place is the processor's number of a register. With PLACE_STACK it is a number of words above the stack
 * pointer.
 */
enum array_place { PLACE_STACK = 1 << 6, PLACE_NONE = 0xff };

/* A reallocation of NumPy's that has not returned. */
struct resize {
	__u64 address;
	__s64 size;    /* the new one */
	__s64 before;  /* the old one, or SIZE_NOT_KNOWN */
	__s64 slack;   /* the most that it can have been, if it is not known and the block may have counted */
	__u32 telling; /* enum telling, of the old block */
	__u32 padding;
};

/*
 * The operation of a function of the allocator: bits 0-7 of the cookie of the probe at its beginning. Bits 8-23 are the
 * bytes on the stack above the return address there. Bit 24 is set for glibc's. Go has the operations as libc.Operation
 * (bpf/wiregen).
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
	__u64 sp;      /* at its entry; 0: no call is under way */
	__u64 address; /* of the block that is resized, or of the pointer that gets the new block */
	__s64 size;    /* asked for */
	__s64 before;  /* of the block that is resized */
	__u32 operation;
	__u32 known; /* that block was in the table, and was taken out */
};

/* A call of a function of Arrow's pools that has not returned. */
struct pool_call {
	__u64 sp;      /* at its entry; 0: no call is under way */
	__u64 status;  /* address of the result that it writes */
	__u64 at;      /* address of the pointer to the block */
	__u64 address; /* of the block that is resized; 0: none */
	__s64 size;    /* asked for */
	__s64 before;  /* of the block that is resized, if it was in the table; else 0 */
	__s64 unknown; /* of the block that is resized, if it was not in the table */
	__u32 telling; /* enum telling, of that block */
	__u32 epoch;   /* of the group, at the beginning of the call */
};

/* The files of NumPy's module that have probes for a process, as descriptors of the tracer; -1: none. */
struct foresight {
	__s32 files[MAX_MODULES];
	__u32 slot;
	__u32 padding;
};

/* A finding of user space about a block that may have been freed or allocated while the probes were out. */
struct finding {
	__u64 address;
	__s64 known; /* bytes in the table; 0: the block is not there */
	__s64 found; /* bytes that the block has; 0: it has gone */
	__u32 slot;
	__u32 done; /* result: the table was still so */
};

#endif
