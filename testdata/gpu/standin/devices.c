/* Questions about devices. */
#include <stdio.h>
#include <string.h>

#include "internal.h"

API CUresult cuDriverGetVersion(int *version)
{
	enter_always();		/* a function that calls nothing gets no frame from gcc, whatever it is told */
	*version = 13000;
	return leave(CUDA_SUCCESS);
}

API CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	CUresult r = enter();

	if (r)
		return r;
	*device = ordinal;
	return leave(device_of(ordinal) < 0 ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS);
}

API CUresult cuDeviceGetCount(int *count)
{
	CUresult r = enter();

	if (r)
		return r;
	*count = machine_visible();
	return leave(CUDA_SUCCESS);
}

API CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
	int index;
	CUresult r = enter_device(device, &index);

	if (r)
		return r;
	snprintf(name, (size_t)length, "Stand-in %d", index);
	return leave(CUDA_SUCCESS);
}

API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	int index;
	CUresult r = enter_device(device, &index);

	if (r)
		return r;
	*bytes = (size_t)machine_memory();
	return leave(CUDA_SUCCESS);
}

static CUresult uuid(CUuuid *to, CUdevice device)
{
	int index;
	CUresult r = enter_device(device, &index);

	if (r)
		return r;
	machine_uuid(index, (uint8_t *)to->bytes);
	return leave(CUDA_SUCCESS);
}

API CUresult cuDeviceGetUuid(CUuuid *to, CUdevice device)
{
	CUresult r = uuid(to, device);

	return r;
}

API CUresult cuDeviceGetUuid_v2(CUuuid *to, CUdevice device)
{
	CUresult r = uuid(to, device);

	return r;
}

API CUresult cuDeviceGetPCIBusId(char *text, int length, CUdevice device)
{
	char pci[16];
	int index;
	CUresult r = enter_device(device, &index);

	if (r)
		return r;
	machine_pci(index, pci);
	if (length <= (int)strlen(pci))
		return leave(CUDA_ERROR_INVALID_VALUE);
	strcpy(text, pci);
	return leave(CUDA_SUCCESS);
}

API CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
	struct context *c;
	CUresult r = enter_context(&c);

	if (r)
		return r;
	*total = (size_t)machine_memory();
	*free = *total - (size_t)truth_self()->device[c->device].driver.current;
	return leave(CUDA_SUCCESS);
}

API CUresult cuGetErrorString(CUresult error, const char **text)
{
	static const struct { CUresult error; const char *text; } known[] = {
		{ CUDA_SUCCESS, "no error" },
		{ CUDA_ERROR_INVALID_VALUE, "invalid argument" },
		{ CUDA_ERROR_OUT_OF_MEMORY, "out of memory" },
		{ CUDA_ERROR_NOT_INITIALIZED, "initialization error" },
		{ CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected" },
		{ CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal" },
		{ CUDA_ERROR_INVALID_CONTEXT, "invalid device context" },
		{ CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed" },
		{ CUDA_ERROR_NOT_PERMITTED, "operation not permitted" },
		{ CUDA_ERROR_NOT_SUPPORTED, "operation not supported" },
	};

	enter_always();
	*text = NULL;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].error == error)
			*text = known[i].text;
	return leave(*text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

API CUresult cuGetErrorName(CUresult error, const char **name)
{
#define NAMED(code) { code, #code }
	static const struct { CUresult error; const char *name; } known[] = {
		NAMED(CUDA_SUCCESS), NAMED(CUDA_ERROR_INVALID_VALUE), NAMED(CUDA_ERROR_OUT_OF_MEMORY),
		NAMED(CUDA_ERROR_NOT_INITIALIZED), NAMED(CUDA_ERROR_NO_DEVICE), NAMED(CUDA_ERROR_ILLEGAL_STATE),
		NAMED(CUDA_ERROR_NOT_READY), NAMED(CUDA_ERROR_NOT_PERMITTED), NAMED(CUDA_ERROR_NOT_SUPPORTED),
		NAMED(CUDA_ERROR_UNKNOWN),
	};

	enter_always();
	*name = NULL;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].error == error)
			*name = known[i].name;
	return leave(*name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
