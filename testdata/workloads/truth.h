/* Shared by truth.c (readings and marks) and the helpers that take memory. What this is for: see truth.c. */
#pragma once

#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/stat.h>
#include <linux/time_types.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum {
	LABEL = 40,		/* bytes of a mark's label, with its end */
};

extern long syscall(long number, ...);

/* Page exact everywhere; takes milliseconds. */
void truth_mark(const char *label);
/* By the counters alone where they are exact: microseconds. For blips. */
void truth_mark_fast(const char *label);

static inline void sys_close(int fd) { syscall(SYS_close, fd); }
static inline int sys_open(const char *path, int flags, int mode)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
static inline void *sys_mmap(size_t size, int protection, int flags, int fd)
{
	return (void *)syscall(SYS_mmap, 0, size, protection, flags, fd, 0);
}
static inline void *map(size_t size) { return sys_mmap(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1); }
static inline void unmap(void *p, size_t size) { syscall(SYS_munmap, p, size); }

static inline int64_t now(void)
{
	struct __kernel_timespec t;

	syscall(SYS_clock_gettime, 1, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static inline void rest(int64_t ns)
{
	struct __kernel_timespec t = { ns / 1000000000LL, ns % 1000000000LL };

	if (ns > 0)
		syscall(SYS_nanosleep, &t, 0);
}

static inline void touch(void *p, size_t size, size_t step)
{
	for (size_t i = 0; i < size; i += step)
		((volatile char *)p)[i] = 1;
}

static inline char *put(char *to, const char *s)
{
	while (*s)
		*to++ = *s++;
	return to;
}
