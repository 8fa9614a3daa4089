/*
 * libcudart: the runtime API on top of the driver's. Like the real one it opens libcuda.so.1 when it is first needed,
 * gets every function from cuGetProcAddress, retains the device's primary context and makes it current, and each of its
 * functions calls the driver on the same thread. The calls were seen on driver 580 with CUDA 13.
 *
 * Compiled twice: into libcudart.so.12, and hidden into libstatic_app.so (-DHIDDEN), as cudart_static is in CuPy.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime_driver.h"

#ifdef PER_THREAD_STREAM
enum { FLAGS = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM };
#else
enum { FLAGS = 0 };
#endif
enum { NO_DRIVER = 35 };	/* cudaErrorInsufficientDriver */

struct driver cu;

static const struct {
	const char *name;
	void *to;
} wanted[] = {
	{ "cuInit", &cu.Init },
	{ "cuDeviceGetCount", &cu.DeviceGetCount },
	{ "cuDeviceGetPCIBusId", &cu.DeviceGetPCIBusId },
	{ "cuDevicePrimaryCtxRetain", &cu.DevicePrimaryCtxRetain },
	{ "cuDevicePrimaryCtxReset", &cu.DevicePrimaryCtxReset },
	{ "cuCtxGetCurrent", &cu.CtxGetCurrent },
	{ "cuCtxSetCurrent", &cu.CtxSetCurrent },
	{ "cuCtxGetDevice", &cu.CtxGetDevice },
	{ "cuMemGetInfo", &cu.MemGetInfo },
	{ "cuMemAlloc", &cu.MemAlloc },
	{ "cuMemAllocPitch", &cu.MemAllocPitch },
	{ "cuMemAllocManaged", &cu.MemAllocManaged },
	{ "cuMemFree", &cu.MemFree },
	{ "cuMemAllocAsync", &cu.MemAllocAsync },
	{ "cuMemFreeAsync", &cu.MemFreeAsync },
	{ "cuMemHostAlloc", &cu.MemHostAlloc },
	{ "cuMemFreeHost", &cu.MemFreeHost },
	{ "cuMemHostRegister", &cu.MemHostRegister },
	{ "cuMemHostUnregister", &cu.MemHostUnregister },
	{ "cuArray3DCreate", &cu.Array3DCreate },
	{ "cuArrayDestroy", &cu.ArrayDestroy },
	{ "cuMipmappedArrayCreate", &cu.MipmappedArrayCreate },
	{ "cuMipmappedArrayDestroy", &cu.MipmappedArrayDestroy },
	{ "cuDeviceGetDefaultMemPool", &cu.DeviceGetDefaultMemPool },
	{ "cuMemPoolTrimTo", &cu.MemPoolTrimTo },
	{ "cuMemPoolSetAttribute", &cu.MemPoolSetAttribute },
	{ "cuMemPoolGetAttribute", &cu.MemPoolGetAttribute },
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static cudaError_t opened = -1;
static CUcontext retained[64];	/* by ordinal */
static __thread int device;

static cudaError_t open_driver(void)
{
	CUresult (*get)(const char *, void **, int, uint64_t, int *);
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	if (!driver)
		return NO_DRIVER;
	*(void **)&get = dlsym(driver, "cuGetProcAddress_v2");
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		if (!get || get(wanted[i].name, wanted[i].to, RUNTIME_VERSION, FLAGS, NULL))
			return NO_DRIVER;
	return cu.Init(0);
}

static cudaError_t driver(void)
{
	pthread_mutex_lock(&mutex);
	if (opened == -1)
		opened = open_driver();
	pthread_mutex_unlock(&mutex);
	return opened;
}

/* The primary context of this thread's device, retained once a process. */
static cudaError_t primary(CUcontext *context)
{
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&mutex);
	if (!retained[device])
		r = cu.DevicePrimaryCtxRetain(&retained[device], device);
	*context = retained[device];
	pthread_mutex_unlock(&mutex);
	return r;
}

/* A context that the program made current itself is used as it is. */
cudaError_t runtime_context(void)
{
	CUcontext current = NULL;
	cudaError_t r = driver();

	if (!r)
		r = cu.CtxGetCurrent(&current);
	if (r || current)
		return r;
	r = primary(&current);
	return r ? r : cu.CtxSetCurrent(current);
}

/* ---- devices --------------------------------------------------------------------------------------------------- */

RUNTIME cudaError_t cudaGetDeviceCount(int *count)
{
	cudaError_t r = driver();

	*count = 0;
	return r ? r : cu.DeviceGetCount(count);
}

RUNTIME cudaError_t cudaGetDevice(int *ordinal)
{
	CUcontext current;
	cudaError_t r = driver();

	*ordinal = device;
	if (!r && !cu.CtxGetCurrent(&current) && current)
		cu.CtxGetDevice(ordinal);
	return r;
}

/* Since CUDA 12 it initialises the device and makes it current at once. */
RUNTIME cudaError_t cudaSetDevice(int ordinal)
{
	CUcontext current;
	int count = 0, before = device;
	cudaError_t r = driver();

	if (!r)
		r = cu.DeviceGetCount(&count);
	if (r)
		return r;
	if (ordinal < 0 || ordinal >= count)
		return CUDA_ERROR_INVALID_DEVICE;
	device = ordinal;
	r = primary(&current);
	if (!r)
		r = cu.CtxSetCurrent(current);
	if (r)
		device = before;
	return r;
}

RUNTIME cudaError_t cudaDeviceGetPCIBusId(char *text, int length, int ordinal)
{
	cudaError_t r = driver();

	return r ? r : cu.DeviceGetPCIBusId(text, length, ordinal);
}

RUNTIME cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
	cudaError_t r = runtime_context();

	return r ? r : cu.MemGetInfo(free, total);
}

RUNTIME cudaError_t cudaDeviceReset(void)
{
	cudaError_t r = driver();

	return r ? r : cu.DevicePrimaryCtxReset(device);
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

RUNTIME cudaError_t cudaMalloc(void **address, size_t bytes)
{
	CUdeviceptr p = 0;
	cudaError_t r = runtime_context();

	if (!r && bytes)	/* nothing asked for: no error, no address */
		r = cu.MemAlloc(&p, bytes);
	if (!r)
		*address = (void *)p;
	return r;
}

RUNTIME cudaError_t cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height)
{
	CUdeviceptr p = 0;
	cudaError_t r = runtime_context();

	if (!r)
		r = cu.MemAllocPitch(&p, pitch, width, height, 4);
	if (!r)
		*address = (void *)p;
	return r;
}

RUNTIME cudaError_t cudaMallocManaged(void **address, size_t bytes, unsigned flags)
{
	CUdeviceptr p = 0;
	cudaError_t r = runtime_context();

	if (!r)
		r = cu.MemAllocManaged(&p, bytes, flags);
	if (!r)
		*address = (void *)p;
	return r;
}

/* cudaFree(0) is how programs initialise the runtime: the driver's function is called with 0. */
RUNTIME cudaError_t cudaFree(void *address)
{
	cudaError_t r = runtime_context();

	return r ? r : cu.MemFree((CUdeviceptr)address);
}

RUNTIME cudaError_t cudaMallocAsync(void **address, size_t bytes, CUstream stream)
{
	CUdeviceptr p = 0;
	cudaError_t r = runtime_context();

	if (!r)
		r = cu.MemAllocAsync(&p, bytes, stream);
	if (!r)
		*address = (void *)p;
	return r;
}

RUNTIME cudaError_t cudaFreeAsync(void *address, CUstream stream)
{
	cudaError_t r = runtime_context();

	return r ? r : cu.MemFreeAsync((CUdeviceptr)address, stream);
}

RUNTIME cudaError_t cudaHostAlloc(void **address, size_t bytes, unsigned flags)
{
	cudaError_t r = runtime_context();

	return r ? r : cu.MemHostAlloc(address, bytes, flags);
}

RUNTIME cudaError_t cudaMallocHost(void **address, size_t bytes)
{
	cudaError_t r = runtime_context();

	return r ? r : cu.MemHostAlloc(address, bytes, 0);
}

RUNTIME cudaError_t cudaFreeHost(void *address)
{
	cudaError_t r = runtime_context();

	return r ? r : address ? cu.MemFreeHost(address) : 0;
}

RUNTIME cudaError_t cudaHostRegister(void *address, size_t bytes, unsigned flags)
{
	cudaError_t r = runtime_context();

	return r ? r : cu.MemHostRegister(address, bytes, flags);
}

RUNTIME cudaError_t cudaHostUnregister(void *address)
{
	cudaError_t r = runtime_context();

	return r ? r : cu.MemHostUnregister(address);
}
