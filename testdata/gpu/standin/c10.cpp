/* libc10.so: the two functions PyTorch's allocators report to. They ignore their arguments. */
#include "c10.h"

#define EXPORT __attribute__((visibility("default"), noinline))

namespace c10 {

/* As without a profiler: the real ones check whether this thread has one, too, and find none. */
__attribute__((noinline)) static void *profiler()
{
	static thread_local void *none;

	asm volatile("" ::: "memory");
	return none;
}

EXPORT void reportMemoryUsageToProfiler(void *, int64_t, size_t, size_t, Device)
{
	if (profiler())
		__builtin_trap();
}

EXPORT void reportOutOfMemoryToProfiler(int64_t, size_t, size_t, Device)
{
	if (profiler())
		__builtin_trap();
}

}
