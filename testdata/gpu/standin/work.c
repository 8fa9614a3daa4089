/*
 * The rest of the runtime that PyTorch cannot do without: streams, events, copies, kernels, and in graphs.c and
 * properties.c graphs and properties. No work is ever done, and memory of devices has no contents. So results are
 * nonsense, and every allocation of a real PyTorch takes place. From NVIDIA's public documentation ("CUDA Runtime
 * API", 12.4); nothing copied.
 *
 * Work is done as soon as it is requested, unless $STANDIN_KERNEL_NS sets the duration of a kernel: then the kernels of
 * all devices run one after another, the CPU runs ahead, and synchronizing calls wait.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "work.h"

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

cudaError_t work_drain(void)
{
	if (kernel_ns) {
		long long until = __atomic_load_n(&busy_until, __ATOMIC_RELAXED);
		struct timespec t = { until / 1000000000, until % 1000000000 };
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
			;
	}
	return runtime_context();
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
	return work_drain();
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
	return work_drain();
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
	return work_drain();
}

RUNTIME cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, CUstream stream)
{
	(void)to, (void)from, (void)bytes, (void)kind, (void)stream;
	return runtime_context();
}

RUNTIME cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
					CUstream stream)
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

RUNTIME void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit,
				    void *tid, void *bid, void *block, void *grid, int *warp)
{
	(void)handle, (void)host, (void)device, (void)name, (void)limit, (void)tid, (void)bid, (void)block, (void)grid,
		(void)warp;
}

RUNTIME void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t size,
			       int constant, int global)
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

RUNTIME cudaError_t cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments,
				     size_t shared, CUstream stream)
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
	*a = (struct function_attributes){
		.threads_per_block = 1024, .registers = 32, .ptx = 90, .binary = 90, .dynamic_shared = 48 << 10
	};
	return 0;
}

RUNTIME cudaError_t cudaFuncSetAttribute(const void *function, int attribute, int value)
{
	(void)function, (void)attribute, (void)value;
	return 0;
}

RUNTIME cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int size,
									   size_t shared, unsigned flags)
{
	(void)function, (void)size, (void)shared, (void)flags;
	*blocks = 2;
	return 0;
}
