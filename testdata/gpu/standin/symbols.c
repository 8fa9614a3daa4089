/*
 * cuGetProcAddress: from the name without a version to the exported function. As seen on driver 580, it returns the
 * exported functions themselves, and those with _ptsz for the per-thread default stream.
 */
#include <string.h>

#include "internal.h"

/* Each has the requested name, the function, its first CUDA version, and whether it is per thread. Newest first. */
#define SYMBOLS(S, P) \
	S(cuInit, cuInit, 2000) S(cuDriverGetVersion, cuDriverGetVersion, 2020) S(cuDeviceGet, cuDeviceGet, 2000) \
	S(cuDeviceGetCount, cuDeviceGetCount, 2000) S(cuDeviceGetName, cuDeviceGetName, 2000) \
	S(cuDeviceTotalMem, cuDeviceTotalMem_v2, 3020) S(cuDeviceGetUuid, cuDeviceGetUuid_v2, 11040) \
	S(cuDeviceGetUuid, cuDeviceGetUuid, 9020) S(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, 4010) \
	S(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000) \
	S(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 11000) \
	S(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, 11000) \
	S(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2, 11000) \
	S(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, 7000) \
	S(cuCtxCreate, cuCtxCreate_v4, 12050) S(cuCtxCreate, cuCtxCreate_v3, 11040) S(cuCtxCreate, cuCtxCreate_v2, 3020) \
	S(cuCtxDestroy, cuCtxDestroy_v2, 4000) S(cuCtxSetCurrent, cuCtxSetCurrent, 4000) \
	S(cuCtxGetCurrent, cuCtxGetCurrent, 4000) \
	S(cuCtxPushCurrent, cuCtxPushCurrent_v2, 4000) S(cuCtxPopCurrent, cuCtxPopCurrent_v2, 4000) \
	S(cuCtxGetDevice, cuCtxGetDevice, 2000) S(cuMemGetInfo, cuMemGetInfo_v2, 3020) \
	S(cuMemAlloc, cuMemAlloc_v2, 3020) S(cuMemAlloc, cuMemAlloc, 2000) S(cuMemAllocPitch, cuMemAllocPitch_v2, 3020) \
	S(cuMemAllocManaged, cuMemAllocManaged, 6000) S(cuMemFree, cuMemFree_v2, 3020) S(cuMemFree, cuMemFree, 2000) \
	P(cuMemAllocAsync, cuMemAllocAsync_ptsz, 11020) S(cuMemAllocAsync, cuMemAllocAsync, 11020) \
	P(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz, 11020) \
	S(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020) \
	P(cuMemFreeAsync, cuMemFreeAsync_ptsz, 11020) S(cuMemFreeAsync, cuMemFreeAsync, 11020) \
	S(cuMemPoolCreate, cuMemPoolCreate, 11020) S(cuMemPoolDestroy, cuMemPoolDestroy, 11020) \
	S(cuMemPoolTrimTo, cuMemPoolTrimTo, 11020) S(cuMemPoolSetAttribute, cuMemPoolSetAttribute, 11020) \
	S(cuMemPoolGetAttribute, cuMemPoolGetAttribute, 11020) \
	S(cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, 11020) \
	S(cuDeviceGetMemPool, cuDeviceGetMemPool, 11020) S(cuDeviceSetMemPool, cuDeviceSetMemPool, 11020) \
	S(cuMemGetDefaultMemPool, cuMemGetDefaultMemPool, 13000) S(cuMemGetMemPool, cuMemGetMemPool, 13000) \
	S(cuMemSetMemPool, cuMemSetMemPool, 13000) \
	S(cuMemAddressReserve, cuMemAddressReserve, 10020) S(cuMemAddressFree, cuMemAddressFree, 10020) \
	S(cuMemCreate, cuMemCreate, 10020) S(cuMemRelease, cuMemRelease, 10020) S(cuMemMap, cuMemMap, 10020) \
	S(cuMemUnmap, cuMemUnmap, 10020) S(cuMemSetAccess, cuMemSetAccess, 10020) \
	S(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, 11000) \
	S(cuMemExportToShareableHandle, cuMemExportToShareableHandle, 10020) \
	S(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle, 10020) \
	S(cuMemGetAllocationGranularity, cuMemGetAllocationGranularity, 10020) \
	S(cuMemHostAlloc, cuMemHostAlloc, 2020) S(cuMemAllocHost, cuMemAllocHost_v2, 3020) \
	S(cuMemFreeHost, cuMemFreeHost, 2000) \
	S(cuMemHostRegister, cuMemHostRegister_v2, 6050) S(cuMemHostUnregister, cuMemHostUnregister, 4000) \
	S(cuArrayCreate, cuArrayCreate_v2, 3020) S(cuArray3DCreate, cuArray3DCreate_v2, 3020) \
	S(cuArrayDestroy, cuArrayDestroy, 2000) \
	S(cuMipmappedArrayCreate, cuMipmappedArrayCreate, 5000) S(cuMipmappedArrayDestroy, cuMipmappedArrayDestroy, 5000) \
	S(cuIpcGetMemHandle, cuIpcGetMemHandle, 4010) S(cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2, 11000) \
	S(cuIpcCloseMemHandle, cuIpcCloseMemHandle, 4010) S(cuGetErrorString, cuGetErrorString, 6000) \
	S(cuGetErrorName, cuGetErrorName, 6000) \
	S(cuCheckpointProcessLock, cuCheckpointProcessLock, 12080) \
	S(cuCheckpointProcessCheckpoint, cuCheckpointProcessCheckpoint, 12080) \
	S(cuCheckpointProcessRestore, cuCheckpointProcessRestore, 12080) \
	S(cuCheckpointProcessUnlock, cuCheckpointProcessUnlock, 12080) \
	S(cuCheckpointProcessGetState, cuCheckpointProcessGetState, 12080) \
	S(cuGetProcAddress, cuGetProcAddress_v2, 12000) S(cuGetProcAddress, cuGetProcAddress, 11030)

/* The types do not matter here, the names do. */
#define DECLARE(name, function, version) extern void standin_##function(void) __asm__(#function);
#define PLAIN(name, function, version) { #name, standin_##function, version, 0 },
#define PER_THREAD(name, function, version) { #name, standin_##function, version, 1 },

SYMBOLS(DECLARE, DECLARE)

static const struct {
	const char *name;
	void (*function)(void);
	int version, per_thread;
} symbols[] = { SYMBOLS(PLAIN, PER_THREAD) };

static CUresult find(const char *name, void **to, int version, uint64_t flags, CUdriverProcAddressQueryResult *status)
{
	int found = 0, per_thread = !!(flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);

	*to = NULL;
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols && !*to; i++) {
		if (strcmp(symbols[i].name, name))
			continue;
		found = 1;
		if (symbols[i].version <= version && symbols[i].per_thread <= per_thread)
			*to = (void *)symbols[i].function;
	}
	if (status)	/* CU_GET_PROC_ADDRESS_SUCCESS, _SYMBOL_NOT_FOUND, _VERSION_NOT_SUFFICIENT */
		*status = *to ? 0 : found ? 2 : 1;
	return *to ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

API CUresult cuGetProcAddress_v2(const char *name, void **to, int version, uint64_t flags,
				 CUdriverProcAddressQueryResult *status)
{
	if (!name || !to)
		return CUDA_ERROR_INVALID_VALUE;
	return find(name, to, version, flags, status);
}

API CUresult cuGetProcAddress(const char *name, void **to, int version, uint64_t flags)
{
	if (!name || !to)
		return CUDA_ERROR_INVALID_VALUE;
	return find(name, to, version, flags, NULL);
}
