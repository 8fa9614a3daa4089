/*
 * The rest of the runtime that PyTorch cannot do without: streams, events, copies, kernels, graphs, properties. No work is
 * ever done, and memory of devices has no contents. So results are nonsense, and every allocation of a real PyTorch takes
 * place. From NVIDIA's public documentation ("CUDA Runtime API", 12.4); nothing copied.
 *
 * Work is over as soon as it is asked for, unless $STANDIN_KERNEL_NS says how long a kernel takes: then all devices together
 * run one after another, the CPU runs ahead, and who synchronizes waits.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "runtime.h"

enum { INVALID_VALUE = 1, NOT_SUPPORTED = 801, NOT_CAPTURING = 904 };
enum { CAPTURE_NONE, CAPTURE_ACTIVE };

struct stream {
	int priority;
	unsigned long long capture;	/* 0: none */
};

struct graph {
	int unused;
};

typedef struct event *cudaEvent_t;
typedef struct graph *cudaGraph_t;

/* ---- the time that work takes ------------------------------------------------------------------------------------ */

static long kernel_ns;
static long long busy_until;	/* of CLOCK_MONOTONIC, in ns */

__attribute__((constructor)) static void read_kernel_ns(void)
{
	kernel_ns = clock_setting("STANDIN_KERNEL_NS");
}

/* Queues a kernel. Two threads at once may lose one of them, which is no harm. */
static cudaError_t launch(void)
{
	if (kernel_ns) {
		long long from = clock_now(), until = __atomic_load_n(&busy_until, __ATOMIC_RELAXED);
		__atomic_store_n(&busy_until, (until > from ? until : from) + kernel_ns, __ATOMIC_RELAXED);
	}
	return runtime_context();
}

/* Waits until everything that was asked for is over. */
static cudaError_t drain(void)
{
	if (kernel_ns) {
		long long until = __atomic_load_n(&busy_until, __ATOMIC_RELAXED);
		struct timespec t = { until / 1000000000, until % 1000000000 };
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
			;
	}
	return runtime_context();
}

/* ---- errors: the last one is never kept, nobody here looks for it later ------------------------------------------ */

RUNTIME cudaError_t cudaGetLastError(void)
{
	return 0;
}

RUNTIME cudaError_t cudaPeekAtLastError(void)
{
	return 0;
}

RUNTIME const char *cudaGetErrorString(cudaError_t error)
{
	return error == 2 ? "out of memory" : error ? "an error of the stand-in" : "no error";
}

RUNTIME const char *cudaGetErrorName(cudaError_t error)
{
	return error == 2 ? "cudaErrorMemoryAllocation" : error ? "cudaErrorOfStandIn" : "cudaSuccess";
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

RUNTIME cudaError_t cudaDriverGetVersion(int *version)
{
	*version = RUNTIME_VERSION;
	return 0;
}

RUNTIME cudaError_t cudaRuntimeGetVersion(int *version)
{
	*version = RUNTIME_VERSION;
	return 0;
}

RUNTIME cudaError_t cudaDeviceSynchronize(void)
{
	return drain();
}

RUNTIME cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	*can = device != peer;
	return 0;
}

RUNTIME cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
	(void)peer, (void)flags;
	return 0;
}

RUNTIME cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	*least = 0;
	*greatest = -5;
	return 0;
}

/* cudaDeviceProp as of CUDA 12: only what PyTorch's arithmetic needs is not 0. */
struct properties {
	char name[256], uuid[16], luid[8];
	unsigned luid_mask;
	size_t total, shared_per_block;
	int registers_per_block, warp;
	size_t pitch;
	int threads_per_block, threads[3], grid[3], clock;
	size_t constant;
	int major, minor;
	size_t texture_alignment, texture_pitch;
	int overlap, processors;
	int until_unified[53];
	int unified, memory_clock, bus_width, l2, l2_persisting, threads_per_processor, priorities, l1_global, l1_local;
	size_t shared_per_processor;
	int registers_per_processor, managed;
	int until_optin[10];
	size_t shared_per_block_optin;
	char rest[328];
};
_Static_assert(offsetof(struct properties, unified) == 604 && offsetof(struct properties, shared_per_block_optin) == 696 &&
	       sizeof(struct properties) == 1032, "cudaDeviceProp of CUDA 12");

RUNTIME cudaError_t cudaGetDeviceProperties_v2(struct properties *p, int device)
{
	size_t unused, total;
	int before;
	cudaError_t r = cudaGetDevice(&before);

	if (!r)
		r = cudaSetDevice(device);
	if (!r)
		r = cudaMemGetInfo(&unused, &total);
	if (r)
		return r;
	*p = (struct properties){
		.total = total, .shared_per_block = 48 << 10, .registers_per_block = 1 << 16, .warp = 32, .threads_per_block = 1024,
		.threads = { 1024, 1024, 64 }, .grid = { 0x7fffffff, 65535, 65535 }, .major = 9, .processors = 132, .unified = 1,
		.l2 = 50 << 20, .threads_per_processor = 2048, .priorities = 1, .shared_per_processor = 228 << 10,
		.registers_per_processor = 1 << 16, .managed = 1, .shared_per_block_optin = 227 << 10,
	};
	snprintf(p->name, sizeof(p->name), "Stand-in %d", device);
	return cudaSetDevice(before);
}

/* Attributes by number: 75 and 76 are the compute capability; of the others 1 does for "yes" and for "some". */
RUNTIME cudaError_t cudaDeviceGetAttribute(int *value, int attribute, int device)
{
	(void)device;
	*value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 132 : attribute == 97 ? 227 << 10 : 1;
	return 0;
}

/* ---- streams and events ------------------------------------------------------------------------------------------ */

RUNTIME cudaError_t cudaStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
	(void)flags;
	*stream = calloc(1, sizeof(**stream));
	(*stream)->priority = priority;
	return runtime_context();
}

RUNTIME cudaError_t cudaStreamCreate(CUstream *stream)
{
	return cudaStreamCreateWithPriority(stream, 0, 0);
}

RUNTIME cudaError_t cudaStreamDestroy(CUstream stream)
{
	free(stream);
	return 0;
}

RUNTIME cudaError_t cudaStreamGetPriority(CUstream stream, int *priority)
{
	*priority = stream ? stream->priority : 0;
	return 0;
}

RUNTIME cudaError_t cudaStreamQuery(CUstream stream)
{
	(void)stream;
	return 0;
}

RUNTIME cudaError_t cudaStreamSynchronize(CUstream stream)
{
	(void)stream;
	return drain();
}

RUNTIME cudaError_t cudaStreamWaitEvent(CUstream stream, cudaEvent_t event, unsigned flags)
{
	(void)stream, (void)event, (void)flags;
	return 0;
}

RUNTIME cudaError_t cudaLaunchHostFunc(CUstream stream, void (*function)(void *), void *argument)
{
	(void)stream;
	function(argument);
	return 0;
}

RUNTIME cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
	(void)flags;
	*event = malloc(1);
	return runtime_context();
}

RUNTIME cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	return cudaEventCreateWithFlags(event, 0);
}

RUNTIME cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	free(event);
	return 0;
}

RUNTIME cudaError_t cudaEventRecord(cudaEvent_t event, CUstream stream)
{
	(void)event, (void)stream;
	return 0;
}

RUNTIME cudaError_t cudaEventQuery(cudaEvent_t event)
{
	(void)event;
	return 0;
}

RUNTIME cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	(void)event;
	return drain();
}

RUNTIME cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	(void)start, (void)end;
	*ms = 1;
	return 0;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

RUNTIME cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
	(void)to, (void)from, (void)bytes, (void)kind;
	return drain();
}

RUNTIME cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, CUstream stream)
{
	(void)to, (void)from, (void)bytes, (void)kind, (void)stream;
	return runtime_context();
}

RUNTIME cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes, CUstream stream)
{
	(void)to, (void)to_device, (void)from, (void)from_device, (void)bytes, (void)stream;
	return runtime_context();
}

RUNTIME cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
	(void)to, (void)value, (void)bytes;
	return runtime_context();
}

RUNTIME cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, CUstream stream)
{
	(void)to, (void)value, (void)bytes, (void)stream;
	return runtime_context();
}

/* As documented for memory the runtime does not know: cudaMemoryTypeUnregistered. */
RUNTIME cudaError_t cudaPointerGetAttributes(void *attributes, const void *address)
{
	(void)address;
	memset(attributes, 0, 24);
	return 0;
}

RUNTIME cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
	(void)flags;
	*device = host;
	return 0;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

struct dim3 {
	unsigned x, y, z;
};

static __thread struct {
	struct dim3 grid, block;
	size_t shared;
	CUstream stream;
} configuration;

RUNTIME void **__cudaRegisterFatBinary(void *binary)
{
	(void)binary;
	return calloc(1, sizeof(void *));
}

RUNTIME void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

RUNTIME void __cudaUnregisterFatBinary(void **handle)
{
	free(handle);
}

RUNTIME void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *tid, void *bid,
				    void *block, void *grid, int *warp)
{
	(void)handle, (void)host, (void)device, (void)name, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
}

RUNTIME void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t size, int constant, int global)
{
	(void)handle, (void)host, (void)device, (void)name, (void)external, (void)size, (void)constant, (void)global;
}

RUNTIME unsigned __cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared, CUstream stream)
{
	configuration.grid = grid;
	configuration.block = block;
	configuration.shared = shared;
	configuration.stream = stream;
	return 0;
}

RUNTIME cudaError_t __cudaPopCallConfiguration(struct dim3 *grid, struct dim3 *block, size_t *shared, CUstream *stream)
{
	*grid = configuration.grid;
	*block = configuration.block;
	*shared = configuration.shared;
	*stream = configuration.stream;
	return 0;
}

RUNTIME cudaError_t cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments, size_t shared, CUstream stream)
{
	(void)function, (void)grid, (void)block, (void)arguments, (void)shared, (void)stream;
	return launch();
}

RUNTIME cudaError_t cudaLaunchKernelExC(const void *configured, const void *function, void **arguments)
{
	(void)configured, (void)function, (void)arguments;
	return launch();
}

struct function_attributes {
	size_t shared, constant, local;
	int threads_per_block, registers, ptx, binary, cache_ca, dynamic_shared, carveout;
	char rest[84];
};

RUNTIME cudaError_t cudaFuncGetAttributes(struct function_attributes *a, const void *function)
{
	(void)function;
	*a = (struct function_attributes){ .threads_per_block = 1024, .registers = 32, .ptx = 90, .binary = 90, .dynamic_shared = 48 << 10 };
	return 0;
}

RUNTIME cudaError_t cudaFuncSetAttribute(const void *function, int attribute, int value)
{
	(void)function, (void)attribute, (void)value;
	return 0;
}

RUNTIME cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int size, size_t shared,
									   unsigned flags)
{
	(void)function, (void)size, (void)shared, (void)flags;
	*blocks = 2;
	return 0;
}

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

RUNTIME cudaError_t cudaStreamGetCaptureInfo_v2(CUstream stream, int *status, unsigned long long *id, cudaGraph_t *graph, const void **nodes,
						size_t *count)
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
