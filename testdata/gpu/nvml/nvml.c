// A stand-in for NVIDIA's libnvidia-ml.so.1: the functions that the tracer uses, under their real names and with the
// real structures (nvml.h comes from go-nvml), answered from a text file that NVML_STANDIN names. See README.md.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

// answer is the return value of a function for a device: the one in the file, or success.
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

	if (machine.initialized++)
		return NVML_SUCCESS;
	read_machine();
	machine.initialized = 1;
	ret = answer("nvmlInit", &machine.global);
	if (ret == NVML_SUCCESS && !driver_starts(&ret))
		driver_stops();
	if (ret != NVML_SUCCESS)
		machine.initialized = 0;
	return ret;
}

nvmlReturn_t nvmlInit(void)
{
	return nvmlInit_v2();
}

nvmlReturn_t nvmlShutdown(void)
{
	TRY("nvmlShutdown", &machine.global);
	if (!--machine.initialized)
		driver_stops();
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
	if (!driver_is_asked(machine.devices[index]->minor))
		return NVML_ERROR_UNKNOWN;
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

// The first version counts reserved memory as used.
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

// list collects the processes of one kind: all of a device, or those of a MIG device. As nvml.h says, if a count
// is too small, the answer has the right one.
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
