/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shared with user space: the meters, and the kinds that go with them. Go has these as constants (bpf/wiregen). All
 * else that is known of a meter is in one table, event/meters.go.
 */
#ifndef IPYTRACER_WIRE_METERS_H
#define IPYTRACER_WIRE_METERS_H

#define MAX_DEVICES 16 /* GPUs of one process */

/* Go has it as event.Meter. */
enum meter {
	METER_MAPPED,	/* mm->data_vm: private writable memory, touched or not */
	METER_RESIDENT, /* anonymous + file + shared memory physically occupied */
	METER_ANON,	/* MM_ANONPAGES */
	METER_FILE,	/* MM_FILEPAGES */
	METER_SHMEM,	/* MM_SHMEMPAGES */
	METER_NUMPY,	/* data of live NumPy arrays */
	METER_PINNED,	/* page-locked host memory allocated through the CUDA driver */
	METER_HEAP,	/* live blocks of malloc, by the bytes requested; only where the meter is requested */
	METER_TORCH,	/* PyTorch's tensors on the CPU, from c10::ProfiledCPUMemoryReporter */
	METER_ARROW,	/* memory that Arrow's memory pools hold */
	METER_COPIED,	/* pages that it has copied so far because another process had them, too, since a fork */
	METERS,		/* of the CPU side; a device has DEVICE_METERS more */
};

#define RESIDENT_PARTS 3 /* METER_ANON, METER_FILE, METER_SHMEM */

enum device_meter {
	DEVICE_DRIVER,	 /* device memory allocated through the CUDA driver */
	DEVICE_ACTIVE,	 /* PyTorch's caching allocator: bytes in blocks that are handed out */
	DEVICE_RESERVED, /* PyTorch's caching allocator: bytes that it holds from the driver */
	DEVICE_METERS
};

/* Frees and resizes of memory with an unseen allocation, counted by root. Go has it as event.UnknownKind. */
enum unknown {
	UNKNOWN_NUMPY,
	UNKNOWN_TORCH,	/* tensors on the CPU */
	UNKNOWN_HEAP,	/* malloc's blocks */
	UNKNOWN_DEVICE, /* device or page-locked memory of unknown size or on an unknown device: it has no slack */
	UNKNOWN_ARROW,	/* blocks of Arrow's pools */
	UNKNOWNS
};

/*
 * The bytes by which a root's meters may be off from then on, because there was no room for something or it was
 * guessed. Go has it as event.MissingKind.
 */
enum missing {
	MISSING_NUMPY,
	MISSING_TORCH,
	MISSING_HEAP,
	MISSING_DEVICE, /* the GPU of some memory was guessed */
	MISSING_CUDA,	/* GPU and page-locked memory */
	MISSING_ARROW,
	MISSINGS
};

#define MISSING_MOST	(1ll << 48) /* more than any address space has */
#define MISSING_UNKNOWN (1ll << 61) /* a bit of missing bytes: their number is unknown */

/* Probes that are stepped down together when they cost more than the budget. Go has it as ledger.Group. */
enum group {
	GROUP_NUMPY,	 /* every NumPy allocation and free */
	GROUP_STATEMENT, /* statements within a cell */
	GROUP_RESULT,	 /* the end of a cell */
	GROUP_CELL,	 /* the start of a cell, and markers */
	GROUP_SIGNAL,	 /* the end of an awaited or abandoned cell */
	GROUP_CODE,	 /* freed code objects: never stepped down, or stacks would not be known by their addresses */
	PYTHON_GROUPS,	 /* the groups before it have their probes in the interpreter */
	GROUP_DRIVER = PYTHON_GROUPS, /* calls of the CUDA driver */
	GROUP_TORCH,		      /* PyTorch's totals, at every allocation and free on a GPU */
	GROUP_LOADER,		      /* shared libraries are loaded and unloaded */
	GROUP_FRAMES,		      /* no probes of its own: stacks of NumPy's and the driver's blocks */
	GROUP_TENSORS,	    /* no probes of its own: stacks of PyTorch's blocks, each of which is then streamed */
	GROUP_MAPPING,	    /* stacks of mapped memory; its probes in the C library are never out */
	GROUP_HEAP,	    /* the allocator's functions, where cpu.heap is requested */
	GROUP_BLOCKS,	    /* no probes of its own: stacks of malloc's blocks, each of which is then streamed */
	GROUP_NATIVE,	    /* no probes of its own: native frames of all stacks */
	GROUP_SMALL_STACKS, /* no probes of its own: stacks of blocks and ranges below SMALL_STACK */
	GROUP_SMALL,	    /* no probes of its own: NumPy's blocks below 1,024 bytes, where they are counted */
	GROUP_TORCH_CPU,    /* every allocation and free of a tensor by PyTorch on the CPU */
	GROUP_ARROW,	    /* every allocation, resize and free of a block by Arrow's pools */
	GROUPS_USED,
	GROUPS = 32
};

/*
 * The kind of a probe's site, on which the price of a hit depends. The highest bit of the site's cookie is set if the
 * kernel single-steps the instruction there, and clear if it emulates it.
 */
enum site {
	SITE_KINDS = 2,
	SITE_STEPPED = 63 /* the bit */
};

#endif
