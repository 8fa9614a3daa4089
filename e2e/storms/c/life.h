// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What a process of a storm does: it waits for the others, makes resident what it needs, takes memory and says how much
 * it has, and ends. Nothing faults but what is meant to: text, data and stacks are made resident when a process begins.
 */
#ifndef STORM_LIFE_H
#define STORM_LIFE_H
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REPORT = 3, PAGE = 4096, MOST_THREADS = 8, KINDS_OF_END = 4 };
enum { STACK = 128 << 10 }; /* PTHREAD_STACK_MIN of arm64 */
enum { PAGES = 64, HIGHEST_PAGES = 1024 };

/* What all processes of a storm share: through a descriptor, which outlives an exec. */
static struct shared {
	_Atomic int ready;    /* processes that have been at their highest, of all rounds */
	_Atomic int released; /* up to which process they may let go: the index of the last one, see turn() */
	_Atomic int starting; /* threads that wait to fork or to execute, of all rounds */
	_Atomic int started;  /* the last round in which they may */
} * shared;
static int cpus, shared_fd, round_now, highest_round, index_now;
static _Atomic int up, go, holding;
static char stacks[MOST_THREADS][STACK] __attribute__((aligned(PAGE)));
extern char __executable_start[], etext[], edata[], end[];

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	kill(0, SIGKILL); /* the storm has a process group of its own */
	_exit(1);
}

static void wait_for(_Atomic int *word, int value)
{
	for (int seen; (seen = atomic_load(word)) < value;)
		syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
}

static void wake(_Atomic int *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1 << 20, NULL, NULL, 0);
}

static void set(_Atomic int *word, int value)
{
	atomic_store(word, value);
	wake(word);
}

static void count(_Atomic int *word)
{
	atomic_fetch_add(word, 1);
	wake(word);
}

static long number_in(const char *file, const char *key)
{
	char text[4096];
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	check(fd >= 0, file);
	ssize_t n = 0, got;
	while (n < (ssize_t)sizeof(text) - 1 && (got = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
		n += got;
	close(fd);
	text[n] = 0;
	char *at = strstr(text, key);
	check(at, key);
	return strtol(at + strlen(key), NULL, 10) * 1024;
}

struct truth {
	long resident, mapped;
};

static struct truth now(void)
{
	return (struct truth){ number_in("/proc/self/smaps_rollup", "Rss:"),
			       number_in("/proc/self/status", "VmData:") };
}

/* Reads what this process has, until nothing moves any more. */
static int describe(char *line, size_t size)
{
	struct truth one = now(), two = now();

	while (one.resident != two.resident || one.mapped != two.mapped)
		one = two, two = now();
	return snprintf(line, size, "peak %d %d %ld %ld\n", round_now, getpid(), one.resident, one.mapped);
}

static void report(void)
{
	char line[128];
	int n = describe(line, sizeof(line));

	check(write(REPORT, line, n) == n, "report");
}

/* Makes everything resident that this process will use but does not take for its peak. */
static void settle(void)
{
	volatile char deep[16 << 10];
	char line[128];

	for (size_t i = 0; i < sizeof(deep); i += PAGE)
		deep[i] = 1;
	unsigned long text = (unsigned long)__executable_start & -PAGE, data = (unsigned long)edata & -PAGE;
	check(!madvise((void *)text, (unsigned long)etext - text, MADV_POPULATE_READ), "populate text");
	unsigned long behind = ((unsigned long)end + PAGE - 1) & -PAGE;
	check(!madvise((void *)data, behind - data, MADV_POPULATE_WRITE), "populate data");
	atomic_load(&shared->released);
	describe(line, sizeof(line)); /* and its constants */
}

static char *take(int pages)
{
	char *m = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(m != MAP_FAILED, "mmap");
	for (int i = 0; i < pages; i++)
		m[i * PAGE] = 1;
	return m;
}

static void start_thread(int i, void *(*run)(void *), long argument, pthread_t *id)
{
	pthread_attr_t attributes;
	pthread_t ignored;

	pthread_attr_init(&attributes);
	check(!pthread_attr_setstack(&attributes, stacks[i], STACK), "pthread_attr_setstack");
	check(!pthread_create(id ? id : &ignored, &attributes, run, (void *)argument), "pthread_create");
}

enum { MOST_PROCESSES = 16 }; /* of a round */

/* What `released` is when a process of this round may let go. */
static int turn(int index)
{
	return round_now * MOST_PROCESSES + index;
}

static bool is_highest(void)
{
	return round_now == highest_round;
}

/* How a process ends: by its main thread, by another one, by a signal, or with each thread's own end. */
enum ending { BY_MAIN, BY_ANOTHER, BY_SIGNAL, EACH };

/* Threads that are to end at once run on CPUs of their own, as far as there are. */
static void run_on(int number)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(number % cpus, &set);
	sched_setaffinity(0, sizeof(set), &set); /* that CPU may not be ours: then any will do */
}

/* Lets a processor wait for a moment, in a loop. */
static void rest(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("isb" ::: "memory");
#endif
}

static void *ends_with_its_process(void *argument)
{
	enum ending how = (long)argument % KINDS_OF_END;
	long index = (long)argument / KINDS_OF_END;

	run_on(index_now + index + 1);
	count(&up);
	wait_for(&shared->released, turn(index_now));
	if (how == EACH || (how == BY_ANOTHER && index == 0)) {
		wait_for(&go, 1);
		syscall(how == EACH ? SYS_exit : SYS_exit_group, 0);
	}
	for (int i = 0; index % 2 && i < 10000; i++) /* on a processor when the end comes; the others sleep */
		rest();
	for (;;)
		pause();
	return NULL;
}

static void end_with_threads(enum ending how)
{
	if (how == BY_MAIN)
		syscall(SYS_exit_group, 0);
	if (how == BY_SIGNAL)
		kill(getpid(), SIGKILL);
	set(&go, 1);
	if (how == EACH)
		syscall(SYS_exit, 0);
	for (;;) /* another thread ends it */
		pause();
}

/* A process's whole life: its threads, its highest, and its end. */
static void live(int index, int threads)
{
	enum ending how = (round_now + index) % KINDS_OF_END;

	settle();
	index_now = index;
	run_on(index);
	atomic_store(&up, 0);
	for (long t = 0; t < threads; t++)
		start_thread(MOST_THREADS - 1 - t, ends_with_its_process, t * KINDS_OF_END + how, NULL);
	wait_for(&up, threads);
	int pages = (is_highest() ? HIGHEST_PAGES : PAGES) + index;
	char *m = take(pages);
	report();
	count(&shared->ready);
	wait_for(&shared->released, turn(index));
	munmap(m, pages * PAGE);
	end_with_threads(how);
}

static void share(int fd)
{
	shared_fd = fd;
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	check(shared != MAP_FAILED, "share");
}

#endif
