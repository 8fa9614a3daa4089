/* Takes memory and gives it back, again and again; the time is taken here, so that no Python is in it. */
#include <stddef.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Nanoseconds for a cuMemAlloc_v2 with its cuMemFree_v2, or -1. */
double driver_pairs(int pairs, int (*take)(unsigned long long *, size_t), int (*give)(unsigned long long))
{
	double start = now();

	for (int i = 0; i < pairs; i++) {
		unsigned long long p;

		if (take(&p, 1 << 20) || give(p))
			return -1;
	}
	return (now() - start) / pairs;
}

/* The same for a caching allocator that reports its totals. */
double tensor_pairs(int pairs, void *(*take)(int, size_t), void (*give)(void *))
{
	double start = now();

	for (int i = 0; i < pairs; i++) {
		void *p = take(0, 1 << 20);

		if (!p)
			return -1;
		give(p);
	}
	return (now() - start) / pairs;
}
