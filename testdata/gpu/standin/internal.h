/*
 * Declarations that the files of the driver stand-in share. One mutex guards everything: enter() locks it, and leave()
 * unlocks it.
 *
 * Every exported function is `API`: not inlined, not cloned, never the target of a sibling call, so that each call and
 * each return passes its first instruction and its own `ret`. An exported function never calls another one.
 */
#ifndef STANDIN_INTERNAL_H
#define STANDIN_INTERNAL_H

#include "cuda.h"
#include "machine.h"
#include "truth.h"

#define API __attribute__((visibility("default"), noinline, noclone))

enum { GRANULARITY = 2 << 20, STACK = 32 };

struct context {
	int device;		/* index on the machine, not the ordinal */
	int primary, alive;
	int references;		/* of a primary context */
	struct context *next;
};

/* The kinds of an address. */
enum kind { LINEAR, PITCH, MANAGED, ASYNC, POOLED_HOST, HOST, REGISTERED, OPENED };

struct block {
	enum kind kind;
	uint64_t address;
	int64_t bytes;		/* that count: as asked for */
	int64_t span;		/* of the address range */
	int device;
	struct context *context;
	struct pool *pool;
	struct block *next;
};

/* ---- contexts.c */
/* Locks the mutex; waits while the process is locked for a checkpoint. Nonzero, and not locked: before cuInit. */
CUresult enter(void);
/* The same, and *context is the calling thread's current one. Error: none, or it is gone. */
CUresult enter_context(struct context **context);
/* For calls that come before cuInit or while the process is locked. */
void enter_always(void);
CUresult leave(CUresult result);
/* Index on the machine of a CUdevice; -1 when there is none. */
int device_of(CUdevice ordinal);
/* Enters, and *index is the device's. Error: there is none, or it is before cuInit. */
CUresult enter_device(CUdevice ordinal, int *index);
/* The CUdevice of an index on the machine. */
CUdevice ordinal_of(int index);

/* ---- memory.c */
/* Counts bytes against a device. CUDA_ERROR_OUT_OF_MEMORY when they do not fit: then nothing is counted. */
CUresult charge(int device, int64_t bytes);
void discharge(int device, int64_t bytes);
/* A block with an address of its own, counted. NULL: out of memory. */
struct block *block_new(enum kind kind, int device, int64_t bytes, int64_t span, struct context *context);
struct block *block_at(uint64_t address);
/* The same for page-locked memory of the host. */
struct block *host_block_new(enum kind kind, size_t bytes, int device, struct context *context);
/* Frees the block of that kind at an address, the whole work of some calls. unknown: the result without a block. */
CUresult free_kind(uint64_t address, enum kind kind, CUresult unknown);
/* Removes it from the list, subtracts its bytes, frees it. */
void block_free(struct block *block);
/* Frees the memory of a context together with the context. */
void blocks_of_context_free(struct context *context);

/* ---- ranges.c: device addresses, never backed by memory; freed ones are given out again, lowest first */
uint64_t range_take(int64_t span);
uint64_t range_take_at(uint64_t address, int64_t span);
void range_give(uint64_t address);

/* ---- other files with objects of a context or device */
void arrays_of_context_free(struct context *context);
void pool_freed(struct pool *pool, int64_t bytes);

/* ---- checkpoint.c */
/*
 * Waits as $STANDIN_CHECKPOINT requires for a call, and returns the call's result. *left is the state in which the
 * call leaves the process, or -1.
 */
CUresult checkpoint_script(const char *call, int *left);

#endif
