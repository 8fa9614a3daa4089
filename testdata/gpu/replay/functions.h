/*
 * The functions that occur in the recordings: identifier, name, whether the first argument points to where a result of
 * eight bytes goes. A function's number is its place in this list, CUDA first, then the runtime, then c10; the C
 * sources and libraries.py read the numbers from here.
 */
#define CUDA_FUNCTIONS(F) \
	F(cuCtxSetCurrent, 0) \
	F(cuDevicePrimaryCtxRetain, 1) \
	F(cuMemAddressReserve, 1) \
	F(cuMemAllocAsync, 1) \
	F(cuMemAlloc_v2, 1) \
	F(cuMemCreate, 1) \
	F(cuMemFreeAsync, 0) \
	F(cuMemFreeHost, 0) \
	F(cuMemFree_v2, 0) \
	F(cuMemHostAlloc, 1) \
	F(cuMemMap, 0) \
	F(cuMemPoolTrimTo, 0) \
	F(cuMemRelease, 0) \
	F(cuMemUnmap, 0)

#define CUDART_FUNCTIONS(F) \
	F(cudaFree, 0) \
	F(cudaFreeAsync, 0) \
	F(cudaFreeHost, 0) \
	F(cudaHostAlloc, 1) \
	F(cudaMalloc, 1) \
	F(cudaMallocAsync, 1) \
	F(cudaSetDevice, 0)

#define C10_FUNCTIONS(F) \
	F(_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE, 0) \
	F(_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE, 0)

#define ID(name, out) ID_##name,
enum function { CUDA_FUNCTIONS(ID) CUDART_FUNCTIONS(ID) C10_FUNCTIONS(ID) FUNCTIONS_END };
#undef ID
