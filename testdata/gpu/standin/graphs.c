/* Graphs, and missing features: see work.c. */
#include <stdlib.h>

#include "work.h"

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static unsigned long long captures;
static __thread int capture_mode;

RUNTIME cudaError_t cudaThreadExchangeStreamCaptureMode(int *mode)
{
	int before = capture_mode;

	capture_mode = *mode;
	*mode = before;
	return 0;
}

RUNTIME cudaError_t cudaStreamBeginCapture(CUstream stream, int mode)
{
	(void)mode;
	if (!stream)
		return INVALID_VALUE;
	stream->capture = __atomic_add_fetch(&captures, 1, __ATOMIC_RELAXED);
	return 0;
}

RUNTIME cudaError_t cudaStreamIsCapturing(CUstream stream, int *status)
{
	*status = stream && stream->capture ? CAPTURE_ACTIVE : CAPTURE_NONE;
	return 0;
}

RUNTIME cudaError_t cudaStreamGetCaptureInfo_v2(CUstream stream, int *status, unsigned long long *id,
						cudaGraph_t *graph, const void **nodes, size_t *count)
{
	(void)graph, (void)nodes;
	*status = stream && stream->capture ? CAPTURE_ACTIVE : CAPTURE_NONE;
	if (id)
		*id = stream ? stream->capture : 0;
	if (count)
		*count = 0;
	return 0;
}

RUNTIME cudaError_t cudaStreamEndCapture(CUstream stream, cudaGraph_t *graph)
{
	if (!stream || !stream->capture)
		return NOT_CAPTURING;
	stream->capture = 0;
	*graph = malloc(sizeof(**graph));
	return 0;
}

RUNTIME cudaError_t cudaGraphGetNodes(cudaGraph_t graph, void **nodes, size_t *count)
{
	(void)graph, (void)nodes;
	*count = 1;
	return 0;
}

RUNTIME cudaError_t cudaGraphInstantiate(cudaGraph_t *executable, cudaGraph_t graph, unsigned long long flags)
{
	(void)graph, (void)flags;
	*executable = malloc(sizeof(**executable));
	return 0;
}

RUNTIME cudaError_t cudaGraphInstantiateWithFlags(cudaGraph_t *executable, cudaGraph_t graph, unsigned long long flags)
{
	return cudaGraphInstantiate(executable, graph, flags);
}

RUNTIME cudaError_t cudaGraphLaunch(cudaGraph_t executable, CUstream stream)
{
	(void)executable, (void)stream;
	return 0;
}

RUNTIME cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	free(graph);
	return 0;
}

RUNTIME cudaError_t cudaGraphExecDestroy(cudaGraph_t executable)
{
	free(executable);
	return 0;
}

/* ---- what is not there ------------------------------------------------------------------------------------------- */

RUNTIME cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned flags)
{
	(void)graph, (void)path, (void)flags;
	return NOT_SUPPORTED;
}

RUNTIME cudaError_t cudaIpcGetMemHandle(CUipcMemHandle *handle, void *address)
{
	(void)handle, (void)address;
	return NOT_SUPPORTED;
}

RUNTIME cudaError_t cudaIpcOpenMemHandle(void **address, CUipcMemHandle handle, unsigned flags)
{
	(void)address, (void)handle, (void)flags;
	return NOT_SUPPORTED;
}

RUNTIME cudaError_t cudaIpcCloseMemHandle(void *address)
{
	(void)address;
	return NOT_SUPPORTED;
}

RUNTIME cudaError_t cudaIpcGetEventHandle(CUipcMemHandle *handle, cudaEvent_t event)
{
	(void)handle, (void)event;
	return NOT_SUPPORTED;
}

RUNTIME cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, CUipcMemHandle handle)
{
	(void)event, (void)handle;
	return NOT_SUPPORTED;
}

RUNTIME cudaError_t cudaProfilerStart(void)
{
	return NOT_SUPPORTED;
}

RUNTIME cudaError_t cudaProfilerStop(void)
{
	return NOT_SUPPORTED;
}
