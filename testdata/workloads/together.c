/* As take.c, with threads and with children. */
#include "edges.h"

typedef unsigned long pthread_t_;	/* as in every libc; the header would bind to one of them */
extern int pthread_create(pthread_t_ *, const void *, void *(*)(void *), void *);
extern int pthread_join(pthread_t_, void **);

enum { MAX_THREADS = 64 };

struct gang {
	size_t bytes;
	int arrived, leave;
	int failed;
};

static void *gang_member(void *argument)
{
	struct gang *g = argument;
	void *p = map(g->bytes);

	if (p == MAP_FAILED)
		__atomic_store_n(&g->failed, 1, __ATOMIC_RELAXED);
	else
		touch(p, g->bytes, 4096);
	__atomic_fetch_add(&g->arrived, 1, __ATOMIC_ACQ_REL);
	while (!__atomic_load_n(&g->leave, __ATOMIC_ACQUIRE))
		syscall(SYS_sched_yield);
	if (p != MAP_FAILED)
		unmap(p, g->bytes);
	return 0;
}

/* n threads write `bytes` each at the same time; marked when the last has arrived, before any may go on. */
int threads(const char *label, int n, size_t bytes)
{
	EDGES(label);
	struct gang g = { .bytes = bytes };
	pthread_t_ ids[MAX_THREADS];
	int started = 0;

	while (started < n && started < MAX_THREADS && pthread_create(&ids[started], 0, gang_member, &g) == 0)
		started++;
	while (__atomic_load_n(&g.arrived, __ATOMIC_ACQUIRE) < started)
		syscall(SYS_sched_yield);
	truth_mark(label);
	__atomic_store_n(&g.leave, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < started; i++)
		pthread_join(ids[i], 0);
	return started == n && !g.failed ? 0 : -1;
}

/* The parent fills `bytes` and forks; the child writes the first half (copies appear, nothing new is mapped), then maps
 * and writes as much again as that half, marks and is gone. Marks: parent, child-born, child-cow, child. */
int fork_cow(const char *parent, const char *born, const char *copied, const char *child, size_t bytes)
{
	EDGES(parent);
	char *p = map(bytes), *q;
	long pid;
	int status = 0;

	if (p == MAP_FAILED)
		return -1;
	touch(p, bytes, 4096);
	truth_mark(parent);
#if defined(__aarch64__)
	pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#else
	pid = syscall(SYS_fork);
#endif
	if (pid == 0) {
		truth_mark(born);
		touch(p, bytes / 2, 4096);
		truth_mark(copied);
		q = map(bytes / 2);
		if (q != MAP_FAILED)
			touch(q, bytes / 2, 4096);
		truth_mark(child);
		syscall(SYS_exit_group, q == MAP_FAILED);
	}
	if (pid > 0)
		syscall(SYS_wait4, pid, &status, 0, 0);
	unmap(p, bytes);
	return pid > 0 && status == 0 ? 0 : -1;
}
