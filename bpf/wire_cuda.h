/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shared with user space: the CUDA driver as a process uses it. */
#ifndef IPYTRACER_WIRE_CUDA_H
#define IPYTRACER_WIRE_CUDA_H

/*
 * The operation of a function of the CUDA driver: bits 0-7 of its probes' cookie. Bits 8-15 are the argument that names
 * the device, where functions differ in it. Bit 16 marks a first version, of CUDA 3.1 and before, in which addresses,
 * sizes and the numbers in descriptors have 32 bits. Go has the operations as cuda.Operation (bpf/wiregen).
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
	CUDA_POOL_SET,	      /* (device, pool) */
	CUDA_POOL_AT,	      /* (pool *, location *, type): cuMemGetDefaultMemPool, cuMemGetMemPool (CUDA 13) */
	CUDA_POOL_SET_AT,     /* (location *, type, pool) */
	CUDA_CTX_CREATE,      /* (context *, …, device) */
	CUDA_CTX_DESTROY,     /* (context) */
	CUDA_CTX_SET,	      /* (context) */
	CUDA_CTX_PUSH,	      /* (context) */
	CUDA_CTX_POP,	      /* (context *) */
	CUDA_PRIMARY_RETAIN,  /* (context *, device) */
	CUDA_PRIMARY_RELEASE, /* (device) */
	CUDA_PRIMARY_RESET,   /* (device) */
	CUDA_CHECKPOINT, /* (pid, …): by any process. The memory of process pid on its devices moves to the host */
	CUDA_RESTORE,	 /* (pid, …): that memory comes back */
	CUDA_OPERATIONS,
};

/*
 * In bits 8-15 of change.meter, as event.Caller has them: the cause of a move of all the memory of a process on a
 * device, or of pages.
 */
enum cuda_mover {
	CALLER_MOVED_OUT = 19,
	CALLER_MOVED_BACK = 20,
	CALLER_REMAPPED = 21, /* mremap, of a range of cpu.mapped */
	CALLER_MANAGED = 22,  /* no mover: managed memory that the program asked the driver for */
};

/* A call of the driver that has not returned. */
struct call {
	__u64 sp; /* at its entry */
	__u64 argument[5];
	__s64 size; /* frees: bytes that are freed if the call succeeds */
	__u64 owner;
	__u64 stack; /* the calling stack, where it allocates memory */
	__u32 operation;
	__u32 device; /* frees */
	__u32 batch;  /* frees */
	__u32 known;  /* frees: the block was in the table; CUDA_ALLOC: of managed memory */
	__u32 narrow; /* a first version: 32 bits */
	__u32 torch;  /* PyTorch's allocator makes the call: see torch_blocks.h */
};

/* The kind of object behind a handle or an address of a process. */
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
	__u32 device;	  /* physical; HOST_DEVICE: page-locked host memory; of a pool: where its memory is */
	__u32 references; /* handles and primary contexts */
	__u32 mappings;	  /* handles */
	__u32 batch;	  /* see torch.h */
};

#define HOST_DEVICE   0xffffu
#define ANY_DEVICE    0xfffeu /* a pool of managed memory: each block counts on the device of the current context */
#define CONTEXT_STACK 8
#define MAX_BATCHES   65536

/* Driver blocks that a thread has allocated since PyTorch's last report on it. */
struct unreported {
	__s64 bytes;
	__u32 batch;
	__u32 padding;
};

/* The state of a thread that uses CUDA. */
struct cuda_thread {
	__u64 contexts[CONTEXT_STACK];
	__u64 retained;		  /* the primary context that it requested last */
	struct unreported torch;  /* by PyTorch's allocator */
	struct unreported others; /* by other code, or by unknown code */
	struct cuda_key last;	  /* the last block that other code allocated */
	__s64 last_size;
	__u64 torch_site; /* the last site found to call from PyTorch's allocator */
	__u64 other_site; /* the last site found to call from other code */
	__u64 runtime_sp; /* at the entry of the last function of the runtime */
	__u64 runtime_site;
	__u32 depth;
	__u32 runtime;	/* that function; 0 once it has had its effect */
	__u32 calling;	/* the same, while the driver's call in it returns */
	__u32 reported; /* device of PyTorch's last report, plus one; only while no context is known */
};

/* A process's CUDA devices: ordinals as the process counts them, physical as NVML does. Zero: the same. */
struct cuda_devices {
	__u8 physical[MAX_DEVICES]; /* plus one */
	__u32 only;		    /* the only device, plus one */
	__u32 retained;		    /* a device in which the process has a context, plus one */
	__u32 several;		    /* it has contexts on several devices */
	__u32 late;		    /* contexts may have been created before the attach */
};

#endif
