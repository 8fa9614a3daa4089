/*
 * machine: asks the kernel what it does with memory, by doing it and reading the page tables (smaps of the one area).
 *
 * Kernels differ in it, and so do machines with the same kernel: in some a page that was only read is the zero page,
 * which is nobody's, in others it is a page of its own; one write makes 4 KiB resident, 64 KiB or 2 MiB; the counters
 * in /proc lag behind, or do not. What a cell of known memory holds is computed from these answers (model.py).
 *
 *   gcc -O2 -static -DPROGRAM -o machine machine.c      prints them as JSON
 */
#include "machine.h"
#include "text.h"
#include "truth.h"

typedef unsigned long pthread_t_;	/* as in together.c */
extern int pthread_create(pthread_t_ *, const void *, void *(*)(void *), void *);
extern int pthread_join(pthread_t_, void **);
extern void *malloc(size_t);
extern void free(void *);

enum {
	BUFFER = 32768,
	LINE = 192,
	WAIT_MS = 300,		/* the most for khugepaged */
	FREE_MS = 50,		/* for what reclaims memory that was given back lazily */
	SLEEP_MS = 1000,	/* khugepaged is waited for if it sleeps less than this between its rounds */
};

static char buffer[BUFFER];

/* An area of its own: its neighbours cannot be written, so the kernel merges it with none. */
struct area {
	char *whole, *p;
	size_t size;
};

static int area(struct area *a, size_t size)
{
	a->size = size;
	a->whole = sys_mmap(size + 2 * LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (a->whole == MAP_FAILED)
		return -1;
	a->p = (char *)(((uintptr_t)a->whole + LARGE) / LARGE * LARGE);
	return (int)syscall(SYS_mprotect, a->p, size, PROT_READ | PROT_WRITE);
}

static void leave(struct area *a) { unmap(a->whole, a->size + 2 * LARGE); }

static void look(const struct area *a)
{
	for (size_t i = 0; i < a->size; i += 4096)
		(void)((volatile char *)a->p)[i];
}

/* Reads a file line by line until `found`, and returns the number in that line; -1 if it is in none. */
static int64_t find(const char *path, int (*found)(const char *line, void *state), void *state)
{
	char line[LINE];
	size_t used = 0;
	long got;
	int64_t n = -1;
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);

	while (n < 0 && fd >= 0 && (got = syscall(SYS_read, fd, buffer, BUFFER)) > 0) {
		for (long i = 0; i < got && n < 0; i++) {
			if (buffer[i] != '\n') {
				if (used < LINE - 1)
					line[used++] = buffer[i];
				continue;
			}
			line[used] = 0;
			used = 0;
			if (found(line, state))
				n = kilobytes(line);
		}
	}
	if (fd >= 0)
		sys_close(fd);
	return n;
}

/* A mapping's header line begins with its addresses, its fields with a capital. */
static int is_rss(const char *line, void *state)
{
	uintptr_t *at = state;
	const char *s = line;

	if (line[0] < 'A' || line[0] > 'Z')
		at[1] = number(&s, 16) == at[0];
	return at[1] && starts(line, "Rss:");
}

static int64_t resident(const struct area *a)
{
	uintptr_t at[2] = { (uintptr_t)a->p, 0 };

	return find("/proc/self/smaps", is_rss, at);
}

static int is_counter(const char *line, void *state)
{
	(void)state;
	return starts(line, "RssAnon:");
}

static int64_t counted(void) { return find("/proc/self/status", is_counter, 0); }

static int any(const char *line, void *state)
{
	(void)state;
	return line[0] >= '0' && line[0] <= '9';
}

static int64_t setting(const char *path) { return find(path, any, 0) / 1024; }

enum act { READ, WRITE, FREE };

/* Resident of an area after an act (every page read, one byte written, all of it written and freed), behind advice. */
static int64_t after(enum act act, size_t size, int advice)
{
	struct area a;
	int64_t n = -1;

	if (area(&a, size) == 0) {
		if (advice)
			syscall(SYS_madvise, a.p, size, advice);
		switch (act) {
		case READ:
			look(&a);
			break;
		case WRITE:
			touch(a.p + size / 2, 1, 1);
			break;
		case FREE:
			touch(a.p, size, 4096);
			syscall(SYS_madvise, a.p, size, MADV_FREE);
			rest(FREE_MS * 1000000LL);
		}
		n = resident(&a);
	}
	leave(&a);
	return n;
}

/* Other threads may touch pages of their own meanwhile: the least of three tries. */
int64_t machine_behind(void)
{
	int64_t least = -1;

	for (int tries = 0; tries < 3 && least != 0; tries++) {
		struct area a;
		int64_t most = 0, first;

		if (area(&a, SMALL) == 0) {
			syscall(SYS_madvise, a.p, a.size, MADV_NOHUGEPAGE);
			first = counted();
			for (size_t i = 0; i < a.size; i += 4096) {
				touch(a.p + i, 1, 4096);
				int64_t off = counted() - first - (int64_t)(i + 4096);

				most = off > most ? off : -off > most ? -off : most;
			}
			least = least < 0 || most < least ? most : least;
		}
		leave(&a);
	}
	return least;
}

static int64_t collapsed(void)
{
	struct area a;
	int64_t before, most = 0;
	int64_t sleep = setting("/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs");

	if (sleep < 0 || sleep >= SLEEP_MS)
		return 0;
	if (area(&a, LARGE) == 0) {
		syscall(SYS_madvise, a.p, LARGE, MADV_NOHUGEPAGE);
		touch(a.p, LARGE, LARGE / 2);
		before = resident(&a);
		syscall(SYS_madvise, a.p, LARGE, MADV_HUGEPAGE);
		for (int64_t end = now() + WAIT_MS * 1000000LL; most == 0 && now() < end; rest(10000000))
			most = resident(&a) - before;
	}
	leave(&a);
	return most;
}

/* The mapping that a thread's first block is in; whether malloc has asked for huge pages there ("hg"). */
struct heap {
	uintptr_t block;
	int here, asks;
	int64_t resident;
};

static int is_heap(const char *line, void *state)
{
	struct heap *h = state;
	const char *s = line;

	if (line[0] < 'A' || line[0] > 'Z') {
		uintptr_t begin = number(&s, 16);

		s++;
		h->here = begin <= h->block && h->block < number(&s, 16);
	} else if (h->here && starts(line, "Rss:")) {
		h->resident = kilobytes(line);
	} else if (h->here && starts(line, "VmFlags:")) {
		for (s = line; *s; s++)
			h->asks |= starts(s, " hg");
		return 1;
	}
	return 0;
}

static void *allocates(void *to)
{
	struct heap *h = to;
	char *block = malloc(1000);

	h->block = (uintptr_t)block;
	touch(block, 1000, 1000);
	find("/proc/self/smaps", is_heap, h);
	free(block);
	return 0;
}

static int64_t heap(void)
{
	struct heap h = { 0 };
	pthread_t_ thread;

	if (pthread_create(&thread, 0, allocates, &h))
		return -1;
	pthread_join(thread, 0);
	return h.asks ? h.resident : 0;
}

void machine_ask(struct machine *m)
{
	*m = (struct machine){
		.read_small = after(READ, SMALL, 0),
		.read_large = after(READ, LARGE, 0),
		.write = after(WRITE, LARGE, 0),
		.advised = after(WRITE, LARGE, MADV_HUGEPAGE),
		.behind = machine_behind(),
		.freed = after(FREE, SMALL, MADV_NOHUGEPAGE),
		.collapsed = collapsed(),
		.heap = heap(),
	};
}

#ifdef PROGRAM
#include <stdio.h>

int main(void)
{
	struct machine m;

	machine_ask(&m);
	printf("{\"read_small\": %lld, \"read_large\": %lld, \"write\": %lld, \"advised\": %lld, \"behind\": %lld, "
	       "\"freed\": %lld, \"collapsed\": %lld, \"heap\": %lld}\n",
	       (long long)m.read_small, (long long)m.read_large, (long long)m.write, (long long)m.advised,
	       (long long)m.behind, (long long)m.freed, (long long)m.collapsed, (long long)m.heap);
	return 0;
}
#endif
