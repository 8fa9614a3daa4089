/* The hardest loads for a memory tracer. Every function returns the nanoseconds of one operation. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* One page fault after the other; the mapping and unmapping of `pages` pages is a small part of it. */
double fault_storm(long pages, long rounds)
{
	double start = now();

	for (long r = 0; r < rounds; r++) {
		char *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED || madvise(p, pages * PAGE, MADV_NOHUGEPAGE))
			return -1;
		for (long i = 0; i < pages; i++)
			((volatile char *)p)[i * PAGE] = 1;
		munmap(p, pages * PAGE);
	}
	return (now() - start) / (pages * rounds);
}

/* Mappings that are never touched. */
double map_storm(long rounds)
{
	double start = now();

	for (long r = 0; r < rounds; r++) {
		void *p = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED || munmap(p, 16 * PAGE))
			return -1;
	}
	return (now() - start) / rounds;
}

double call_storm(long rounds)
{
	double start = now();

	for (long r = 0; r < rounds; r++)
		syscall(SYS_getppid);
	return (now() - start) / rounds;
}

double spawn_storm(long rounds)
{
	char *arguments[] = { "/bin/true", NULL };
	double start = now();

	for (long r = 0; r < rounds; r++) {
		int status;
		pid_t child = fork();
		if (child < 0)
			return -1;
		if (!child) {
			execv(arguments[0], arguments);
			_exit(127);
		}
		if (waitpid(child, &status, 0) != child || status)
			return -1;
	}
	return (now() - start) / rounds;
}

#define NUMPY_DOMAIN 389047 /* numpy/core/src/multiarray/alloc.c */

static int (*track)(unsigned, uintptr_t, size_t);
static int (*untrack)(unsigned, uintptr_t);

/* Says that memory was taken, as NumPy does, `depth` calls deeper. */
static __attribute__((noinline)) long deeper(long depth)
{
	long result = depth ? deeper(depth - 1) : track(NUMPY_DOMAIN, 4096, 1000);

	__asm__ volatile("" ::: "memory"); /* no tail call */
	return result;
}

double native_storm(long rounds, long depth)
{
	if (!track) {
		track = (int (*)(unsigned, uintptr_t, size_t))dlsym(RTLD_DEFAULT, "PyTraceMalloc_Track");
		untrack = (int (*)(unsigned, uintptr_t))dlsym(RTLD_DEFAULT, "PyTraceMalloc_Untrack");
		if (!track || !untrack)
			return -1;
	}
	double start = now();

	for (long r = 0; r < rounds; r++) {
		deeper(depth);
		untrack(NUMPY_DOMAIN, 4096);
	}
	return (now() - start) / rounds;
}
