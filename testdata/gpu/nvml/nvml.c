// A stand-in for NVIDIA's libnvidia-ml.so.1: the functions that the tracer uses, under their real names and with the
// real structures (nvml.h comes from go-nvml), answered from a text file that NVML_STANDIN names. See README.md.

#define NVML_NO_UNVERSIONED_FUNC_DEFS 1
#include <nvml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static struct {
	struct nvmlDevice_st *devices[DEVICES];
	struct nvmlDevice_st *last;  // the device or MIG device of the last line
	struct nvmlDevice_st global; // holds the failures of functions that take no device
	char driver[80], nvml[80];
	int count, cuda, initialized;
} machine;

static void die(const char *line)
{
	fprintf(stderr, "NVML stand-in: cannot read: %s\n", line);
	abort();
}

// used: a number of bytes, or - for "not available".
static unsigned long long available(const char *text)
{
	return strcmp(text, "-") == 0 ? (unsigned long long)NVML_VALUE_NOT_AVAILABLE : strtoull(text, NULL, 10);
}

static void read_line(const char *line)
{
	struct nvmlDevice_st *last = machine.count ? machine.devices[machine.count - 1] : &machine.global;
	struct nvmlDevice_st *d = NULL;
	struct process p = { 0 };
	struct failure f = { { 0 }, 0 };
	char number[32] = "";
	int gpu = -1, compute = -1, index = 0;

	if (sscanf(line, "driver %79s", machine.driver) == 1 || sscanf(line, "nvml %79s", machine.nvml) == 1 ||
	    sscanf(line, "cuda %d", &machine.cuda) == 1)
		return;
	if (sscanf(line, "fail %63s %d", f.function, &f.code) == 2 && machine.last->failure_count < FAILURES) {
		machine.last->failures[machine.last->failure_count++] = f;
		return;
	}
	if (sscanf(line, "process %u %31s %c %d %d", &p.pid, number, &p.kind, &gpu, &compute) >= 3 && last->processes &&
	    last->process_count < PROCESSES) {
		p.used = available(number);
		p.gpu_instance = (unsigned int)gpu;
		p.compute_instance = (unsigned int)compute;
		last->processes[last->process_count++] = p;
		return;
	}
	d = calloc(1, sizeof(*d));
	if (sscanf(line, "gpu %95s %x:%x:%x %u %llu %llu %llu %llu %d %95[^\n]", d->uuid, &d->domain, &d->bus,
		   &d->device, &d->minor, &d->total, &d->used, &d->free, &d->reserved, &d->mig, d->name) == 11 &&
	    machine.count < DEVICES) {
		d->processes = calloc(PROCESSES, sizeof(struct process));
		machine.last = machine.devices[machine.count++] = d;
		return;
	}
	if (sscanf(line, "instance %d %95s %u %u %llu %llu %llu %llu %95[^\n]", &index, d->uuid, &d->gpu_instance,
		   &d->compute_instance, &d->total, &d->used, &d->free, &d->reserved, d->name) == 9 &&
	    machine.count && index >= 0 && index < INSTANCES) {
		d->parent = last;
		machine.last = last->instances[index] = d;
		return;
	}
	die(line);
}

static void read_machine(void)
{
	const char *path = getenv("NVML_STANDIN");
	char line[512];
	FILE *f = path ? fopen(path, "r") : NULL;

	if (!f)
		die("the file that NVML_STANDIN names");
	memset(&machine, 0, sizeof(machine));
	machine.last = &machine.global;
	while (fgets(line, sizeof(line), f))
		if (line[0] != '#' && line[0] != '\n')
			read_line(line);
	fclose(f);
}

// answer is what a function returns for a device: what the file says, or success.
static nvmlReturn_t answer(const char *function, const struct nvmlDevice_st *d)
{
	if (!machine.initialized)
		return NVML_ERROR_UNINITIALIZED;
	if (!d)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (int i = 0; i < d->failure_count; i++)
		if (strcmp(d->failures[i].function, function) == 0)
			return (nvmlReturn_t)d->failures[i].code;
	return NVML_SUCCESS;
}

static nvmlReturn_t give(nvmlReturn_t ret, const char *text, char *to, unsigned int length)
{
	if (ret == NVML_SUCCESS && strlen(text) + 1 > length)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	if (ret == NVML_SUCCESS)
		strcpy(to, text);
	return ret;
}

#define TRY(function, device)                                 \
	do {                                                  \
		nvmlReturn_t ret_ = answer(function, device); \
		if (ret_ != NVML_SUCCESS)                     \
			return ret_;                          \
	} while (0)

// Starts are counted; the last nvmlShutdown ends it.
nvmlReturn_t nvmlInit_v2(void)
{
	nvmlReturn_t ret;

	if (!machine.initialized)
		read_machine();
	machine.initialized++;
	ret = answer("nvmlInit", &machine.global);
	if (ret != NVML_SUCCESS)
		machine.initialized--;
	return ret;
}

nvmlReturn_t nvmlInit(void)
{
	return nvmlInit_v2();
}

nvmlReturn_t nvmlShutdown(void)
{
	TRY("nvmlShutdown", &machine.global);
	machine.initialized--;
	return NVML_SUCCESS;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
	static char text[32];

	snprintf(text, sizeof(text), "stand-in error %d", (int)result);
	return text;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	return give(answer("nvmlSystemGetDriverVersion", &machine.global), machine.driver, version, length);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
	return give(answer("nvmlSystemGetNVMLVersion", &machine.global), machine.nvml, version, length);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	TRY("nvmlSystemGetCudaDriverVersion", &machine.global);
	*version = machine.cuda;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
	TRY("nvmlDeviceGetCount", &machine.global);
	*count = (unsigned int)machine.count;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount(unsigned int *count)
{
	return nvmlDeviceGetCount_v2(count);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	if (index >= (unsigned int)machine.count)
		return NVML_ERROR_INVALID_ARGUMENT;
	TRY("nvmlDeviceGetHandleByIndex", machine.devices[index]);
	device->handle = machine.devices[index];
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
	return nvmlDeviceGetHandleByIndex_v2(index, device);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t handle, char *name, unsigned int length)
{
	const struct nvmlDevice_st *d = handle.handle;

	return give(answer("nvmlDeviceGetName", d), d->name, name, length);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t handle, char *uuid, unsigned int length)
{
	const struct nvmlDevice_st *d = handle.handle;

	return give(answer("nvmlDeviceGetUUID", d), d->uuid, uuid, length);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t handle, nvmlPciInfo_t *pci)
{
	const struct nvmlDevice_st *d = handle.handle;

	TRY("nvmlDeviceGetPciInfo", d);
	pci->domain = d->domain;
	pci->bus = d->bus;
	pci->device = d->device;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t d, nvmlPciInfo_t *pci)
{
	return nvmlDeviceGetPciInfo_v3(d, pci);
}
nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t d, nvmlPciInfo_t *pci)
{
	return nvmlDeviceGetPciInfo_v3(d, pci);
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t handle, unsigned int *minor)
{
	const struct nvmlDevice_st *d = handle.handle;

	TRY("nvmlDeviceGetMinorNumber", d);
	*minor = d->minor;
	return NVML_SUCCESS;
}

// The first version counts what is reserved as used.
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t handle, nvmlMemory_t *memory)
{
	const struct nvmlDevice_st *d = handle.handle;

	TRY("nvmlDeviceGetMemoryInfo", d);
	memory->total = d->total;
	memory->free = d->free;
	memory->used = d->used + d->reserved;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t handle, nvmlMemory_v2_t *memory)
{
	const struct nvmlDevice_st *d = handle.handle;

	TRY("nvmlDeviceGetMemoryInfo", d);
	if (memory->version != nvmlMemory_v2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	memory->total = d->total;
	memory->reserved = d->reserved;
	memory->free = d->free;
	memory->used = d->used;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t handle, unsigned int *current, unsigned int *pending)
{
	const struct nvmlDevice_st *d = handle.handle;

	TRY("nvmlDeviceGetMigMode", d);
	if (d->mig < 0 || d->parent)
		return NVML_ERROR_NOT_SUPPORTED;
	*current = *pending = (unsigned int)d->mig;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t handle, unsigned int *count)
{
	const struct nvmlDevice_st *d = handle.handle;

	TRY("nvmlDeviceGetMaxMigDeviceCount", d);
	*count = d->mig > 0 ? INSTANCES : 0;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t handle, unsigned int index, nvmlDevice_t *instance)
{
	const struct nvmlDevice_st *d = handle.handle;

	TRY("nvmlDeviceGetMigDeviceHandleByIndex", d);
	if (index >= INSTANCES)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!d->instances[index])
		return NVML_ERROR_NOT_FOUND;
	instance->handle = d->instances[index];
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t handle, unsigned int *id)
{
	const struct nvmlDevice_st *d = handle.handle;

	TRY("nvmlDeviceGetGpuInstanceId", d);
	*id = d->gpu_instance;
	return d->parent ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t handle, unsigned int *id)
{
	const struct nvmlDevice_st *d = handle.handle;

	TRY("nvmlDeviceGetComputeInstanceId", d);
	*id = d->compute_instance;
	return d->parent ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

// list collects the processes of one kind: all of a device, or those of a MIG device. As nvml.h says, a count that is
// too small is answered with the right one.
static nvmlReturn_t list(const char *function, char kind, const struct nvmlDevice_st *d, unsigned int *count,
			 nvmlProcessInfo_v2_t *infos)
{
	const struct nvmlDevice_st *holder = d && d->parent ? d->parent : d;
	unsigned int n = 0;

	TRY(function, d);
	for (int i = 0; i < holder->process_count; i++) {
		const struct process *p = &holder->processes[i];

		if (p->kind != kind ||
		    (d->parent && (p->gpu_instance != d->gpu_instance || p->compute_instance != d->compute_instance)))
			continue;
		if (infos && n < *count)
			infos[n] = (nvmlProcessInfo_v2_t){ p->pid, p->used, p->gpu_instance, p->compute_instance };
		n++;
	}
	if (n > *count) {
		*count = n;
		return NVML_ERROR_INSUFFICIENT_SIZE;
	}
	*count = n;
	return NVML_SUCCESS;
}

// The first version has no instances in its structure.
static nvmlReturn_t list_v1(const char *function, char kind, const struct nvmlDevice_st *d, unsigned int *count,
			    nvmlProcessInfo_v1_t *infos)
{
	nvmlProcessInfo_v2_t all[PROCESSES];
	unsigned int room = *count, n = PROCESSES;
	nvmlReturn_t ret = list(function, kind, d, &n, all);

	*count = n;
	if (ret != NVML_SUCCESS || n > room)
		return ret != NVML_SUCCESS ? ret : NVML_ERROR_INSUFFICIENT_SIZE;
	for (unsigned int i = 0; i < n; i++)
		infos[i] = (nvmlProcessInfo_v1_t){ all[i].pid, all[i].usedGpuMemory };
	return NVML_SUCCESS;
}

#define LISTS(function, kind)                                                                    \
	nvmlReturn_t function##_v3(nvmlDevice_t d, unsigned int *n, nvmlProcessInfo_t *infos)    \
	{                                                                                        \
		return list(#function, kind, d.handle, n, infos);                                \
	}                                                                                        \
	nvmlReturn_t function##_v2(nvmlDevice_t d, unsigned int *n, nvmlProcessInfo_v2_t *infos) \
	{                                                                                        \
		return list(#function, kind, d.handle, n, infos);                                \
	}                                                                                        \
	nvmlReturn_t function(nvmlDevice_t d, unsigned int *n, nvmlProcessInfo_v1_t *infos)      \
	{                                                                                        \
		return list_v1(#function, kind, d.handle, n, infos);                             \
	}

LISTS(nvmlDeviceGetComputeRunningProcesses, 'C')
LISTS(nvmlDeviceGetGraphicsRunningProcesses, 'G')
LISTS(nvmlDeviceGetMPSComputeRunningProcesses, 'M')
