// A library that takes memory as NumPy does (it tells PyTraceMalloc_Track of each block), from C++ functions that call
// one another, and asks libgcc's backtrace() each time who called: the truth. Nothing here knows the tracer.
//
// calls_truth(FILE) has every block written to FILE as a line of JSON: [size, [[module, symbol or null], …]]. The
// innermost call is the first.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>

extern "C" int PyTraceMalloc_Track(unsigned domain, uintptr_t address, size_t size);

#define BARRIER asm volatile("" ::: "memory") // no tail calls
#define NOINLINE __attribute__((noinline))

static FILE *truth;
static const unsigned numpy = 389047; // NPY_TRACE_DOMAIN

// Other libraries than this one have only their file: their symbols may merely come before an address.
static void write_down(size_t size, void *const *calls, int count)
{
	fprintf(truth, "[%zu, [", size);
	for (int i = 0; i < count; i++) {
		Dl_info info = {};
		dladdr((char *)calls[i] - 1, &info);
		char *file = info.dli_fname ? realpath(info.dli_fname, NULL) : NULL;
		fprintf(truth, "%s[\"%s\", ", i ? ", " : "", file ? strrchr(file, '/') + 1 : "");
		if (file && strstr(file, "libcalls") && info.dli_sname)
			fprintf(truth, "\"%s\"]", info.dli_sname);
		else
			fprintf(truth, "null]");
		free(file);
	}
	fprintf(truth, "]]\n");
	fflush(truth);
}

namespace calls
{
template <typename T> struct Pool {
	NOINLINE T *take(size_t size);
};

// Its own frame is the first of backtrace()'s; PyTraceMalloc_Track is called from here as well.
template <typename T> T *Pool<T>::take(size_t size)
{
	void *calls[120], *block = malloc(size);
	int count = backtrace(calls, 120);
	write_down(size, calls, count);
	PyTraceMalloc_Track(numpy, (uintptr_t)block, size);
	BARRIER;
	return (T *)block;
}

NOINLINE void *aligned(size_t size)
{
	alignas(64) volatile char block[128];
	block[size & 127] = 1;
	void *taken = Pool<float>().take(size + block[size & 127] - 1);
	BARRIER;
	return taken;
}

NOINLINE void *nested(size_t size, int depth)
{
	volatile char room[64];
	room[depth & 63] = 1;
	void *taken = depth ? nested(size, depth - 1) : aligned(size);
	BARRIER;
	return taken;
}
}

extern "C" {
void calls_truth(const char *path)
{
	void *calls[4];
	truth = fopen(path, "w");
	if (!truth)
		abort();
	backtrace(calls, 4); // loads libgcc
}

void *calls_take(size_t size, int depth)
{
	void *taken = calls::nested(size, depth);
	BARRIER;
	return taken;
}

void *calls_thread_main(void *size)
{
	void *taken = calls_take((size_t)size, 3);
	BARRIER;
	return taken;
}

// In a thread that Python knows nothing of.
void calls_thread(size_t size)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, calls_thread_main, (void *)size) || pthread_join(thread, NULL))
		abort();
}
}
