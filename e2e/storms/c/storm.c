// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * storm NAME ROUNDS [NAME ROUNDS ...]: processes and threads that begin, execute programs and end at the same time, and
 * know what they have at their highest.
 *
 *   exits    processes with threads end at once: exit_group by either thread, SIGKILL, each thread by itself
 *   forks    threads of one process fork at once, what they forked forks again, and some leave orphans
 *   execs    threads execute a program at once, not all of them leaders, and some behind vfork
 *   threads  threads of one process begin, take memory, give it back and end
 *
 * In each round all processes reach their highest, read it (Rss of smaps_rollup, a walk of the page tables, and VmData)
 * and wait for each other; then they let go and end. One round is higher than all others: that is the tree's peak.
 * To REPORT go lines, each in one write:
 *
 *   peak ROUND PID RESIDENT MAPPED    bytes that a process has at its highest
 *   end PROCESSES                     how many there were, the first one included
 *
 * Nothing faults but what is meant to: text, data and stacks are made resident when a process begins.
 */
#include "life.h"

/* What the first process does once the others of this round are under way: it takes its own, and lets them go, all at
 * once or one after the other. */
static void see_round_through(int others)
{
	static int all;
	int pages = is_highest() ? HIGHEST_PAGES : 1;

	all += others;
	wait_for(&shared->ready, all);
	char *m = take(pages);
	report();
	for (int i = 0; round_now % 2 && i < others - 1; i++) {
		set(&shared->released, turn(i));
		wait(NULL);
	}
	set(&shared->released, turn(MOST_PROCESSES - 1));
	while (wait(NULL) > 0) /* orphans, too: this process is their subreaper */
		;
	munmap(m, pages * PAGE);
}

static void exits(void)
{
	enum { N = 3 };

	for (int i = 0; i < N; i++)
		if (!fork())
			live(i, 1 + i);
	see_round_through(N);
}

static void *forks_once(void *index)
{
	count(&up);
	wait_for(&go, 1);
	pid_t child = fork();
	if (child)
		return (void *)(long)child;
	atomic_store(&go, 0);
	pid_t grandchild = fork();
	if (!grandchild)
		live((long)index + 4, 1);
	live((long)index, 1);
	return NULL;
}

static void forks(void)
{
	enum { N = 4 };
	pthread_t threads[N];

	atomic_store(&up, 0);
	atomic_store(&go, 0);
	for (long i = 0; i < N; i++)
		start_thread(i, forks_once, i, &threads[i]);
	wait_for(&up, N);
	set(&go, 1);
	for (int i = 0; i < N; i++) {
		void *child;
		pthread_join(threads[i], &child);
		check((long)child > 0, "fork");
	}
	see_round_through(2 * N);
}

static void execute(int index)
{
	char numbers[4][16];
	int all[4] = { shared_fd, round_now, highest_round, index };

	for (int i = 0; i < 4; i++)
		snprintf(numbers[i], sizeof(numbers[i]), "%d", all[i]);
	execl("/proc/self/exe", "storm", "leaf", numbers[0], numbers[1], numbers[2], numbers[3], NULL);
	check(false, "exec");
}

static void *executes(void *index)
{
	count(&shared->starting);
	wait_for(&shared->started, round_now);
	execute((long)index);
	return NULL;
}

static void execs(void)
{
	enum { N = 4 };
	static int starting;

	for (long i = 0; i < N - 1; i++) {
		if (fork())
			continue;
		settle();
		take(16);
		start_thread(1, ends_with_its_process, KINDS_OF_END, NULL);
		/* The last thread to begin: while one executes a program, the others cannot start any. */
		start_thread(0, i % 2 ? executes : ends_with_its_process, i, NULL);
		if (i % 2 == 0)
			executes((void *)i);
		for (;;)
			pause();
	}
	starting += N - 1;
	wait_for(&shared->starting, starting);
	set(&shared->started, round_now);
	if (!vfork())
		execute(N - 1);
	see_round_through(N);
}

static void *takes_and_gives(void *index)
{
	int pages = (is_highest() ? HIGHEST_PAGES : PAGES) + (long)index;

	wait_for(&go, 1);
	char *m = take(pages);
	count(&holding);
	if (is_highest())
		wait_for(&shared->released, turn(0));
	munmap(m, pages * PAGE);
	return NULL;
}

static void threads(void)
{
	pthread_t all[MOST_THREADS];

	atomic_store(&go, 0);
	atomic_store(&holding, 0);
	for (long i = 0; i < MOST_THREADS; i++)
		start_thread(i, takes_and_gives, i, &all[i]);
	set(&go, 1);
	wait_for(&holding, MOST_THREADS);
	if (is_highest())
		report();
	set(&shared->released, turn(0));
	for (int i = 0; i < MOST_THREADS; i++)
		pthread_join(all[i], NULL);
}

static const struct storm {
	const char *name;
	void (*round)(void);
	int processes; /* of a round */
} storms[] = { { "exits", exits, 3 }, { "forks", forks, 8 }, { "execs", execs, 4 }, { "threads", threads, 0 } };

static void begin(void)
{
	int fd = memfd_create("storm", 0);

	setpgid(0, 0);
	check(fd >= 0 && !ftruncate(fd, PAGE), "memfd");
	share(fd);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	settle();
}

/* Runs a storm. Rounds are numbered through all storms. Returns how many processes there were. */
static int run(const char *name, int rounds)
{
	int last = round_now + rounds;

	for (size_t i = 0; i < sizeof(storms) / sizeof(storms[0]); i++) {
		if (strcmp(name, storms[i].name))
			continue;
		for (highest_round = round_now + (rounds + 1) / 2; round_now < last;) {
			round_now++;
			storms[i].round();
		}
		return rounds * storms[i].processes;
	}
	fprintf(stderr, "storm: there is no %s\n", name);
	exit(2);
}

/* Ends the first process, which has threads, too. */
static void finish(int processes)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "end %d\n", processes);

	check(write(REPORT, line, n) == n, "report");
	atomic_store(&up, 0);
	round_now = index_now = 0;
	for (long t = 0; t < 3; t++)
		start_thread(t, ends_with_its_process, t * KINDS_OF_END + BY_MAIN, NULL);
	wait_for(&up, 3);
	end_with_threads(BY_MAIN);
}

int main(int n, char **arguments)
{
	int processes = 1;

	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (n == 6 && !strcmp(arguments[1], "leaf")) {
		round_now = atoi(arguments[3]);
		highest_round = atoi(arguments[4]);
		share(atoi(arguments[2]));
		live(atoi(arguments[5]), 2);
	}
	if (n < 3 || n % 2 == 0) {
		fprintf(stderr, "usage: storm exits|forks|execs|threads ROUNDS [...]\n");
		return 2;
	}
	begin();
	for (int i = 1; i < n; i += 2)
		processes += run(arguments[i], atoi(arguments[i + 1]));
	finish(processes);
}
