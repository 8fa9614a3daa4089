/* Functions that PyTorch's expandable segments and symmetric memory look up in the driver. They never have to work. */
#include "internal.h"

/* CUdevice_attribute by number: "yes", or "some", for all. */
API CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
	CUresult r = enter();

	(void)attribute;
	if (r)
		return r;
	if (device_of(device) < 0)
		return leave(CUDA_ERROR_INVALID_DEVICE);
	*value = 1;
	return leave(CUDA_SUCCESS);
}

API CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream)
{
	(void)to, (void)value, (void)count, (void)stream;
	return CUDA_SUCCESS;
}

API CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr to, uint32_t value, unsigned flags)
{
	(void)stream, (void)to, (void)value, (void)flags;
	return CUDA_SUCCESS;
}
