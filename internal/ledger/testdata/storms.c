/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * storms KIND ROUNDS THREADS: processes that begin and end at once, on every processor that there is. Prints "ready",
 * begins when it has read a line, prints "done" and how its children ended in all, and waits for the end of its input.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PEAK (8 << 20) /* bytes that each process of `killed` has had when it ends */

static int threads;
static char **arguments;
static atomic_int up, go;

static void fail(const char *what)
{
	perror(what);
	_exit(99);
}

/*
 * Threads that are to end at the same time run, the first ones each on a processor of its own, where nothing keeps them
 * waiting.
 */
static int real_time(int n)
{
	struct sched_param p = { .sched_priority = 1 };
	cpu_set_t one;

	if (n >= sysconf(_SC_NPROCESSORS_ONLN))
		return 0;
	CPU_ZERO(&one);
	CPU_SET(n, &one);
	sched_setaffinity(0, sizeof(one), &one);
	sched_setscheduler(0, SCHED_FIFO, &p); /* without the right to it, it takes more rounds */
	return 1;
}

static void *runs(void *n)
{
	int alone = real_time((int)(long)n);

	atomic_fetch_add(&up, 1);
	while (!atomic_load(&go))
		if (alone)
			__builtin_ia32_pause();
		else
			usleep(100);
	syscall(SYS_exit, 5);
	return NULL;
}

static void *executes(void *n)
{
	char *const v[] = { arguments[0], "nothing", "0", "0", NULL };
	(void)n;
	atomic_fetch_add(&up, 1);
	while (atomic_load(&up) < threads)
		usleep(50);
	execv("/proc/self/exe", v);
	fail("execv");
	return NULL;
}

static void *returns(void *n)
{
	return n;
}

static void start(void *(*what)(void *), int n)
{
	pthread_t thread;
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	if (pthread_create(&thread, &small, what, (void *)(long)n))
		fail("pthread_create");
	pthread_detach(thread);
}

static void wait_for(int n)
{
	while (atomic_load(&up) < n)
		sched_yield(); /* those that are to come may have this processor, too */
}

static void touch(size_t size)
{
	char *m = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m == MAP_FAILED)
		fail("mmap");
	for (size_t i = 0; i < size; i += 4096)
		m[i] = 1;
	munmap(m, size);
}

/* All threads are killed at once. */
static void killed(void)
{
	touch(PEAK);
	real_time(0);
	for (int i = 1; i <= threads; i++)
		start(runs, i);
	wait_for(threads);
	syscall(SYS_exit_group, 0);
}

/* Each ends by itself, the first one, too. */
static void each(void)
{
	real_time(0);
	for (int i = 1; i <= threads; i++)
		start(runs, i);
	wait_for(threads);
	atomic_store(&go, 1);
	syscall(SYS_exit, 5);
}

/* Another thread than the first one executes a program, which ends the others and takes the first one's number. */
static void execs(void)
{
	for (int i = 1; i < threads; i++)
		start(runs, 1 << 16);
	start(executes, 0);
	for (;;)
		pause();
}

/* Processes fork at the same time as others end. */
static void forks(void)
{
	for (int i = 0; i < threads; i++) {
		if (!fork()) {
			touch(1 << 16);
			if (!fork())
				_exit(0);
			wait(NULL);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	_exit(0);
}

/* Threads come and go while processes are forked. */
static void *forking(void *n)
{
	for (int i = 0; i < 4; i++) {
		pid_t p = fork();
		if (!p)
			_exit(0);
		waitpid(p, NULL, 0);
	}
	return n;
}

static void together(void)
{
	pthread_t all[64];
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < threads && i < 64; i++)
			if (pthread_create(&all[i], NULL, i % 2 ? returns : forking, NULL))
				fail("pthread_create");
		for (int i = 0; i < threads && i < 64; i++)
			pthread_join(all[i], NULL);
	}
	_exit(0);
}

int main(int n, char **v)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {
		{ "killed", killed }, { "each", each }, { "execs", execs }, { "forks", forks }, { "together", together },
	};
	void (*run)(void) = NULL;
	char line[64];

	if (n != 4)
		return 2;
	if (!strcmp(v[1], "nothing"))
		return 0;
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(v[1], kinds[i].name))
			run = kinds[i].run;
	if (!run)
		return 2;
	arguments = v;
	threads = atoi(v[3]);
	printf("ready\n");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	int sum = 0;
	for (int i = 0; i < atoi(v[2]); i++) {
		int status = 0;
		pid_t p = fork();
		if (!p)
			run();
		if (p < 0 || waitpid(p, &status, 0) != p)
			fail("fork");
		sum += status;
	}
	printf("done %d\n", sum);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
