#define _GNU_SOURCE
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "machine.h"

static struct truth *file;
static struct truth_process *self;

static void give_up(const char *why)
{
	fprintf(stderr, "stand-in: truth: %s\n", why);
	abort();
}

void truth_lock(void)
{
	uint32_t holder, me = (uint32_t)getpid();

	for (int spins = 1;; spins++) {
		holder = 0;
		if (__atomic_compare_exchange_n(&file->lock, &holder, me, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return;
		sched_yield();
		/* The owner was killed while it wrote: the next one goes on, and one gauge may be half written. */
		if (spins % 65536 == 0 && kill((pid_t)holder, 0) < 0 && errno == ESRCH)
			__atomic_compare_exchange_n(&file->lock, &holder, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}

void truth_unlock(void)
{
	__atomic_store_n(&file->lock, 0, __ATOMIC_RELEASE);
}

static struct truth *map(const char *path)
{
	int fd = -1;
	void *p;

	if (path && *path) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
		if (fd < 0 || ftruncate(fd, sizeof(struct truth)) < 0)
			return NULL;
	}
	p = mmap(NULL, sizeof(struct truth), PROT_READ | PROT_WRITE, fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED,
		 fd, 0);
	if (fd >= 0)
		close(fd);
	return p == MAP_FAILED ? NULL : p;
}

/* Zeros are a valid file without any process. */
static void begin(void)
{
	if (!memcmp(file->magic, TRUTH_MAGIC, sizeof file->magic))
		return;
	file->version = TRUTH_VERSION;
	file->devices = (uint32_t)machine_devices();
	file->processes = TRUTH_PROCESSES;
	for (int i = 0; i < TRUTH_DEVICES; i++) {
		machine_uuid(i, file->identity[i].uuid);
		machine_pci(i, file->identity[i].pci);
	}
	memcpy(file->magic, TRUTH_MAGIC, sizeof file->magic);
}

static struct truth_process *find(int pid)
{
	for (int i = 0; i < TRUTH_PROCESSES; i++)
		if (file->process[i].pid == pid)
			return &file->process[i];
	return NULL;
}

struct truth *truth_file(void)
{
	struct truth *mapped;

	if (__atomic_load_n(&file, __ATOMIC_ACQUIRE))
		return file;
	mapped = map(getenv("STANDIN_TRUTH"));
	if (!mapped)
		give_up("cannot map $STANDIN_TRUTH");
	file = mapped;
	truth_lock();
	begin();
	truth_unlock();
	return file;
}

/* A forked child counts as a separate process. */
struct truth_process *truth_self(void)
{
	struct truth_process *mine;

	truth_file();
	if (self && self->pid == getpid())
		return self;
	truth_lock();
	mine = find(getpid());
	if (!mine) {
		mine = find(0);
		if (!mine)
			give_up("more processes than slots");
		mine->pid = getpid();
	}
	self = mine;
	truth_unlock();
	return mine;
}

struct truth_process *truth_of(int pid)
{
	truth_file();
	return find(pid);
}

void truth_add(struct gauge *gauge, int64_t bytes)
{
	truth_lock();
	gauge->current += bytes;
	if (gauge->current > gauge->peak)
		gauge->peak = gauge->current;
	truth_unlock();
}

/* At load, so that the first call finds it mapped and no two threads race for it. */
__attribute__((constructor)) static void load(void)
{
	truth_self();
}
