/* Device memory of another process. It has an address here and counts there. */
#include <string.h>
#include <unistd.h>

#include "internal.h"

struct shared {
	uint64_t address;
	int64_t bytes;
	int32_t pid, device;
};

API CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
	struct shared s = { address, 0, getpid(), 0 };
	struct context *c;
	struct block *b;
	CUresult r = enter_context(&c);

	if (r)
		return r;
	b = block_at(address);
	if (!handle || !b || (b->kind != LINEAR && b->kind != PITCH))
		return leave(CUDA_ERROR_INVALID_VALUE);
	s.bytes = b->bytes;
	s.device = b->device;
	memset(handle, 0, sizeof *handle);
	memcpy(handle, &s, sizeof s);
	return leave(CUDA_SUCCESS);
}

API CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle, unsigned flags)
{
	struct context *c;
	struct shared s;
	struct block *b;
	CUresult r = enter_context(&c);

	if (r)
		return r;
	memcpy(&s, &handle, sizeof s);
	if (!address || flags != 1 || !truth_of(s.pid))	/* CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, the only one there is */
		return leave(CUDA_ERROR_INVALID_VALUE);
	if (s.pid == getpid())		/* not in the process that made it */
		return leave(CUDA_ERROR_INVALID_CONTEXT);
	b = block_new(OPENED, s.device, s.bytes, s.bytes, c);
	if (!b)
		return leave(CUDA_ERROR_OUT_OF_MEMORY);
	*address = b->address;
	return leave(CUDA_SUCCESS);
}

API CUresult cuIpcCloseMemHandle(CUdeviceptr address)
{
	CUresult r = free_kind(address, OPENED, CUDA_ERROR_INVALID_VALUE);

	return r;
}
