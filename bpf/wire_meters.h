/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shared with user space: the meters, and what goes with one. Go has these as constants (bpf/wiregen), and what else is
 * known of a meter in one table, event/meters.go.
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
	METER_PINNED,	/* page-locked host memory taken through the CUDA driver */
	METER_HEAP,	/* live blocks of malloc, by the bytes asked for; only where it is asked for */
	METER_TORCH,	/* PyTorch's tensors on the CPU, from c10::ProfiledCPUMemoryReporter */
	METER_ARROW,	/* what Arrow's memory pools hold */
	METERS,		/* of the CPU side; a device has DEVICE_METERS more */
};

enum device_meter {
	DEVICE_DRIVER,	 /* device memory taken through the CUDA driver */
	DEVICE_ACTIVE,	 /* PyTorch's caching allocator: bytes in blocks that are handed out */
	DEVICE_RESERVED, /* PyTorch's caching allocator: bytes it holds from the driver */
	DEVICE_METERS
};

/* What was freed, or grew, without having been seen to be made: counted by root. Go has it as event.UnknownKind. */
enum unknown {
	UNKNOWN_NUMPY,
	UNKNOWN_TORCH,	/* tensors on the CPU */
	UNKNOWN_HEAP,	/* malloc's blocks */
	UNKNOWN_DEVICE, /* device or page-locked memory whose size, or whose device, is not known: it has no slack */
	UNKNOWN_ARROW,	/* blocks of Arrow's pools */
	UNKNOWNS
};

/*
 * By how many bytes a root's meters may be off from then on, because something found no room or was guessed. Go has it
 * as event.MissingKind.
 */
enum missing {
	MISSING_NUMPY,
	MISSING_TORCH,
	MISSING_HEAP,
	MISSING_DEVICE, /* on which GPU memory is was guessed */
	MISSING_CUDA,	/* GPU and page-locked memory */
	MISSING_ARROW,
	MISSINGS
};

#define MISSING_MOST	(1ll << 48) /* more than any address space has */
#define MISSING_UNKNOWN (1ll << 61) /* a bit of missing bytes: nobody can say how many */

/* Probes that are stepped down together when they cost more than the budget. Go has it as ledger.Group. */
enum group {
	GROUP_NUMPY,	 /* every NumPy allocation and free */
	GROUP_STATEMENT, /* statements within a cell */
	GROUP_RESULT,	 /* the end of a cell */
	GROUP_CELL,	 /* the start of a cell, and markers */
	GROUP_SIGNAL,	 /* the end of an awaited or abandoned cell */
	GROUP_CODE,    /* code objects that are freed: never stepped down, or stacks are not known by their addresses */
	PYTHON_GROUPS, /* those whose probes are in the interpreter are before it */
	GROUP_DRIVER = PYTHON_GROUPS, /* calls of the CUDA driver */
	GROUP_TORCH,		      /* PyTorch's totals, at every allocation and free on a GPU */
	GROUP_LOADER,		      /* shared libraries come and go */
	GROUP_FRAMES,		      /* no probes of its own: stacks of NumPy's and the driver's blocks */
	GROUP_TENSORS,		      /* nor this: the same for PyTorch's blocks, each of which is streamed then */
	GROUP_MAPPING,		      /* stacks of mapped memory; its probes in the C library are never out */
	GROUP_HEAP,		      /* the allocator's functions, where cpu.heap is asked for */
	GROUP_BLOCKS,	    /* no probes of its own: stacks of malloc's blocks, each of which is streamed then */
	GROUP_NATIVE,	    /* nor this: native frames of all stacks */
	GROUP_SMALL_STACKS, /* nor this: stacks of blocks and ranges below SMALL_STACK */
	GROUP_SMALL,	    /* nor this: NumPy's blocks below 1,024 bytes, where they are counted */
	GROUP_TORCH_CPU,    /* every tensor that PyTorch makes and frees on the CPU */
	GROUP_ARROW,	    /* every block that Arrow's pools make, resize and free */
	GROUPS_USED,
	GROUPS = 32
};

/* What a hit costs goes by its site, which the highest bit of the site's cookie tells: the kernel emulates the
 * instruction there, or single-steps it. */
enum site {
	SITE_KINDS = 2,
	SITE_STEPPED = 63 /* the bit */
};

#endif
