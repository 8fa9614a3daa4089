/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sums CHILDREN: a process takes pages and gives them back without a pause, on a processor of its own, while its parent
 * has children, each of which draws boundaries. Each line that the parent reads is a round of CHILDREN; it says "still"
 * when nothing moves any more, until the next line.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES = 64, PAGE = 4096, THREADS = 2 };

static struct {
	atomic_int round; /* that they move in */
	atomic_int over;  /* the last round that has ended */
	atomic_int still; /* threads that have seen so, of all rounds */
	atomic_int moved; /* times, of all rounds */
} * shared;

static void fail(const char *what)
{
	perror(what);
	_exit(99);
}

static void run_on(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu % (int)sysconf(_SC_NPROCESSORS_ONLN), &one);
	sched_setaffinity(0, sizeof(one), &one); /* that one may not be ours: then any will do */
}

static void *moves(void *number)
{
	run_on(1 + (int)(long)number);
	char *m = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m == MAP_FAILED)
		fail("mmap");
	for (int round = 1;; round++) {
		while (atomic_load(&shared->round) < round)
			usleep(100);
		for (int n = 0; atomic_load(&shared->over) < round; n++) {
			for (int i = 0; i < PAGES; i++)
				m[i * PAGE] = 1;
			if (n % 3 && madvise(m, PAGES / 2 * PAGE, MADV_DONTNEED))
				fail("madvise");
			atomic_fetch_add(&shared->moved, 1);
		}
		if (madvise(m, (round % PAGES) * PAGE, MADV_DONTNEED))
			fail("madvise");
		atomic_fetch_add(&shared->still, 1);
	}
	return NULL;
}

static void child(void)
{
	pthread_t other;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == 1)
		_exit(1);
	for (long i = 1; i < THREADS; i++)
		if (pthread_create(&other, NULL, moves, (void *)i))
			fail("pthread_create");
	moves(0);
}

int main(int n, char **arguments)
{
	char line[64];

	if (n != 2)
		return 2;
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (shared == MAP_FAILED)
		fail("mmap");
	printf("ready\n");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	run_on(0);
	if (!fork())
		child();
	for (int round = 1; fgets(line, sizeof(line), stdin); round++) {
		int before = atomic_load(&shared->moved);
		atomic_store(&shared->round, round);
		while (atomic_load(&shared->moved) < before + THREADS)
			sched_yield();
		for (int i = 0; i < atoi(arguments[1]); i++) {
			pid_t p = fork();
			if (!p)
				_exit(0);
			if (p < 0 || waitpid(p, NULL, 0) != p)
				fail("fork");
		}
		atomic_store(&shared->over, round);
		while (atomic_load(&shared->still) < round * THREADS)
			usleep(100);
		printf("still\n");
		fflush(stdout);
	}
	return 0; /* the child ends with it */
}
