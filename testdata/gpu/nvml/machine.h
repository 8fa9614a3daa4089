// The machine that the stand-in simulates, as it was read.
#ifndef STANDIN_NVML_MACHINE_H
#define STANDIN_NVML_MACHINE_H

#define NVML_NO_UNVERSIONED_FUNC_DEFS 1
#include <nvml.h>

enum { DEVICES = 16, INSTANCES = 8, PROCESSES = 512, FAILURES = 32 };

struct process {
	unsigned long long used;
	unsigned int pid, gpu_instance, compute_instance;
	char kind; // C, G or M
};

struct failure {
	char function[64];
	int code;
};

struct nvmlDevice_st {
	unsigned long long total, used, free, reserved;
	struct nvmlDevice_st *parent; // of a MIG device
	struct nvmlDevice_st *instances[INSTANCES];
	struct process *processes;
	struct failure failures[FAILURES];
	unsigned int domain, bus, device, minor, gpu_instance, compute_instance;
	int mig; // -1: not supported
	int process_count, failure_count;
	char uuid[96], name[96];
};

struct machine {
	struct nvmlDevice_st *devices[DEVICES];
	struct nvmlDevice_st *last;  // the device or MIG device of the last line
	struct nvmlDevice_st global; // holds the failures of functions that take no device
	char driver[80], nvml[80];
	int count, cuda, initialized;
};

extern __attribute__((visibility("hidden"))) struct machine machine;

// Reads the file that NVML_STANDIN names.
__attribute__((visibility("hidden"))) void read_machine(void);

#endif
