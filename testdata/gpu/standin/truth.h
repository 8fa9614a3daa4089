/*
 * The truth: the memory of each process, and its maximum since the last cut. The stand-ins themselves keep it.
 *
 * One file, named by $STANDIN_TRUTH, mapped shared by every process that loads a stand-in (without it: memory of its
 * own). All integers little endian, all sizes in bytes, all padding named. README.md has it as a table.
 *
 * Devices are numbered as they are on the machine, whatever CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER show to a
 * process.
 */
#ifndef TRUTH_H
#define TRUTH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define _Static_assert static_assert
#endif

#define TRUTH_MAGIC "gputruth"

enum { TRUTH_VERSION = 1, TRUTH_DEVICES = 8, TRUTH_PROCESSES = 31 };

/* States in which cuCheckpointProcess* leaves a process; the numbers are CUprocessState's. */
enum truth_state { RUNNING, LOCKED, CHECKPOINTED };

struct gauge {
	int64_t current, peak;
};

struct truth_device {
	struct gauge driver, active, reserved;
};

struct truth_process {
	int32_t pid;			/* 0: nobody's. Kept when the process ends */
	uint32_t state;			/* enum truth_state */
	int64_t saved[TRUTH_DEVICES];	/* driver bytes that a checkpoint took off the devices */
	struct gauge pinned;
	struct truth_device device[TRUTH_DEVICES];
	int64_t reserved[5];
};

struct truth_identity {
	uint8_t uuid[16];
	char pci[16];			/* "0000:11:00.0" */
};

struct truth {
	char magic[8];
	uint32_t version;
	uint32_t devices;		/* how many the machine has */
	uint32_t processes;		/* TRUTH_PROCESSES */
	uint32_t lock;			/* pid of who writes, or 0 */
	int64_t reserved[29];
	struct truth_identity identity[TRUTH_DEVICES];
	struct truth_process process[TRUTH_PROCESSES];
};

_Static_assert(sizeof(struct truth_process) == 512, "README.md knows this layout");
_Static_assert(sizeof(struct truth) == 32 * 512, "README.md knows this layout");

/* The slot of this process; never NULL. */
struct truth_process *truth_self(void);
/* The slot of another process, or NULL. */
struct truth_process *truth_of(int pid);
/* Adds to a gauge and raises its peak, under the lock. */
void truth_add(struct gauge *gauge, int64_t bytes);
void truth_lock(void);
void truth_unlock(void);
/* The file as it is mapped here. */
struct truth *truth_file(void);

#ifdef __cplusplus
}
#endif

#endif
